from unknot import metrics
from unknot.report import describe


def test_ones_own_words_come_first():
    assert describe.score("mig", {"mig": "ours"}) == "ours"
    assert describe.score("mig", {}) == metrics.facts("mig").reads
    assert describe.score("unheard of", {}) == ""
