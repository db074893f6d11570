"""Color-dSprites against its formula; colours that are uniform and say nothing."""

import hashlib

import numpy as np
import pytest
import torch
from scipy import stats

from unknot.core.dataset import NuisanceVariants
from unknot.core.errors import ConfigError
from unknot.data.color_dsprites import ColorDSprites
from unknot.data.dsprites import DSprites

ROWS = torch.arange(0, 737_280, 9973)
SIZE = 737_280


pytestmark = pytest.mark.usefixtures("one_copy")


@pytest.fixture(scope="module")
def data(one_copy):
    return ColorDSprites().load()


@pytest.mark.parametrize("variant", [0, 1, 2**32 - 1])
def test_a_sprite_has_one_colour_and_the_rest_is_black(data, variant):
    x = data.batch(ROWS + SIZE * variant)
    inside = (DSprites().load().batch(ROWS) > 0).expand_as(x)
    assert data.shape == (3, 64, 64)
    assert (x[~inside] == 0).all()
    assert (x[inside] >= 0.5).all()
    assert (x[inside] <= 1).all()
    color = data.images.paint.color(ROWS + SIZE * variant)[..., None, None].expand_as(x)
    assert torch.equal(x[inside], color[inside])


def test_fingerprint(data):
    """Our own frozen output: an index has the same image in every process and on every machine."""
    images = data.batch(torch.stack([ROWS, ROWS + SIZE]))
    shown = (images * 255).round().byte().numpy()
    assert hashlib.sha256(shown.data).hexdigest()[:16] == "69b4afc52035c1a1"


def test_another_variant_has_another_colour_and_the_same_one_has_the_same(data):
    assert isinstance(data.images, NuisanceVariants)
    first, second = data.batch(ROWS), data.batch(ROWS + SIZE)
    assert (first != second).flatten(1).any(1).all()
    assert torch.equal(first > 0, second > 0)
    assert torch.equal(second, ColorDSprites().load().batch(ROWS + SIZE))
    assert torch.equal(second.flip(0), data.batch((ROWS + SIZE).flip(0))), "in any order"


def test_the_last_variant_fits_and_is_another(data):
    last = SIZE * data.images.variants - 1
    assert last < 2**63
    a, b = data.batch(torch.tensor([last, SIZE - 1]))
    assert torch.equal(a > 0, b > 0)
    assert not torch.equal(a, b)


def test_colours_are_uniform_over_rows_and_over_variants(data):
    """Six tests at once, so that one of them may well lie below 0.01; one of seed 0 does."""
    for index in (torch.arange(20_000) * 31, 5 + SIZE * torch.arange(20_000)):
        color = data.images.paint.color(index)
        for channel in color.T:
            assert stats.kstest(channel.numpy(), stats.uniform(0.5, 0.5).cdf).pvalue > 0.001


def test_colours_of_neighbours_channels_and_factors_are_independent(data):
    n = 20_000
    rows = 300_000 + torch.arange(n + 1)
    color = data.images.paint.color(rows).numpy()
    again = data.images.paint.color(rows + SIZE).numpy()
    pairs = [(color[:-1], color[1:]), (color, again), (color, np.roll(color, 1, axis=1))]
    for a, b in pairs:
        for channel in range(3):
            found = np.corrcoef(a[:, channel], b[:, channel])[0, 1]
            assert abs(found) < 4 / n**0.5
    index = torch.arange(0, SIZE, 7)
    shape = data.space.factors(index)[:, 0]
    table = torch.bincount(shape * 8 + (data.images.paint.color(index)[:, 0] * 16 - 8).long())
    assert stats.chi2_contingency(table.reshape(3, 8).numpy()).pvalue > 0.01


def test_another_seed_gives_other_colours(data):
    other = ColorDSprites(seed=1).load()
    assert (data.images.paint.color(ROWS) != other.images.paint.color(ROWS)).any(1).all()


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_other_seeds_are_refused(seed):
    with pytest.raises(ConfigError, match=f"ColorDSprites.seed must be a whole .* got {seed}"):
        ColorDSprites(seed=seed)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_same_bits_on_a_gpu(data):
    there, index = data.to(torch.device("cuda")), ROWS + 3 * SIZE
    assert torch.equal(there.batch(index.cuda()).cpu(), data.batch(index))
    assert torch.equal(there.batch(index).cpu(), data.batch(index)), "rows in the host's memory"
