"""Encoding many rows."""

import torch

from unknot.core.objective import Adam
from unknot.data.arrays import Arrays
from unknot.engine import encode as encoding
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member, Setting
from unknot.nets.linear import Linear
from unknot.objectives.vae import VAE


def test_all_members_are_encoded_in_one_bounded_pass(tiny, monkeypatch):
    """Images are made once for all members, never more than a chunk at a time."""
    dataset = Arrays(str(tiny)).load()
    setting = Setting(dataset, Linear(latents=3), 4, runtime("cpu"))
    population = Looped.fresh(setting, [Member(s, VAE(), Adam()) for s in (0, 1)])
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
    assert made == [10] * 6 + [4]
    assert seen == [10, 20, 30, 40, 50, 60, 64]


def test_codes_are_gathered_in_float32_on_the_cpu(tiny):
    dataset = Arrays(str(tiny)).load()
    setting = Setting(dataset, Linear(latents=3), 4, runtime("cpu", "float64"))
    population = Looped.fresh(setting, [Member(0, VAE(), Adam())])
    q = encoding.encode(population, dataset, torch.tensor([5, 5]))
    assert (q.mean.dtype, q.mean.device.type, q.mean.shape) == (torch.float32, "cpu", (1, 2, 3))
