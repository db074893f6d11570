"""Settings that say which images go together."""

import tomllib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper
from unknot.core.objective import MultiView
from unknot.core.toml import to_toml
from unknot.data.arrays import Arrays
from unknot.runs import config
from unknot.runs.context import training_context
from unknot.runs.spec import Choice, TrainSpec
from unknot.runs.training import Training
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.weights import Correlated, Without
from unknot.samplers.singles import Singles

IDS = ["3befda6b6ece", "85dc2343599d"]
"""Of the default run with seeds 0 and 1, as `test_config` has them: without a sampler."""
WEIGHTS = [
    {"kind": "correlated", "first": "x_r", "second": "y_r", "sigma": 0.2},
    {"kind": "without", "factors": ["x_g", "y_g"], "first": [0, 1], "last": [3, 4]},
]


@dataclass(frozen=True)
class Wishing(MultiView):
    beta: Hyper = 1.0
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "pairs"

    def terms(self, net, step):
        return {}


@pytest.fixture
def wishing(monkeypatch):
    """The name of an objective of two views that asks for pairs."""
    real = registry.get
    monkeypatch.setattr(registry, "get", lambda r, n: Wishing if n == "wishing" else real(r, n))
    return "wishing"


def test_a_run_takes_the_sampler_of_its_objective_and_writes_it_out(wishing):
    spec = config.spec({"objective": wishing})
    assert spec.sampler == Choice("pairs", Pairs())
    assert spec.table()["sampler"] == {"name": "pairs", "rule": "exact", "weights": []}
    assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec
    said = [{"sampler": "pairs"}, {"sampler": {"name": "pairs"}}, {"sampler": {"rule": "exact"}}]
    for table in said:
        assert config.spec({"objective": wishing, **table}) == spec
        assert config.spec({"objective": wishing, **table}).ids() == spec.ids()


def test_a_run_may_name_another_sampler(wishing):
    base = config.spec({"objective": wishing})
    tables = [
        {"changed": 2},
        {"name": "pairs", "rule": "reference"},
        {"name": "singles"},
        {"name": "singles", "weights": WEIGHTS},
        {"name": "pairs", "weights": WEIGHTS},
    ]
    specs = [config.spec({"objective": wishing, "sampler": table}) for table in tables]
    assert [s.sampler.settings for s in specs] == [
        Pairs(changed=2),
        Pairs(rule="reference"),
        Singles(),
        Singles((Correlated("x_r", "y_r"), Without(("x_g", "y_g"), (0, 1), (3, 4)))),
        Pairs(weights=(Correlated("x_r", "y_r"), Without(("x_g", "y_g"), (0, 1), (3, 4)))),
    ]
    for spec in specs:
        assert config.spec(tomllib.loads(to_toml(spec.table()))) == spec
    assert len({s.ids()[0] for s in (base, *specs)}) == 6


def test_words_name_a_sampler_and_its_settings(wishing):
    words = ["sampler.name=pairs", "sampler.changed=2"]
    table = config.assign({"objective": wishing, "sampler": "singles"}, words)
    assert config.spec(table).sampler == Choice("pairs", Pairs(changed=2))


def test_single_images_said_or_not_are_the_same_run():
    """The default sampler takes no part in the id."""
    for table in ({"sampler": "singles"}, {"sampler": {}}, {"sampler": {"weights": []}}):
        spec = config.spec({"seeds": [0, 1], **table})
        assert spec == config.spec({"seeds": [0, 1]})
        assert "sampler" not in spec.table()
        assert spec.ids() == IDS
    assert config.spec({"seeds": [0, 1], "sampler": {"weights": WEIGHTS}}).ids() != IDS


def test_data_that_a_sampler_cannot_use_is_refused_before_training(tmp_path, tiny):
    np.savez(tmp_path / "images.npz", images=np.zeros((9, 8, 8), np.uint8))
    common = Choice("linear", registry.get("nets", "linear")()), Choice("wishing", Wishing())
    factorless = Choice("arrays", Arrays(str(tmp_path / "images.npz")))
    with pytest.raises(ConfigError, match="arrays has none; give labels, or add 'fac"):
        Training.start([TrainSpec.create(factorless, *common)], "cpu")
    grid = Choice("arrays", Arrays(str(tiny)))
    many = TrainSpec.create(grid, *common, sampler=Choice("pairs", Pairs(changed=4)))
    with pytest.raises(ConfigError, match=r"differ in 4 factors .* arrays has 3: "):
        Training.start([many], "cpu")
    context = training_context(TrainSpec.create(grid, *common), "cpu")
    assert context.sampler == Pairs()
