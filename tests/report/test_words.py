from unknot.core import registry
from unknot.report import words


def test_every_score_has_words_for_people():
    missing = set(registry.names("metrics")) - set(words.SCORES)
    assert not missing, sorted(missing)


def test_words_are_of_scores_that_exist():
    assert {name.split(".")[0] for name in words.SCORES} <= set(registry.names("metrics"))


def test_words_are_short_sentences():
    for name, text in words.SCORES.items():
        assert text.endswith("."), name
        assert len(text) < 260, name


def test_ones_own_words_come_first():
    assert words.score("mig", {"mig": "ours"}) == "ours"
    assert words.score("mig", {}) == words.SCORES["mig"]
    assert words.score("unheard of", {}) == ""
