"""Training draws a variant with each row of data with nuisances; other rows stay as they are."""

from dataclasses import dataclass

import pytest
import torch

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.objective import Note, Term, views_of
from unknot.core.optim import Adam
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.nets.linear import Linear
from unknot.objectives.ada_gvae import AdaGVAE
from unknot.objectives.ada_tvae import AdaTVAE
from unknot.objectives.vae import VAE
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.sampler import sampler_for
from unknot.samplers.singles import Singles
from unknot.samplers.triplets import Triplets

CPU = torch.device("cpu")
SPACE = FactorSpace(("a", "b", "c"), (2, 2, 2), ("ordered",) * 3)
ORDER, TICKS = torch.tensor([4, 2**40, 9]), torch.arange(20)
KINDS = [(VAE(), Singles()), (AdaGVAE(), Pairs()), (AdaTVAE(), Triplets())]


@dataclass(frozen=True)
class Toy:
    """The first pixel is the row, the others are noise."""

    variants: int = 2**32
    shape = (1, 2, 2)

    def pixels(self, index):
        x = noise.uniform(torch.full((), 0), "toy", index, *self.shape)
        x[..., 0, 0, 0] = (index % SPACE.size) / 8
        return x

    def to(self, device):
        return self


@dataclass(frozen=True)
class Different:
    """Notes how many different images a batch has, and how many different rows."""

    def terms(self, net, step):
        q = net.encode(step.x)
        error = (net.decode(q.mean) - step.x).square().sum((-3, -2, -1)).mean(-1)
        x = step.x.flatten(-3)
        near = (x.unsqueeze(-2) == x.unsqueeze(-3)).double()
        images, rows = near.amin(-1).sum(-1), near[..., 0].sum(-1)
        return {
            "error": Term(error),
            "images": Note((1 / images).sum(-1)),
            "rows": Note((1 / rows).sum(-1)),
        }


def context(images=None, batch=16, draw=None):
    data = FactorDataset("toy", SPACE, images or Toy())
    return Context(data, Linear(latents=3), batch, Runtime(CPU, "float64"), draw)


@pytest.mark.parametrize(("objective", "draw"), KINDS, ids=repr)
def test_rows_are_those_of_the_draw_each_with_a_variant_of_its_own(objective, draw):
    bound = sampler_for(objective).bind(context().dataset, CPU)
    plain = bound(ORDER[:, None], TICKS, 16 * views_of(objective) // draw.views)
    rows = context().rows(objective)(ORDER[:, None], TICKS)
    assert rows.shape == plain.shape == (3, 20, 16 * views_of(objective))
    assert torch.equal(rows % SPACE.size, plain)
    variant = rows // SPACE.size
    assert variant.min() >= 0
    assert variant.max() < 2**32
    # Nearly 3,000 numbers of 32 bits: two are the same once in a thousand times.
    assert len(variant.unique()) == variant.numel()
    assert abs(variant.double().mean() / 2**32 - 0.5) < 4 * (1 / 12 / variant.numel()) ** 0.5


@pytest.mark.parametrize(("objective", "draw"), KINDS, ids=repr)
def test_rows_without_variants_are_untouched(objective, draw):
    images = Bytes(torch.zeros(8, 1, 2, 2, dtype=torch.uint8))
    own = context(images)
    bound = draw.bind(own.dataset, CPU)
    for order in (ORDER[:, None], torch.tensor(3)):
        expected = bound(order, TICKS, 16 * views_of(objective) // draw.views)
        assert torch.equal(own.rows(objective)(order, TICKS), expected)


def test_two_visits_to_one_row_show_different_images():
    own = context()
    rows, again = (own.rows(VAE())(torch.tensor(0), TICKS) for _ in range(2))
    x = own.dataset.batch(rows)
    assert torch.equal(x, own.dataset.batch(again))
    row = (x[..., 0, 0, 0] * 8).long()
    assert torch.equal(row, rows % SPACE.size)
    nuisance = x.flatten(2)[..., 1:]
    for number in range(SPACE.size):
        visits = nuisance[row == number]
        assert len(visits) > 1
        assert len(visits.unique(dim=0)) == len(visits)


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_a_model_in_training_sees_each_image_once(backend):
    """16 images of 8 rows, all different; with one variant they are as few as the rows."""
    every = [Member(0, Different(), Adam()), Member(7, Different(), Adam())]
    log = backend.fresh(context(), every).advance(0, 1)
    torch.testing.assert_close(log["images"], torch.full_like(log["images"], 16))
    assert (log["rows"] <= 8).all()
    log = backend.fresh(context(Toy(variants=1)), every).advance(0, 1)
    torch.testing.assert_close(log["images"], log["rows"])


@pytest.mark.parametrize("kind", [VAE, AdaGVAE])
def test_a_member_is_what_it_is_alone(kind):
    """Looped to the bit, stacked to rounding; a lone run takes more steps at a time."""
    every = [Member(0, kind(), Adam()), Member(7, kind(), Adam()), Member(8, kind(), Adam(), 5)]

    def trained(backend, members):
        population = backend.fresh(context(), members)
        for start in range(0, 12, population.pace):
            population.advance(start, min(population.pace, 12 - start))
        return population.state()

    looped, stacked = (trained(backend, every) for backend in (Looped, Stacked))
    for i, member in enumerate(every):
        for name, alone in trained(Looped, [member]).items():
            assert torch.equal(looped[name][i], alone[0]), name
            torch.testing.assert_close(stacked[name][i], alone[0], rtol=1e-10, atol=1e-10)


def test_members_that_share_their_order_share_their_nuisances():
    first, second, other = context().rows(VAE())(torch.tensor([3, 3, 4]), torch.tensor(0))
    assert torch.equal(first, second)
    assert not (first // SPACE.size == other // SPACE.size).any()
