"""Scream-dSprites against its formula, on pictures of our own and on the painting if it is here."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import stats

from unknot.core import noise
from unknot.core.dataset import NuisanceVariants
from unknot.core.errors import ConfigError, DataError
from unknot.data.dsprites import DSprites
from unknot.data.scream_dsprites import ScreamDSprites

ROWS = torch.arange(0, 737_280, 9973)
SIZE = 737_280
PAINTING = Path(__file__).parents[3] / "shared" / "data" / "scream" / "the_scream.jpg"


pytestmark = pytest.mark.usefixtures("one_copy")


@pytest.fixture(scope="module")
def pixels():
    """A picture of 100 x 80 pixels of noise."""
    return np.random.default_rng(0).integers(0, 256, (80, 100, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def data(one_copy, pixels, tmp_path_factory):
    path = tmp_path_factory.mktemp("paintings") / "noise.png"
    Image.fromarray(pixels).save(path)
    return ScreamDSprites(str(path)).load()


@pytest.mark.parametrize("variant", [0, 1, 2**32 - 1])
def test_the_formula(data, pixels, variant):
    """In float64 and with slices: b = (P + c) / 2, and 1 - b at the sprite."""
    index = ROWS + SIZE * variant
    x, m = data.batch(index).double(), DSprites().load().batch(ROWS).double()
    top, left = data.images.paint.corner(index)
    color = noise.uniform(0, "data/scream_dsprites/colour", index, 3).double()
    painting = torch.from_numpy(pixels).permute(2, 0, 1).double() / 255
    pieces = [painting[:, i : i + 64, j : j + 64] for i, j in zip(top, left, strict=True)]
    behind = (torch.stack(pieces) + color[..., None, None]) / 2
    assert data.shape == (3, 64, 64)
    assert torch.allclose(x, (1 - m) * behind + m * (1 - behind), rtol=0, atol=1e-7)
    recovered = torch.where(m > 0, 1 - x, x)
    assert torch.allclose(recovered, behind, rtol=0, atol=1e-7)


def test_another_variant_has_another_background_and_the_same_one_has_the_same(data):
    assert isinstance(data.images, NuisanceVariants)
    first, second = data.batch(ROWS), data.batch(ROWS + SIZE)
    assert (first != second).flatten(1).double().mean(1).min() > 0.9
    assert torch.equal(second, data.to(torch.device("cpu")).batch(ROWS + SIZE))
    assert torch.equal(second.flip(0), data.batch((ROWS + SIZE).flip(0))), "in any order"
    index = ROWS[:6].reshape(2, 3)
    assert torch.equal(data.batch(index).flatten(0, 1), data.batch(ROWS[:6])), "in any shape"


def test_all_pieces_are_equally_likely(data):
    """Of 80 x 100 pixels there are 17 x 37 pieces, the lowest and the rightmost among them."""
    for index in (torch.arange(50_000) * 11, 5 + SIZE * torch.arange(50_000)):
        top, left = data.images.paint.corner(index)
        counts = torch.bincount(top * 37 + left, minlength=17 * 37)
        assert len(counts) == 17 * 37
        assert stats.chisquare(counts).pvalue > 0.01


def test_pieces_and_colours_of_neighbours_are_independent(data):
    n = 20_000
    rows = 300_000 + torch.arange(n + 1)

    def drawn(index):
        color = noise.uniform(0, "data/scream_dsprites/colour", index, 3)
        return torch.stack([*data.images.paint.corner(index), *color.T]).numpy()

    here, again = drawn(rows), drawn(rows + SIZE)
    together = np.concatenate([here[:, :-1], here[:, 1:], again[:, :-1]])
    found = np.corrcoef(together) - np.eye(len(together))
    assert np.abs(found).max() < 4.5 / n**0.5


def test_another_seed_gives_other_backgrounds(data, pixels, tmp_path):
    Image.fromarray(pixels).save(tmp_path / "noise.png")
    other = ScreamDSprites(str(tmp_path / "noise.png"), seed=1).load()
    assert (data.batch(ROWS) != other.batch(ROWS)).flatten(1).double().mean(1).min() > 0.9


def test_a_large_picture_is_shrunk_and_a_small_one_stays(data, pixels, tmp_path):
    stored = torch.from_numpy(pixels).permute(2, 0, 1).float()
    assert torch.equal(data.images.paint.painting, stored / 255)
    path = tmp_path / "grey.jpeg"
    for size, expected in [((1200, 1528), (274, 215)), ((700, 300), (150, 350))]:
        Image.new("L", size, 51).save(path)
        painting = ScreamDSprites(str(path)).load().images.paint.painting
        assert painting.shape == (3, *expected)
        assert (painting - 0.2).abs().max() < 0.01
    Image.new("L", (700, 100)).save(path)
    with pytest.raises(DataError, match="shrunk to fit 350 x 274, has 350 x 50"):
        ScreamDSprites(str(path)).load()


def test_a_picture_of_one_piece(tmp_path):
    Image.new("RGB", (64, 64), "red").save(tmp_path / "red.png")
    top, left = ScreamDSprites(str(tmp_path / "red.png")).load().images.paint.corner(ROWS)
    assert not top.any()
    assert not left.any()


@pytest.mark.parametrize("size", [(63, 64), (64, 63), (1, 1)])
def test_a_picture_too_small_for_a_piece(tmp_path, size):
    path = tmp_path / "small.png"
    Image.new("RGB", size).save(path)
    said = f"Expected a painting of 64 x 64 pixels or more; '{path}', shrunk to fit 350 x 274, "
    with pytest.raises(DataError, match=re.escape(f"{said}has {size[0]} x {size[1]}.")):
        ScreamDSprites(str(path)).load()


def test_files_that_are_missing_damaged_or_no_pictures(data, pixels, tmp_path):
    for path in (tmp_path / "nowhere.png", tmp_path):
        with pytest.raises(DataError, match=f"Expected a PNG or JPEG picture; '{path}' is not a"):
            ScreamDSprites(str(path)).load()
    (tmp_path / "words.png").write_text("no picture")
    (tmp_path / "empty.jpg").touch()
    Image.fromarray(pixels).save(tmp_path / "other.bmp")
    for name in ("cut.png", "cut.jpg"):
        Image.fromarray(pixels).save(tmp_path / name)
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(whole[: len(whole) // 3])
    for name in ("words.png", "empty.jpg", "other.bmp", "cut.png", "cut.jpg"):
        with pytest.raises(DataError, match=f"Cannot read the picture '.*{name}'; give a PNG or"):
            ScreamDSprites(str(tmp_path / name)).load()


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_other_seeds_are_refused(seed):
    with pytest.raises(ConfigError, match=f"ScreamDSprites.seed must be a whole .* got {seed}"):
        ScreamDSprites("any.png", seed=seed)


@pytest.mark.skipif(not PAINTING.is_file(), reason="needs the painting")
def test_the_painting():
    data = ScreamDSprites(str(PAINTING)).load()
    assert data.images.paint.painting.shape == (3, 274, 215)
    x = data.batch(ROWS)
    sprite = (DSprites().load().batch(ROWS) > 0).expand_as(x)
    assert torch.allclose(
        (1 - x)[sprite], data.images.paint.background(ROWS)[sprite], rtol=0, atol=1e-7
    )
    # The mean of the painting, and half of it is a colour of mean 1 / 2.
    expected = (data.images.paint.painting.mean() + 0.5) / 2
    assert abs(x[~sprite].mean() - expected) < 0.05


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_same_bits_on_a_gpu(data):
    there, index = data.to(torch.device("cuda")), ROWS + 3 * SIZE
    assert torch.equal(there.batch(index.cuda()).cpu(), data.batch(index))
    assert torch.equal(there.batch(index).cpu(), data.batch(index)), "rows in the host's memory"
