"""Pairs and triplets reach an objective as they are drawn, alone and in a population alike."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.hyper import Hyper
from unknot.core.objective import MultiView, Note, Term
from unknot.core.optim import Adam
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member, populate
from unknot.engine.stacked import Stacked
from unknot.nets.linear import Linear
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.weights import Correlated, Within
from unknot.samplers.singles import Singles
from unknot.samplers.triplets import Triplets

CPU = torch.device("cpu")
SIZES = (4, 3, 5, 2)
SPACE = FactorSpace(("a", "b", "c", "d"), SIZES, ("ordered",) * 4)
# Each row's four pixels are its factors, so an objective sees which rows it was given.
DATA = FactorDataset(
    "factors", SPACE, Bytes(SPACE.factors(torch.arange(120)).to(torch.uint8).reshape(-1, 1, 2, 2))
)


def error(net, step, q):
    return (net.decode(q.mean) - step.x).square().sum((-3, -2, -1)).mean(-1)


@dataclass(frozen=True)
class Two(MultiView):
    """Draws means together; notes how many factors differ on average, and the most that do."""

    weight: Hyper = 0.5
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "pairs"

    def terms(self, net, step):
        q = net.encode(step.x)
        a, b = q.views(2)
        x, y = (step.x * 255).round().flatten(-3).chunk(2, dim=-2)
        differ = (x != y).sum(-1).double()
        return {
            "error": Term(error(net, step, q)),
            "apart": Term((a.mean - b.mean).square().sum(-1).mean(-1), self.weight),
            "least": Note(differ.amin(-1)),
            "most": Note(differ.amax(-1)),
        }


@dataclass(frozen=True)
class Three(MultiView):
    """A soft triplet loss; notes the share of triplets whose negative is the nearer one."""

    weight: Hyper = 0.5
    views: ClassVar[int] = 3
    sampler: ClassVar[str] = "triplets"

    def terms(self, net, step):
        q = net.encode(step.x)
        a, p, n = (view.mean for view in q.views(3))
        near, far = ((a - other).abs().sum(-1) for other in (p, n))
        x = (step.x * 255).round().flatten(-3)
        steps = x / torch.tensor([3.0, 2.0, 4.0, 1.0], dtype=x.dtype)
        u, v, w = steps.chunk(3, dim=-2)
        wrong = (u - v).abs().sum(-1) > (u - w).abs().sum(-1) + 1e-9
        return {
            "error": Term(error(net, step, q)),
            "triplet": Term((near - far).exp().log1p().mean(-1), self.weight),
            "wrong": Note(wrong.double().mean(-1)),
        }


WEIGHTS = (Correlated("a", "c"), Within(("b",), (0,), (1,)))
CASES = [
    (Two, None),
    (Two, Pairs(changed=2)),
    (Two, Pairs(rule="reference")),
    (Two, Singles(WEIGHTS)),
    (Three, None),
    (Three, Triplets(order="recon", ties="redrawn")),
    (Three, Triplets(order="category", factor="c", weights=WEIGHTS)),
]


def context(draw=None, batch=8):
    return Context(DATA, Linear(latents=3), batch, Runtime(CPU, "float64"), draw)


def members(kind):
    return [
        Member(0, kind(weight=0.5), Adam(lr=1e-3)),
        Member(7, kind(weight=2.0), Adam(lr=1e-4)),
        Member(2**40, kind(weight=0.1), Adam(lr=3e-3), order_seed=5),
    ]


def trained(backend, kind, draw, every):
    population = backend.fresh(context(draw), every)
    for start in range(0, 12, population.pace):
        log = population.advance(start, min(population.pace, 12 - start))
    return {**population.state(), **log}


@pytest.mark.parametrize(("kind", "draw"), CASES, ids=repr)
def test_a_member_is_what_it_is_alone(kind, draw):
    """Looped to the bit, stacked to rounding; a lone run takes more steps at a time."""
    every = members(kind)
    looped, stacked = (trained(backend, kind, draw, every) for backend in (Looped, Stacked))
    for i, member in enumerate(every):
        for name, alone in trained(Looped, kind, draw, [member]).items():
            assert torch.equal(looped[name][i], alone[0]), name
            torch.testing.assert_close(stacked[name][i], alone[0], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("backend", [Looped, Stacked])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_objective_sees_pairs_that_differ_in_k_factors(backend, k):
    log = backend.fresh(context(Pairs(changed=k), 50), members(Two)).advance(0, 3)
    assert log["least"].tolist() == log["most"].tolist() == [k] * 3


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_the_objectives_sampler_is_taken_unless_another_is_named(backend):
    """Pairs always differ, and triplets are in order; single rows are neither."""
    own = backend.fresh(context(batch=400), members(Two)).advance(0, 1)
    assert (own["least"] == 1).all()
    assert (own["most"] == 4).all()
    other = backend.fresh(context(Singles(), 400), members(Two)).advance(0, 1)
    assert (other["least"] == 0).all()
    ordered = backend.fresh(context(batch=400), members(Three)).advance(0, 1)
    assert (ordered["wrong"] == 0).all()
    anyhow = backend.fresh(context(Singles(), 400), members(Three)).advance(0, 1)
    assert (anyhow["wrong"] > 0.3).all()


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_a_population_that_shares_its_order_shares_its_pairs(backend):
    """The same images for all; different seeds move their weights apart all the same."""
    every = [Member(seed, Two(), Adam(), order_seed=3) for seed in (0, 1)]
    population = backend.fresh(context(Pairs()), every)
    rows = population.context.rows(Two())
    first, second = rows(torch.tensor([3, 3]), torch.tensor(0))
    assert torch.equal(first, second)
    log = population.advance(0, 1)
    assert log["most"][0] == log["most"][1]
    assert log["error"][0] != log["error"][1]


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_a_sampler_of_other_views_is_refused(backend):
    with pytest.raises(ConfigError, match="The sampler Triplets gives 3 views and Two takes 2"):
        backend.fresh(context(Triplets()), members(Two))


def test_a_draw_that_the_data_cannot_give_is_refused():
    with pytest.raises(ConfigError, match=r"differ in 5 factors .* factors has 4"):
        populate(context(Pairs(changed=5)), members(Two))
