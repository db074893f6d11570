"""What a metric says of itself, as data."""

import importlib
import math
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from metrics.representations import SCORES, get
from unknot import metrics
from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.metrics.parts import facts as parts
from unknot.metrics.parts.facts import ASPECTS, DEPENDENCES, Aspect, Dependence, by_property

NAMES = registry.names("metrics")


@pytest.mark.parametrize("name", NAMES)
def test_facts_read_from_the_file_are_those_of_the_function(name):
    module = importlib.import_module(f"unknot.metrics.{name}")
    assert metrics.facts(name) == getattr(module, name).facts


@pytest.mark.parametrize("name", NAMES)
def test_every_metric_says_how_to_read_it(name):
    facts = metrics.facts(name)
    assert facts.name == name
    assert facts.measures
    for words in (facts.reads, *facts.parts.values()):
        assert words.endswith(".")
        assert len(words) < 260


def test_every_metric_says_what_it_depends_on():
    depends = {name: metrics.facts(name).depends_on for name in NAMES}
    assert [name for name in NAMES if not depends[name]] == ["kl_per_dimension"]
    assert list(DEPENDENCES) == list(get_args(Dependence))
    assert {word for words in depends.values() for word in words} == {*DEPENDENCES}


@pytest.mark.parametrize("name", NAMES)
def test_settings_that_differ_between_protocols_are_among_what_it_depends_on(name):
    """A metric that counts in bins under any protocol depends on them, and so on."""
    records = [
        parts.Protocol(name, protocol, settings).record()
        for protocol, settings in parts.protocols_for(name).items()
    ]
    words = {
        word for record in records for setting, word in OF_SETTING.items() if setting in record
    }
    assert words <= {*metrics.facts(name).depends_on}


OF_SETTING = {
    "edges": "bins",
    "classifier": "classifier",
    "estimator": "classifier",
    "solver": "classifier",
    "learners": "classifier",
    "correlation": "correlation",
    "norm": "distances",
    "traversals": "draws",
    "quantile": "quantile",
    "kl": "threshold",
}


def test_groups_by_property_hold_each_once_in_order(monkeypatch):
    groups = by_property(NAMES)
    assert sorted(name for members in groups.values() for name in members) == NAMES
    assert list(ASPECTS) == list(get_args(Aspect))
    assert [group for group in groups if "," not in group] == list(ASPECTS), "all are measured"
    for group, members in groups.items():
        assert all(", ".join(metrics.facts(name).measures) == group for name in members)
    monkeypatch.setattr(parts, "facts", lambda name: SimpleNamespace(measures=STATED[name]))
    assert by_property(STATED) == {"compactness": ["one"], "other": ["none", "colour"]}


STATED = {"none": (), "one": ("compactness",), "colour": ("colour",)}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("of", ["perfect", "noise"])
def test_values_lie_in_the_range(name, of):
    facts, value = metrics.facts(name), float(getattr(metrics, name)(*get(of)))
    low, high = (end if end is not None else math.nan for end in facts.range)
    assert not value < low - 0.05  # guesses score 0 on average, not every time
    assert not value > high + 1e-9


@pytest.mark.parametrize("name", [n for n in SCORES if metrics.facts(n).part_ranges])
@pytest.mark.parametrize("of", ["perfect", "noise"])
def test_parts_lie_in_their_ranges(name, of):
    facts, score = metrics.facts(name), getattr(metrics, name)(*get(of))
    parts = [value.removeprefix(f"{name}.") for value in score.values if value != name]
    bounded = [part for part in parts if facts.bounds(part) != (None, None)]
    assert bounded
    for part in bounded:
        low, high = (end if end is not None else math.nan for end in facts.bounds(part))
        assert not score[part] < low
        assert not score[part] > high + 1e-9


def test_bounds_by_the_name_of_a_column():
    bounds = parts.score_bounds
    assert bounds("dci.completeness@study2019") == bounds("mig") == (0, 1)
    assert bounds("efficiency.boosting_100@unknot") == bounds("efficiency.chance") == (0, 1)
    assert bounds("efficiency") == (0, None)
    assert bounds("dci.no_such_part") == bounds("recon") == bounds("mine") == (None, None)


LOWER = [
    "aggregate_posterior",
    "fos",
    "gaussian_tc",
    "kl_decomposition",
    "mutual_info_score",
    "wasserstein_tc",
]


def test_of_what_less_is_better():
    others = ["ima_contrast", "unfairness"]  # of decoders, and of factors
    assert [name for name in NAMES if metrics.lower_is_better(name)] == sorted([*LOWER, *others])


@pytest.mark.parametrize("name", LOWER)
def test_independent_codes_like_the_prior_have_less(name):
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(2000, 3))
    mixed = codes + 3 * codes[:, :1]
    options = (
        {"logvar": np.full(codes.shape, -2.0)} if "posteriors" in metrics.facts(name).needs else {}
    )
    score = getattr(metrics, name)
    assert float(score(codes, **options)) < 0.5 * float(score(mixed, **options))


def test_parts_and_protocols_of_a_column():
    assert metrics.reading("dci.completeness@study2019").startswith("1: each factor is predicted")
    assert metrics.reading("beta_vae.rescaled").startswith("From chance up: 0 is guessing")
    assert metrics.reading("efficiency.boosting_100").startswith("Accuracy of a learner with so")
    assert metrics.reading("dci.nothing") == metrics.reading("nothing") == ""
    assert metrics.lower_is_better("elbo.error@paper")
    assert not metrics.lower_is_better("elbo@paper")
    assert not metrics.lower_is_better("nothing")
    assert metrics.lower_is_better("recon")


def test_no_facts_of_what_is_no_metric():
    with pytest.raises(ConfigError, match="did you mean 'mig'"):
        metrics.facts("migg")


@pytest.mark.parametrize("name", registry.names("metrics"))
def test_parts_with_bounds_say_how_they_read(name):
    facts = metrics.facts(name)
    whole = [part.replace("*_[0-9]*", "boosting_100") for part in facts.part_ranges]
    assert [part for part in whole if not facts.reading(part.removeprefix("*"))] == []
