from unknot import metrics
from unknot.report import words


def test_ones_own_words_come_first():
    assert words.score("mig", {"mig": "ours"}) == "ours"
    assert words.score("mig", {}) == metrics.facts("mig").reads
    assert words.score("unheard of", {}) == ""
