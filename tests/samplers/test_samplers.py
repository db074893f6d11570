"""Draws: uniform, reproducible, the same alone or in a population, and found by name."""

import tomllib
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import ClassVar

import pytest
import torch
from scipy.stats import chisquare
from torch._subclasses.fake_tensor import FakeTensorMode

from unknot import testing
from unknot.core import noise, registry
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.objective import MultiView
from unknot.core.toml import to_toml
from unknot.data.xyobject import SPACE
from unknot.data.xysquares import XYSquares
from unknot.runs.fields import build
from unknot.runs.spec import settings_table
from unknot.samplers.labelled import Labelled
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.sampler import Sampler, sampler_for
from unknot.samplers.parts.weights import Correlated, Within, Without
from unknot.samplers.singles import Singles
from unknot.samplers.transitions import Transitions
from unknot.samplers.triplets import Triplets

CPU = torch.device("cpu")
SQUARES = XYSquares().load()
WEIGHTS = (
    Correlated("x_r", "y_g", 0.3),
    Within(("x_b",), (1,), (6,)),
    Without(("x_r", "y_r"), (0, 3), (4, 7)),
)
EACH = [
    Singles(),
    Singles(WEIGHTS),
    Pairs(),
    Pairs(changed=2),
    Pairs(rule="reference"),
    Pairs(changed=3, rule="reference"),
    Pairs(weights=WEIGHTS),
    Pairs(changed=3, rule="reference", weights=WEIGHTS),
    *(Triplets(order=order) for order in ("factors", "distance", "scaled", "recon")),
    Triplets(order="category", factor="y_b", ties="redrawn"),
    Triplets(ties="redrawn", weights=WEIGHTS),
    Transitions(),
    Transitions(rate=3.0, weights=WEIGHTS),
    Transitions("uniform"),
    Transitions("uniform", weights=WEIGHTS),
    Labelled(),
    Labelled(labels=50, weights=WEIGHTS),
]
each_sampler = pytest.mark.parametrize("sampler", EACH, ids=repr)


def singles(seed, t, batch, *, size):
    """Single rows of a grid of so many points."""
    space = FactorSpace(("row",), (size,), ("ordered",))
    return Singles().bind(FactorDataset("rows", space, SQUARES.images), CPU)(seed, t, batch)


def test_every_row_and_factor_value_is_equally_likely():
    steps = torch.arange(1000)
    index = singles(5, steps, 300, size=SPACE.size)
    assert index.shape == (1000, 300)
    factors = SPACE.factors(index.flatten())
    for column, size in zip(factors.T, SPACE.sizes, strict=True):
        assert chisquare(torch.bincount(column, minlength=size)).pvalue > 1e-3
    # Place in the batch against the coarsest factor: no position prefers a value.
    first = factors[:, 2].reshape(1000, 300)
    for position in (0, 1, 299):
        assert chisquare(torch.bincount(first[:, position], minlength=5)).pvalue > 1e-3


def test_rows_are_drawn_with_replacement():
    """Two places of a batch agree with probability 1 / size: 50,000 pairs, 12,500 expected."""
    index = singles(0, torch.arange(50_000), 2, size=4)
    same = int((index[:, 0] == index[:, 1]).sum())
    assert abs(same - 12_500) < 4 * (12_500 * 0.75) ** 0.5


def test_a_member_of_a_population_draws_as_if_alone():
    seeds = torch.tensor([3, 2**40 + 7, 0])
    together = singles(seeds, 17, 64, size=737_280)
    assert together.shape == (3, 64)
    for member, seed in enumerate(seeds.tolist()):
        assert torch.equal(together[member], singles(seed, 17, 64, size=737_280))
    assert not torch.equal(together[0], together[2])


def test_steps_differ_and_a_smaller_batch_is_the_head_of_a_larger_one():
    assert not torch.equal(singles(1, 0, 64, size=1000), singles(1, 1, 64, size=1000))
    assert torch.equal(singles(1, 0, 64, size=1000)[:10], singles(1, 0, 10, size=1000))


def test_the_largest_grid_is_reached():
    size = 64**6
    index = singles(0, 0, 4096, size=size)
    assert index.min() >= 0
    assert index.max() < size
    assert index.max() > 0.99 * size


def test_single_rows_without_weights_are_the_order_stream_as_it_comes():
    """What runs from before there were draws saw must come again."""
    data, seeds = XYSquares().load(), torch.tensor([4, 9])
    rows = Singles().bind(data, CPU)(seeds, 11, 24)
    assert torch.equal(rows, noise.integers(seeds, "order", 11, 24, high=8**6))


@each_sampler
def test_views_are_laid_one_after_the_other_inside_the_grid(sampler):
    assert isinstance(sampler, Sampler)
    rows = sampler.bind(XYSquares().load(), CPU)(7, 3, 50)
    assert rows.shape == (sampler.views * 50,)
    assert rows.dtype == torch.int64
    assert rows.min() >= 0
    assert rows.max() < 8**6


@each_sampler
def test_rows_do_not_depend_on_who_or_what_is_drawn_beside_it(sampler):
    """Members at one step, and one member at many steps, are each what they are alone."""
    rows = sampler.bind(XYSquares().load(), CPU)
    seeds, steps = torch.tensor([3, 2**40 + 7, 0]), torch.arange(20, 25)
    together, ahead = rows(seeds, torch.tensor(21), 16), rows(torch.tensor(3), steps, 16)
    for member, seed in enumerate(seeds.tolist()):
        assert torch.equal(together[member], rows(seed, 21, 16))
    for i, step in enumerate(steps.tolist()):
        assert torch.equal(ahead[i], rows(3, step, 16))
    assert torch.equal(ahead[1], together[0])
    assert len({tuple(row.tolist()) for row in (*together, *ahead)}) == 7


@each_sampler
def test_a_sampler_never_waits_for_the_host(sampler):
    """Fake tensors have no values: reading one on the host raises."""
    rows = sampler.bind(XYSquares().load(), CPU)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    seeds, t = mode.from_tensor(torch.tensor([1, 2])), mode.from_tensor(torch.tensor(5))
    with mode:
        assert rows(seeds, t, 8).shape == (2, 8 * sampler.views)


@each_sampler
def test_the_global_generator_is_left_alone(sampler):
    before = torch.get_rng_state()
    sampler.bind(XYSquares().load(), CPU)(0, 0, 8)
    assert torch.equal(torch.get_rng_state(), before)


@each_sampler
def test_a_sampler_survives_its_file(sampler):
    testing.same_after_a_file(sampler)
    read = tomllib.loads(to_toml({"sampler": settings_table(sampler)}))["sampler"]
    assert build(type(sampler), read, "sampler") == sampler


@dataclass(frozen=True)
class Toy(MultiView):
    views: ClassVar[int] = 2

    def terms(self, net, step):
        return {}


@dataclass(frozen=True)
class Wishing(MultiView):
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "pairs"

    def terms(self, net, step):
        return {}


def test_the_sampler_is_the_one_given_or_the_objectives_or_single_rows():
    assert sampler_for(Toy()) == Singles()
    assert sampler_for(Wishing()) == Pairs()
    assert sampler_for(Wishing(), Pairs(changed=1)) == Pairs(changed=1)
    assert sampler_for(Wishing(), Singles()) == Singles()
    assert sampler_for(Toy(), Pairs()) == Pairs()


def test_another_number_of_views_is_refused():
    with pytest.raises(ConfigError, match=r"^The sampler Triplets gives 3 views and Toy takes 2; "):
        sampler_for(Toy(), Triplets())


def test_samplers_are_found_by_name():
    assert {name: registry.get("samplers", name) for name in registry.names("samplers")} == {
        "labelled": Labelled,
        "singles": Singles,
        "pairs": Pairs,
        "transitions": Transitions,
        "triplets": Triplets,
    }
    with pytest.raises(ConfigError, match=r"^There is no sampler 'pair'; did you mean 'pairs'\?"):
        registry.get("samplers", "pair")


def test_another_package_adds_a_sampler(monkeypatch, tmp_path):
    places = {"walks": "unknot.samplers.pairs:Pairs", "broken": "no_such_module:Walks"}
    entries = [EntryPoint(name, at, "unknot.samplers") for name, at in places.items()]
    monkeypatch.setattr(
        registry, "entry_points", lambda group: entries if group == "unknot.samplers" else []
    )
    monkeypatch.syspath_prepend(tmp_path)  # so that entry points are read again
    assert registry.get("samplers", "walks") is Pairs
    with pytest.raises(ConfigError, match=r"^'broken' of the package .* cannot be imported: Modu"):
        registry.get("samplers", "broken")
