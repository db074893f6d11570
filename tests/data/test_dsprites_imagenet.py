"""dSprites with pictures against its formula, and folders of pictures good and bad."""

import hashlib
from functools import cache

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import stats

from unknot.core.errors import ConfigError, DataError
from unknot.data.dsprites import DSprites
from unknot.data.dsprites_imagenet import DSpritesImageNet
from unknot.metrics.parts.distances import correlations, importance

ROWS = torch.arange(0, 737_280, 9973)


pytestmark = pytest.mark.usefixtures("one_copy")


@cache
def load(mode, visibility):
    return DSpritesImageNet(mode, visibility).load()


@pytest.fixture(scope="module")
def sprites():
    return DSprites().load().batch(ROWS)


@pytest.fixture
def folder(tmp_path):
    """Three pictures of one colour each, one of them deeper, and a file that is none."""
    (tmp_path / "deep").mkdir()
    for name, color in [("b.png", "red"), ("a.JPG", "white"), ("deep/c.jpeg", "lime")]:
        kind = "png" if name.endswith("png") else "jpeg"
        Image.new("RGB", (100, 64), color).save(tmp_path / name, kind)
    (tmp_path / "notes.txt").write_text("no picture")
    return tmp_path


@pytest.mark.parametrize("mode", ["foreground", "background"])
def test_invisible_pictures_leave_dsprites_in_three_channels(mode, sprites):
    data = load(mode, 0.0)
    assert data.shape == (3, 64, 64)
    assert data.space == DSprites().load().space
    assert torch.equal(data.batch(ROWS), sprites.expand(-1, 3, -1, -1))


@pytest.mark.parametrize("visibility", [0.25, 0.5, 1.0])
def test_outside_of_the_foreground_is_black_and_before_the_background_is_white(visibility, sprites):
    inside = (sprites > 0).expand(-1, 3, -1, -1)
    filled = load("foreground", visibility).batch(ROWS)
    behind = load("background", visibility).batch(ROWS)
    assert (filled[~inside] == 0).all()
    assert (behind[inside] == 1).all()
    assert filled[inside].std() > 0.05 * visibility
    assert behind[~inside].std() > 0.05 * visibility


@pytest.mark.parametrize("v", [0.25, 0.5, 0.3141, 1.0])
@pytest.mark.parametrize("mode", ["foreground", "background"])
def test_formula_of_the_paper(mode, v, sprites):
    """In float64: m (v I + 1 - v), and m + (1 - m) v I."""
    data = load(mode, v)
    m = sprites.double()
    picture = data.images.pictures[data.images.picture(ROWS)].double() / 255
    expected = m * (v * picture + 1 - v) if mode == "foreground" else m + (1 - m) * v * picture
    assert torch.allclose(data.batch(ROWS).double(), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("mode", "fingerprint"),
    [("foreground", "e047eaaef72bb05f"), ("background", "943634e001d52410")],
)
def test_fingerprint(mode, fingerprint):
    """Our own frozen output: an index has the same image in every process and on every machine."""
    images = load(mode, 1.0).batch(ROWS)
    shown = (images * 255).round().byte().numpy()
    assert hashlib.sha256(shown.data).hexdigest()[:16] == fingerprint


def test_rows_in_any_order_and_shape():
    data = load("background", 1.0)
    index = ROWS[:6].reshape(2, 3)
    images = data.batch(index)
    assert images.shape == (2, 3, 3, 64, 64)
    assert torch.equal(images.flatten(0, 1).flip(0), data.batch(ROWS[:6].flip(0)))


def test_pictures_are_even_and_say_nothing_of_the_factors():
    images = load("background", 1.0).images
    index = torch.arange(0, 737_280, 7)
    number = images.picture(index)
    assert stats.chisquare(torch.bincount(number, minlength=1024)).pvalue > 0.01
    shape = DSprites().load().space.factors(index)[:, 0]
    table = torch.bincount(shape * 8 + number % 8, minlength=24).reshape(3, 8)
    assert stats.chi2_contingency(table.numpy()).pvalue > 0.01


def test_another_seed_gives_other_pictures():
    first, second = (DSpritesImageNet(seed=seed).load().images.picture(ROWS) for seed in (0, 1))
    assert (first != second).double().mean() > 0.9


def test_background_moves_images_apart_along_every_factor():
    means = []
    for visibility in (0.0, 0.5, 1.0):
        data = load("background", visibility)
        found = importance(data.batch, data.space, traversals=12, pairs=64)
        means.append([found[name].mean for name in data.space.names])
    assert (np.diff(means, axis=0) > 0).all()


@pytest.mark.parametrize("mode", ["foreground", "background"])
def test_pictures_hide_the_order_of_ordered_factors(mode):
    ranks = []
    for visibility in (0.0, 1.0):
        data = load(mode, visibility)
        found = correlations(data.batch, data.space, traversals=12, pairs=64)
        ranks.append([found[name].rank for name in ("scale", "pos_x", "pos_y")])
    assert (np.diff(ranks, axis=0) < -0.1).all()


def test_pictures_of_a_folder_in_the_order_of_their_paths(folder):
    images = DSpritesImageNet(path=str(folder)).load().images
    colors = images.pictures.float().mean((2, 3)).round()
    expected = torch.tensor([[255.0, 255, 255], [255, 0, 0], [0, 255, 0]])
    assert (colors - expected).abs().max() <= 2, "a.JPG, b.png, deep/c.jpeg"
    assert set(images.picture(ROWS).tolist()) == {0, 1, 2}


def test_pictures_are_cropped_to_their_middle_and_scaled(tmp_path):
    wide = np.zeros((128, 256, 3), np.uint8)
    wide[:, 64:128, 0] = wide[:, 128:192, 1] = 200
    wide[:, :64] = wide[:, 192:] = 255
    Image.fromarray(wide).save(tmp_path / "wide.png")
    Image.fromarray(np.full((64, 64), 7, np.uint8)).save(tmp_path / "grey.png")
    grey, cropped = DSpritesImageNet(path=str(tmp_path)).load().images.pictures
    assert torch.equal(grey, torch.full((3, 64, 64), 7, dtype=torch.uint8))
    # The filter reaches a pixel over the seams and the cut.
    assert (cropped[0, :, 1:31] == 200).all()
    assert (cropped[0, :, 33:63] == 0).all()
    assert (cropped[1, :, 33:63] == 200).all()
    assert (cropped[2, :, 1:63] == 0).all(), "the white sides are cut off"


@pytest.mark.parametrize("name", ["b.png", "a.JPG"])
def test_a_damaged_picture_is_named(folder, name):
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 3])
    with pytest.raises(DataError, match=f"Cannot read the picture '.*{name}'; remove or replace"):
        DSpritesImageNet(path=str(folder)).load()


def test_a_folder_that_is_none_or_empty(tmp_path):
    with pytest.raises(DataError, match="is not a folder"):
        DSpritesImageNet(path=str(tmp_path / "nowhere")).load()
    with pytest.raises(DataError, match="has no pictures; put PNG or JPEG files into it"):
        DSpritesImageNet(path=str(tmp_path)).load()


@pytest.mark.parametrize("mode", ["foreground", "background"])
def test_standardised_images_have_mean_0_and_deviation_1_within_an_image(mode):
    data = DSpritesImageNet(mode, 0.75, standardize=True).load()
    x = data.batch(torch.arange(5, 737_280, 1499)).double().flatten(2)
    for found, expected in ((x.mean(2), 0), (x.std(2), 1)):
        error = found.std(0) / len(x) ** 0.5
        assert ((found.mean(0) - expected).abs() < 3 * error).all()
    raw = DSpritesImageNet(mode, 0.75).load().batch(ROWS)
    assert torch.allclose(data.unit(data.batch(ROWS)), raw, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"visibility": -0.1}, "visibility must lie in 0 .. 1; got -0.1"),
        ({"visibility": 1.5}, "visibility must lie in 0 .. 1; got 1.5"),
        ({"visibility": float("nan")}, "visibility must lie in 0 .. 1; got nan"),
        ({"seed": -1}, "seed must be a whole number from 0"),
    ],
)
def test_other_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        DSpritesImageNet(**settings)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_the_same_bits_on_a_gpu():
    data = DSpritesImageNet("foreground", 0.3).load()
    there = data.to(torch.device("cuda"))
    assert torch.equal(there.batch(ROWS.cuda()).cpu(), data.batch(ROWS))
