"""Encoding many rows."""

import pytest
import torch

from unknot.core.optim import Adam
from unknot.data.arrays import Arrays
from unknot.data.xysquares import XYSquares
from unknot.engine import encode as encoding
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.conv64 import Conv64
from unknot.nets.linear import Linear
from unknot.nets.locatello import Locatello
from unknot.objectives.vae import VAE


def test_all_members_are_encoded_in_one_bounded_pass(tiny, monkeypatch):
    """Images are made once for all members, never more than a chunk at a time."""
    dataset = Arrays(str(tiny)).load()
    context = Context(dataset, Linear(latents=3), 4, runtime("cpu"))
    population = Looped.fresh(context, [Member(s, VAE(), Adam()) for s in (0, 1)])
    index = torch.arange(64).flip(0)
    whole = population.encode(dataset.batch(index))
    monkeypatch.setattr(encoding, "IMAGES", 20)  # for two members
    seen, made = [], []

    class Counted:
        shape = dataset.images.shape

        def pixels(self, rows):
            made.append(len(rows))
            return dataset.images.pixels(rows)

        def to(self, device):
            return self

    from dataclasses import replace

    counted = replace(dataset, images=Counted())
    q = encoding.encode(population, counted, index, on_rows=seen.append)
    torch.testing.assert_close(q.mean, whole.mean)
    torch.testing.assert_close(q.logvar, whole.logvar)
    assert made == [10] * 7, "the last one is filled up"
    assert seen == [10, 20, 30, 40, 50, 60, 64]


def test_codes_are_gathered_in_float32_on_the_cpu(tiny):
    dataset = Arrays(str(tiny)).load()
    context = Context(dataset, Linear(latents=3), 4, runtime("cpu", "float64"))
    population = Looped.fresh(context, [Member(0, VAE(), Adam())])
    q = encoding.encode(population, dataset, torch.tensor([5, 5]))
    assert (q.mean.dtype, q.mean.device.type, q.mean.shape) == (torch.float32, "cpu", (1, 2, 3))


@pytest.mark.parametrize("net", [Conv64(latents=3), Locatello(latents=3)])
def test_a_code_does_not_depend_on_the_rows_beside_it(net, monkeypatch):
    """Bit for bit: scores ask for rows in portions that depend on who asks first."""
    dataset = XYSquares().load()
    context = Context(dataset, net, 4, runtime("cpu"))
    population = Looped.fresh(context, [Member(s, VAE(), Adam()) for s in (0, 1)])
    monkeypatch.setattr(encoding, "IMAGES", 64)  # for two members
    index = torch.arange(0, 262_144, 3_331)[:70]
    codes = encoding.encode(population, dataset, index).mean
    for some in (torch.arange(3), torch.arange(69, 20, -1), torch.tensor([65])):
        assert torch.equal(encoding.encode(population, dataset, index[some]).mean, codes[:, some])
