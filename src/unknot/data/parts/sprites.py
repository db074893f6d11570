"""The outlines of dSprites and an exact polygon filler.

Lengths are in pixels, x to the right and y down; the centre of pixel (c, r) is at
(c + 1/2, r + 1/2). Outlines are computed in float64 and placed on a raster of 1/256 pixel; from
there on all arithmetic is in integers, so that whether a centre lies inside is never a matter of
rounding.
"""

import numpy as np
from jaxtyping import Float64, Int64, UInt8

SIDE = 64
RASTER = 256
SHAPES, SCALES, ORIENTATIONS, PLACES = 3, 6, 40, 32
# Row c has the pixels from column c on set, the leftmost pixel in the highest bit.
FROM_COLUMN = np.array([(2**SIDE - 1) >> c for c in range(SIDE + 1)], dtype=np.uint64)


def render() -> UInt8[np.ndarray, "size bytes"]:
    """All 737,280 images in grid order, one bit per pixel, row after row."""
    images = np.empty((SHAPES, SCALES, ORIENTATIONS, PLACES, PLACES, SIDE * SIDE // 8), np.uint8)
    centers = 16 + 32 * np.arange(PLACES) / 31
    for shape, scale, orientation in np.ndindex(SHAPES, SCALES, ORIENTATIONS):
        corners = pose(shape, scale, orientation)
        x, y = (on_raster(centers[:, None] + corners[:, axis]) for axis in (0, 1))
        images[shape, scale, orientation] = fill(x, y)
    return images.reshape(-1, images.shape[-1])


def pose(shape: int, scale: int, orientation: int) -> Float64[np.ndarray, "corners 2"]:
    """The outline of a shape, scaled and turned, around the origin.

    The last of the 40 orientations is a full turn and so the same picture as the first.
    """
    angle = -2 * np.pi * orientation / (ORIENTATIONS - 1)
    cos, sin = np.cos(angle), np.sin(angle)
    x, y = outline(shape).T
    return (0.5 + 0.1 * scale) * np.stack([cos * x - sin * y, sin * x + cos * y], axis=1)


def outline(shape: int) -> Float64[np.ndarray, "corners 2"]:
    """Corners of a shape at scale 1: 0 is the square, 1 the ellipse, 2 the heart."""
    if shape == 0:
        return 9.6 * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    if shape == 1:
        t = 2 * np.pi * np.arange(100) / 100
        return np.stack([9.6 * 1.33 * np.cos(t), 9.6 / 1.33 * np.sin(t)], axis=1)
    t = 2 * np.pi * np.arange(150) / 150
    height = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.stack([9.6 * np.sin(t) ** 3, -19.2 * (height / 29 + 0.075)], axis=1)


def on_raster(lengths: Float64[np.ndarray, "*n"]) -> Int64[np.ndarray, "*n"]:
    """Nearest multiples of 1/256 pixel, halves up."""
    return np.floor(lengths * RASTER + 0.5).astype(np.int64)


def fill(
    x: Int64[np.ndarray, "m corners"], y: Int64[np.ndarray, "n corners"]
) -> UInt8[np.ndarray, "m n bytes"]:
    """Packed images of a polygon in the frame, for each pair of a row of ``x`` and one of ``y``.

    A pixel is set when its centre lies inside by the even-odd rule. A centre on the outline counts
    on left and bottom edges and not on right and top ones.

    Each edge crosses the lines of pixel centres that lie below its upper end and not below its
    lower end. A crossing flips the pixels of its line whose centre is not left of it. The crossed
    lines depend on ``y`` only, so they are found once for all rows of ``x``.
    """
    half = RASTER // 2
    y_end = np.roll(y, -1, axis=1)
    first = (np.minimum(y, y_end) - half) // RASTER + 1
    lines = (np.maximum(y, y_end) - half) // RASTER + 1 - first

    # One entry per crossing: placement, edge and pixel line, in the order of the image's lines.
    place, edge = np.nonzero(lines)
    times = lines[place, edge]
    nth = np.arange(times.sum()) - np.repeat(times.cumsum() - times, times)
    place, edge = np.repeat(place, times), np.repeat(edge, times)
    line = first[place, edge] + nth
    order = np.argsort(place * SIDE + line, kind="stable")
    place, edge, line = place[order], edge[order], line[order]

    # First column whose centre is not left of the crossing: a quotient, rounded up.
    start, run = x.T[edge], (np.roll(x, -1, axis=1) - x).T[edge]
    rise = (y_end - y)[place, edge, None]
    below = RASTER * line[:, None] + half - y[place, edge, None]
    column = -(-((start - half) * rise + below * run) // (RASTER * rise))

    target = place * SIDE + line
    firsts = np.flatnonzero(np.diff(target, prepend=-1))
    images = np.zeros((len(y) * SIDE, len(x)), dtype=">u8")
    images[target[firsts]] = np.bitwise_xor.reduceat(FROM_COLUMN[column], firsts, axis=0)
    return np.ascontiguousarray(images.T).view(np.uint8).reshape(len(x), len(y), -1)
