"""Noisy-dSprites against its formula; noise that is uniform and says nothing."""

import hashlib

import numpy as np
import pytest
import torch
from scipy import stats

from unknot.core.dataset import NuisanceVariants
from unknot.core.errors import ConfigError
from unknot.data.dsprites import DSprites
from unknot.data.noisy_dsprites import NoisyDSprites

ROWS = torch.arange(0, 737_280, 9973)
SIZE = 737_280


pytestmark = pytest.mark.usefixtures("one_copy")


@pytest.fixture(scope="module")
def data(one_copy):
    return NoisyDSprites().load()


@pytest.fixture(scope="module")
def sprites(one_copy):
    return DSprites().load().batch(ROWS).expand(-1, 3, -1, -1)


@pytest.mark.parametrize("variant", [0, 1, 2**32 - 1])
def test_the_formula(data, sprites, variant):
    """min(m + u, 1): white sprites, and noise of mean 1 / 2 behind them."""
    index = ROWS + SIZE * variant
    x = data.batch(index)
    assert data.shape == (3, 64, 64)
    assert torch.equal(x, (sprites + data.images.paint.background(index)).clamp(max=1))
    assert (x[sprites > 0] == 1).all()
    behind = x[sprites == 0].double()
    assert abs(behind.mean() - 0.5) < 4 * (1 / 12 / len(behind)) ** 0.5


def test_fingerprint(data):
    """Our own frozen output: an index has the same image in every process and on every machine."""
    images = data.batch(torch.stack([ROWS, ROWS + SIZE]))
    shown = (images * 255).round().byte().numpy()
    assert hashlib.sha256(shown.data).hexdigest()[:16] == "145e15f0b879a489"


def test_another_variant_has_other_noise_and_the_same_one_has_the_same(data, sprites):
    assert isinstance(data.images, NuisanceVariants)
    first, second = data.batch(ROWS), data.batch(ROWS + SIZE)
    assert (first != second)[sprites == 0].double().mean() > 0.999
    assert torch.equal(second, NoisyDSprites().load().batch(ROWS + SIZE))
    assert torch.equal(second.flip(0), data.batch((ROWS + SIZE).flip(0))), "in any order"


def test_noise_is_uniform(data):
    for index in (torch.arange(8), 5 + SIZE * torch.arange(8)):
        noise = data.images.paint.background(index).flatten()
        assert stats.kstest(noise.numpy(), "uniform").pvalue > 0.01


def test_noise_of_neighbours_is_independent(data):
    """Next rows, next variants, next pixels and next channels."""
    rows = 300_000 + torch.arange(9)
    u, again = (data.images.paint.background(index).numpy() for index in (rows, rows + SIZE))
    pairs = [
        (u[:-1], u[1:]),
        (u, again),
        (u[..., :-1], u[..., 1:]),
        (u[..., :-1, :], u[..., 1:, :]),
        (u[:, :-1], u[:, 1:]),
    ]
    for a, b in pairs:
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 4 / a.size**0.5


def test_another_seed_gives_other_noise(data):
    other = NoisyDSprites(seed=1).load()
    differs = data.images.paint.background(ROWS) != other.images.paint.background(ROWS)
    assert differs.double().mean() > 0.999


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_other_seeds_are_refused(seed):
    with pytest.raises(ConfigError, match=f"NoisyDSprites.seed must be a whole .* got {seed}"):
        NoisyDSprites(seed=seed)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_same_bits_on_a_gpu(data):
    there, index = data.to(torch.device("cuda")), ROWS + 3 * SIZE
    assert torch.equal(there.batch(index.cuda()).cpu(), data.batch(index))
    assert torch.equal(there.batch(index).cpu(), data.batch(index)), "rows in the host's memory"
