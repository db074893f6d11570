"""XYSquares against the closed forms of Michlo 2022."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core.errors import ConfigError
from unknot.data.xysquares import XYSquares

ALL = [(spacing, 8) for spacing in range(1, 9)] + [(4, 4), (2, 2), (1, 1)]


def drawn(index, spacing, square):
    """One image, drawn by slices."""
    places = 64 // square
    offset = (64 - (square + (places - 1) * spacing)) // 2
    image = torch.zeros(3, 64, 64)
    for channel in reversed(range(3)):
        y, x = index % places, index // places % places
        index //= places**2
        left, top = offset + spacing * x, offset + spacing * y
        image[channel, top : top + square, left : left + square] = 1
    return image


@given(st.sampled_from(ALL), st.integers(min_value=0))
def test_images_agree_with_drawn_ones(setting, number):
    spacing, square = setting
    data = XYSquares(spacing, square).load()
    index = number % data.space.size
    image = data.batch(torch.tensor(index))
    assert torch.equal(image, drawn(index, spacing, square))
    assert image.sum().item() == 3 * square**2


@pytest.mark.parametrize(("spacing", "square"), ALL)
def test_sizes_and_names(spacing, square):
    data = XYSquares(spacing, square).load()
    assert data.space.names == ("x_r", "y_r", "x_g", "y_g", "x_b", "y_b")
    assert len(data) == (64 // square) ** 6
    assert data.shape == (3, 64, 64)


@pytest.mark.parametrize("spacing", range(1, 9))
def test_distance_along_a_factor(spacing):
    """2 * 8 * min(8, s k) / 12288, the same along every factor and from every image."""
    data = XYSquares(spacing).load()
    steps = torch.arange(8)
    apart = (steps[:, None] - steps).abs()
    expected = 2 * 8 * (spacing * apart).clamp(max=8).double() / 12288
    for factor, index in product(range(6), (0, 123_456, 262_143)):
        x = data.batch(data.space.traversal(torch.tensor(index), factor)).double()
        distance = (x[:, None] - x).square().mean((-3, -2, -1))
        assert torch.allclose(distance, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("spacing", "mean"),
    [
        (1, 0.003906),
        (2, 0.006882),
        (3, 0.008231),
        (4, 0.009115),
        (5, 0.009440),
        (6, 0.009766),
        (7, 0.010091),
        (8, 0.010417),
    ],
)
def test_mean_distance_along_a_factor(spacing, mean):
    data = XYSquares(spacing).load()
    x = data.batch(data.space.traversal(torch.tensor(7), 2)).double()
    distance = (x[:, None] - x).square().mean((-3, -2, -1))
    assert abs(distance.sum().item() / (8 * 7) - mean) < 5e-7


def test_distance_of_random_pairs_at_spacing_eight():
    """Colours are independent: mean 3 (63/64) d and variance 3 (63/64) (1/64) d^2, d = 128/12288.

    All 64 x 64 pairs of places of the blue square stand for all pairs of each of the three.
    """
    data = XYSquares().load()
    x = data.batch(torch.arange(64)).double()
    assert torch.equal(x[:, :2], x[:1, :2].expand(64, 2, 64, 64))
    distance = (x[:, None, 2] - x[:, 2]).square().sum((-2, -1)) / 12288
    d = 128 / 12288
    assert abs(3 * distance.mean().item() - 3 * 63 / 64 * d) < 1e-12
    assert abs(3 * distance.mean().item() - 0.0307617) < 5e-8
    deviation = math.sqrt(3 * distance.var(correction=0).item())
    assert abs(deviation - math.sqrt(3 * 63 / 64 / 64) * d) < 1e-12
    assert abs(deviation - 0.00224) < 5e-6


@pytest.mark.parametrize("spacing", range(1, 9))
def test_grid_is_centred(spacing):
    data = XYSquares(spacing).load()
    covered = data.batch(torch.tensor([0, len(data) - 1])).amax((0, 1, 2))
    left, right = int(covered.argmax()), 63 - int(covered.flip(0).argmax())
    assert 63 - right - left in (0, 1)


@pytest.mark.parametrize(("spacing", "square"), ALL)
def test_constants_are_the_mean_and_the_deviation_within_images(spacing, square):
    raw = XYSquares(spacing, square).load()
    data = XYSquares(spacing, square, standardize=True).load()
    index = torch.arange(0, len(raw), len(raw) // 7)
    x = raw.batch(index).double().flatten(2)
    assert torch.allclose(x.mean((0, 2)), torch.tensor(data.mean, dtype=torch.float64), rtol=1e-12)
    assert torch.allclose(
        x.std(-1).mean(0), torch.tensor(data.std, dtype=torch.float64), rtol=1e-12
    )


def test_constants_are_those_of_table_a2():
    for spacing in range(1, 9):
        data = XYSquares(spacing, standardize=True).load()
        assert data.mean == (0.015625,) * 3
        assert all(abs(value - 0.124034734589209) < 1e-15 for value in data.std)


def test_a_decoder_of_the_mean_image_has_loss_0_9998_in_standardised_units():
    """4095 / 4096, and the mean image is flat at spacing 8: all places are equally likely."""
    x = XYSquares(standardize=True).load().batch(torch.arange(0, 262_144, 3641)).double()
    assert abs(x.square().mean().item() - 4095 / 4096) < 1e-6


def test_rows_of_any_shape_and_rows_past_thirty_two_bits():
    data = XYSquares(1, 1).load()
    index = torch.tensor([[0, 1, 64], [64**3, 64**5, 64**6 - 1]])
    images = data.batch(index)
    assert images.shape == (2, 3, 3, 64, 64)
    corners = [image.flatten(1).argmax(1).tolist() for image in images.flatten(0, 1)]
    # Per colour 64 y + x of its pixel.
    assert corners == [[0, 0, 0], [0, 0, 64], [0, 0, 1], [0, 1, 0], [1, 0, 0], [4095, 4095, 4095]]
    assert data.space.factors(index[1, 0]).tolist() == [0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"spacing": 0}, "spacing must lie in 1 .. 8; got 0"),
        ({"spacing": 9}, "spacing must lie in 1 .. 8; got 9"),
        ({"square": 3}, "square must be 8, 4, 2 or 1; got 3"),
        ({"square": 4}, "Set spacing=4"),
        ({"square": 2, "spacing": 4}, "Set spacing=2"),
    ],
)
def test_other_settings_are_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        XYSquares(**settings)
