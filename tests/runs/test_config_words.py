"""Words of the command line: settings and seeds as people type them."""

import pytest

from unknot.core.errors import ConfigError
from unknot.core.hyper import LinearSchedule
from unknot.losses.overlap import Overlap
from unknot.runs import config


def test_words_are_applied_over_a_table():
    table = {"steps": 3, "objective": {"name": "vae"}}
    words = ["objective.name=beta_vae", "objective.beta=2", "batch = 8", "data.path=a b.npz"]
    assert config.assign(table, words) == {
        "steps": 3,
        "batch": 8,
        "objective": {"name": "beta_vae", "beta": 2},
        "data": {"path": "a b.npz"},
    }
    assert table == {"steps": 3, "objective": {"name": "vae"}}


def test_a_name_alone_is_short_for_a_table():
    short = config.assign({"data": "dsprites"}, ["data.name=xysquares", "data.spacing=4"])
    assert short == {"data": {"name": "xysquares", "spacing": 4}}


@pytest.mark.parametrize("word", ["beta", "=3", "a..b=1", ""])
def test_words_without_a_key_are_refused(word):
    with pytest.raises(ConfigError, match="Expected key=value"):
        config.assign({}, [word])


def test_something_inside_of_a_word_or_number_makes_a_table_of_it():
    asked = {"data": "xysquares", "objective": {"beta": 4, "likelihood": "bernoulli"}}
    words = ["objective.likelihood.kind=overlap", "objective.likelihood.kernel=box"]
    words += ["objective.beta.kind=linear", "objective.beta.end=2", "data.spacing=4"]
    table = config.assign(asked, [*words, "objective.beta.start=0"])
    assert asked["objective"] == {"beta": 4, "likelihood": "bernoulli"}, "the given stays"
    assert table["data"] == {"name": "xysquares", "spacing": 4}, "a name stays a name"
    settings = config.spec({**table, "steps": 10}).objective.settings
    assert settings.likelihood == Overlap.create(kernel="box")
    assert settings.beta == LinearSchedule(0.0, 2.0, 10.0)


def test_tables_where_none_fit_are_refused():
    with pytest.raises(ConfigError, match=r"^steps should be a whole number; got \{'more': 1\}"):
        config.spec(config.assign({"steps": 3}, ["steps.more=1"]))
    with pytest.raises(ConfigError, match=r"^'seeds.more': seeds is a list; set it as a whole"):
        config.assign({"seeds": [1, 2]}, ["seeds.more=1"])
    asked = {"objective": {"likelihood": "gaussian"}}
    with pytest.raises(ConfigError, match=r"likelihood as a table needs a kind, one of overlap"):
        config.spec(config.assign(asked, ["objective.likelihood.radius=3"]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("7", 7), ("0..3", [0, 1, 2, 3]), ("5,1", [5, 1]), ("0..1, 9", [0, 1, 9]), ("4..4", [4])],
)
def test_seeds_as_people_type_them(text, expected):
    assert config.seeds(text) == expected


@pytest.mark.parametrize("text", ["a", "-1", "1...3", "", "1,,2", "3..1", "0..9999999", "\u00b2"])
def test_seeds_that_make_no_sense(text):
    with pytest.raises(ConfigError):
        config.spec({"seeds": config.seeds(text)})
