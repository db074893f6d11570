"""XYObject and its shaded version against the constants and distances of Michlo 2022."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from unknot.data.xyobject import MEAN, STD, XYObject
from unknot.data.xyobject_shaded import XYObjectShaded

COLORS = [(1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 1, 1), (0, 0, 1), (1, 0, 1)]


def drawn(index):
    """One image, drawn by slices in bytes."""
    index, hue = divmod(index, 6)
    index, level = divmod(index, 4)
    index, scale = divmod(index, 5)
    x, y = divmod(index, 25)
    side = (7, 9, 11, 13, 15)[scale]
    left, top = 2 * x + (15 - side) // 2, 2 * y + (15 - side) // 2
    image = torch.zeros(3, 64, 64, dtype=torch.uint8)
    for channel, lit in enumerate(COLORS[hue]):
        value = lit * (63, 127, 191, 255)[level]
        image[channel, top : top + side, left : left + side] = value
    return image


@given(st.integers(0, 74_999))
def test_images_agree_with_drawn_ones(index):
    image = XYObject().load().batch(torch.tensor(index))
    assert torch.equal(image, drawn(index).float() / 255)


def test_both_hold_the_same_images_in_the_same_order():
    merged, shaded = XYObject().load(), XYObjectShaded().load()
    assert len(merged) == len(shaded) == 75_000
    index = torch.arange(0, 75_000, 97)
    assert torch.equal(merged.batch(index), shaded.batch(index))
    a, b = merged.space.factors(index), shaded.space.factors(index)
    assert torch.equal(a[:, :3], b[:, :3])
    assert torch.equal(a[:, 3], 6 * b[:, 3] + b[:, 4])
    assert merged.space.sizes == (25, 25, 5, 24)
    assert shaded.space.sizes == (25, 25, 5, 4, 6)
    assert shaded.space.kinds == ("ordered", "ordered", "ordered", "ordered", "cyclic")
    assert merged.space.kinds == ("ordered", "ordered", "ordered", "nominal")


def test_squares_stay_whole_at_every_place():
    data = XYObject().load()
    index = torch.arange(23, 75_000, 24)  # magenta at full intensity at all places and scales
    area = data.batch(index)[:, 0].sum((1, 2)).reshape(625, 5)
    assert torch.equal(area, torch.tensor([7.0, 9, 11, 13, 15]).square().expand(625, 5))


def test_constants_of_table_a2():
    """The mean, and the mean over images of the deviation within an image and channel.

    Neither depends on the place, so the 120 images at one place stand for all 75,000.
    """
    data = XYObject().load()
    x = torch.stack([drawn(i) for i in range(120)]).double().flatten(2) / 255
    assert torch.allclose(data.batch(torch.arange(120)).flatten(2).double(), x, atol=1e-7)
    assert (x.mean((0, 2)) - torch.tensor(MEAN, dtype=torch.float64)).abs().max() < 1e-9
    assert (x.std(-1).mean(0) - torch.tensor(STD, dtype=torch.float64)).abs().max() < 1e-9


def traversals(data, factor):
    """Distances between all values of a factor, from images that cover all that matters to it."""
    name = data.space.names[factor]
    index = torch.arange(120) + data.space.strides[1] * 12
    if name in ("colour", "intensity", "hue", "scale"):
        index = index[data.space.factors(index)[:, factor] == 0]
    x = data.batch(data.space.traversal(index, factor)).flatten(2)
    x = (x * 255).round() / 255
    norms = x.square().sum(-1)
    squares = norms[:, :, None] + norms[:, None, :] - 2 * x @ x.mT
    return squares.double() / 12288


@pytest.mark.parametrize(
    ("kind", "name", "mean", "linear", "rank"),
    [
        (XYObject, "x", 0.0119, 0.26, 0.36),
        (XYObject, "y", 0.0119, 0.26, 0.36),
        (XYObject, "scale", 0.0050, 0.57, 0.71),
        (XYObject, "colour", 0.0090, 0.23, 0.34),
        (XYObjectShaded, "intensity", 0.0033, 0.73, 0.92),
        (XYObjectShaded, "hue", 0.00883, 0.32, 0.54),
    ],
)
def test_distances_along_factors(kind, name, mean, linear, rank):
    """Mean over different values, and correlation with the factor's own distance over all pairs.

    For hue the mean is a closed form: two different hues differ in (1 + 2 + 3 + 2 + 1) / 5 channels
    on average, and 1.8 * 129 pixels * 121604 / 260100 (mean squared level) / 12288 = 0.00883.
    """
    data = kind().load()
    distance = traversals(data, data.space.names.index(name))
    values = torch.arange(distance.shape[1])
    apart = (values[:, None] - values).abs()
    assert abs(distance[:, apart > 0].mean().item() - mean) < 6e-5
    truth = apart.expand_as(distance).flatten()
    assert abs(pearsonr(truth, distance.flatten())[0] - linear) < 0.02
    assert abs(spearmanr(truth, distance.flatten())[0] - rank) < 0.02
