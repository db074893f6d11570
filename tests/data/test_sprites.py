"""The polygon filler against a slow reference, and the outlines against their formulas."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unknot.data.parts.sprites import SIDE, fill, on_raster, outline, pose


def inside(x, y, column, row):
    """Even-odd test of a pixel centre, nudged right and far less up, by a ray downwards.

    The nudge is the tie rule (left and bottom edges count); the ray goes along the other axis than
    the filler's lines, and no vertex or edge can meet the nudged point.
    """
    px = Fraction(256 * column + 128) + Fraction(1, 2**20)
    py = Fraction(256 * row + 128) - Fraction(1, 2**60)
    crossings = 0
    corners = list(zip(x, y, strict=True))
    for (x0, y0), (x1, y1) in pairwise([*corners, corners[0]]):
        if (x0 < px) != (x1 < px):
            crossings += y0 + (px - x0) * Fraction(y1 - y0, x1 - x0) > py
    return crossings % 2 == 1


def slow(x, y, columns=range(SIDE), rows=range(SIDE)):
    return np.array([[inside(x, y, c, r) for c in columns] for r in rows], dtype=np.uint8)


def fast(x, y):
    packed = fill(np.array([x], dtype=np.int64), np.array([y], dtype=np.int64))
    return np.unpackbits(packed[0, 0]).reshape(SIDE, SIDE)


def test_left_and_bottom_edges_count_and_right_and_top_ones_do_not():
    """A square whose sides run through pixel centres 10 and 20."""
    low, high = 10 * 256 + 128, 20 * 256 + 128
    expected = np.zeros((SIDE, SIDE), dtype=np.uint8)
    expected[11:21, 10:20] = 1
    for turn in range(4):
        x, y = np.roll([low, high, high, low], turn), np.roll([low, low, high, high], turn)
        assert np.array_equal(fast(x, y), expected)
        assert np.array_equal(fast(x[::-1], y[::-1]), expected)


def test_a_diamond_through_centres_counts_its_left_edges_only():
    """Its corners lie on centres too: the left one counts and the other three do not."""
    middle, reach = 20 * 256 + 128, 5 * 256
    image = fast(
        [middle - reach, middle, middle + reach, middle],
        [middle, middle - reach, middle, middle + reach],
    )
    for row in range(SIDE):
        half = 5 - abs(row - 20)
        columns = set(range(20 - half, 20 + half)) if half > 0 else set()
        assert set(np.flatnonzero(image[row])) == columns


def test_tiles_that_share_edges_cover_each_pixel_once():
    """The rule gives a centre on a shared edge to exactly one neighbour."""
    cuts_x = np.array([0, 3, 4, 19, 40, 41, 63]) * 256 + 128
    cuts_y = np.array([0, 7, 20, 22, 23, 50, 63]) * 256 + 128
    total = np.zeros((SIDE, SIDE), dtype=int)
    for left, right in pairwise(cuts_x):
        for top, bottom in pairwise(cuts_y):
            # Two triangles instead of a rectangle, so that diagonals are shared too.
            total += fast([left, right, right], [top, top, bottom])
            total += fast([left, right, left], [top, bottom, bottom])
    expected = np.zeros((SIDE, SIDE), dtype=int)
    expected[1:64, 0:63] = 1
    assert np.array_equal(total, expected)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_any_polygon_agrees_with_the_reference(data):
    """Coordinates on quarter pixels make ties common; polygons may cross themselves."""
    step = data.draw(st.sampled_from([1, 64, 128]))
    coordinate = st.integers(8 * 256 // step, 14 * 256 // step).map(lambda v: v * step)
    corners = data.draw(st.lists(st.tuples(coordinate, coordinate), min_size=3, max_size=8))
    x, y = map(list, zip(*corners, strict=True))
    image = fast(x, y)
    window = range(7, 16)
    assert np.array_equal(image[7:16, 7:16], slow(x, y, window, window))
    assert image.sum() == image[7:16, 7:16].sum()


def test_each_pair_of_placements_is_filled_as_if_alone():
    rng = np.random.default_rng(1)
    x, y = rng.integers(256, 63 * 256, (3, 7)), rng.integers(256, 63 * 256, (4, 7))
    both = np.unpackbits(fill(x, y), axis=-1).reshape(3, 4, SIDE, SIDE)
    for m in range(3):
        for n in range(4):
            assert np.array_equal(both[m, n], fast(x[m], y[n]))


def test_the_raster_rounds_halves_up():
    lengths = np.array([0.5, 1.5, -0.5, 0.49, 2.51]) / 256
    assert on_raster(lengths).tolist() == [1, 2, 0, 0, 3]


def test_outlines_have_the_sizes_of_their_formulas():
    square, ellipse, heart = (outline(shape) for shape in range(3))
    assert [len(square), len(ellipse), len(heart)] == [4, 100, 150]
    assert np.abs(square).tolist() == [[9.6, 9.6]] * 4
    assert np.allclose((ellipse[:, 0] / (9.6 * 1.33)) ** 2 + (ellipse[:, 1] * 1.33 / 9.6) ** 2, 1)
    # Widest at t = 90 degrees; the tip at t = 180 degrees, where h = -13 - 5 + 2 - 1 = -17.
    assert math.isclose(heart[:, 0].max(), 9.6 * math.sin(2 * math.pi * 37 / 150) ** 3)
    assert math.isclose(heart[75, 1], 19.2 * (17 / 29 - 0.075))
    assert abs(heart[75, 0]) < 1e-12


def test_poses_scale_and_turn_against_the_clock_on_screen():
    """With y down, an angle of -2 pi j / 39 turns the first corner of the ellipse upwards."""
    for scale in range(6):
        radius = (0.5 + 0.1 * scale) * 9.6 * 1.33
        assert np.allclose(pose(1, scale, 0)[0], [radius, 0])
        angle = 2 * math.pi * 9 / 39
        expected = [radius * math.cos(angle), -radius * math.sin(angle)]
        assert np.allclose(pose(1, scale, 9)[0], expected)
    assert np.allclose(pose(2, 3, 39), pose(2, 3, 0))


@pytest.mark.parametrize(("shape", "scale", "orientation"), [(0, 5, 7), (1, 2, 20), (2, 0, 33)])
def test_sprites_agree_with_the_reference(shape, scale, orientation):
    corners = pose(shape, scale, orientation)
    x = on_raster(16 + 32 * 11 / 31 + corners[:, 0])
    y = on_raster(16 + 32 * 23 / 31 + corners[:, 1])
    window_x = range(int(x.min() // 256), int(x.max() // 256) + 1)
    window_y = range(int(y.min() // 256), int(y.max() // 256) + 1)
    image = fast(x, y)
    part = image[window_y.start : window_y.stop, window_x.start : window_x.stop]
    assert np.array_equal(part, slow(x.tolist(), y.tolist(), window_x, window_y))
    assert image.sum() == part.sum() > 0
