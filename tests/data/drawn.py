"""Pictures that show their factor values, so that a loaded image says which grid point it is.

A picture is 8 x 8 blocks of one colour each, which survive being made smaller. Neighbouring values
look alike, and no turn, flip or exchange of channels leaves a picture as it was.
"""

import numpy as np

BLOCKS = 8
STEP = 24  # between the greys of two neighbouring values
DARKEST = 10
MOST = (255 - DARKEST - 8) // STEP


def draw(values, height, width, channels):
    """The picture ``[height, width, channels]`` of some factor values, up to ten each."""
    assert max(values) <= MOST
    assert len(values) <= 9
    row, column, channel = np.ogrid[:BLOCKS, :BLOCKS, :channels]
    blocks = 100 + (37 * row + 11 * column) % 97 + 13 * channel
    for place, value in enumerate(values):
        blocks[_block(place)] = DARKEST + STEP * value + 4 * np.arange(channels)
    return _enlarge(blocks.astype(np.uint8), height, width)


def read(picture):
    """The factor values a picture ``[height, width, channels]`` shows, as many as one can hold."""
    return tuple(
        round((float(picture[_centre(_block(place), picture)][0]) - DARKEST) / STEP)
        for place in range(9)
    )


def draw_bits(values, height, width):
    """The picture ``[height, width]`` of zeros and ones: row k of blocks is value k in binary."""
    assert max(values) < 64
    assert len(values) <= BLOCKS
    blocks = np.zeros((BLOCKS, BLOCKS), np.uint8)
    blocks[: len(values), 0] = 1
    for place, value in enumerate(values):
        blocks[place, 1:7] = [value >> bit & 1 for bit in range(6)]
    return _enlarge(blocks, height, width)


def read_bits(picture, count):
    """The values that a picture ``[height, width]`` of zeros and ones shows."""
    return tuple(
        sum(int(picture[_centre((place, bit + 1), picture)] > 0.5) << bit for bit in range(6))
        for place in range(count)
    )


def draw_grid(sizes, height, width, channels):
    """A picture for every grid point, ``[*sizes, height, width, channels]``."""
    pictures = [draw(values, height, width, channels) for values in np.ndindex(*sizes)]
    return np.stack(pictures).reshape(*sizes, height, width, channels)


def digits(row):
    """Four values under 10 that tell a row number."""
    return row // 1000, row // 100 % 10, row // 10 % 10, row % 10


def _block(place):
    return 1 + place // 3 * 2, 1 + place % 3 * 2


def _centre(block, picture):
    height, width = picture.shape[:2]
    return int((block[0] + 0.5) * height / BLOCKS), int((block[1] + 0.5) * width / BLOCKS)


def _enlarge(blocks, height, width):
    rows = np.arange(height) * BLOCKS // height
    columns = np.arange(width) * BLOCKS // width
    return blocks[rows][:, columns]
