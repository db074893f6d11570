"""scene3d beside fifty pictures of 3D Shapes, where these are at hand.

They came without labels. Their factors below are those of the nearest of our images; the tests
look for the nearest again. The pictures were cut out of two figures: the outermost pixels are
blended with a frame, and the rows of some are one too low.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.colors import rgb_to_hsv
from scipy.ndimage import binary_dilation, binary_erosion

from unknot.data.parts.room import UNIT
from unknot.data.scene3d import SPACE, Scene3D

ORIGINALS = Path(__file__).parents[2] / "../shared/data/shapes3d_reference/shapes3d_reference.npz"
LOWER = [*range(15, 25), *range(40, 50)]
INNER = np.s_[2:62, 2:62]
# fmt: off
FACTORS = torch.tensor((
    (0, 1, 0, 6, 2, 4), (3, 8, 5, 5, 1, 0), (4, 7, 2, 5, 1, 5), (5, 2, 5, 4, 0, 8),
    (4, 5, 8, 1, 0, 5), (6, 2, 4, 4, 2, 0), (8, 3, 9, 5, 0, 10), (3, 2, 0, 7, 2, 7),
    (2, 8, 8, 0, 2, 4), (0, 0, 3, 5, 3, 6), (5, 9, 6, 1, 1, 6), (1, 3, 2, 6, 3, 0),
    (5, 5, 1, 0, 0, 10), (0, 1, 7, 3, 3, 8), (9, 2, 9, 7, 0, 11), (1, 0, 9, 5, 3, 10),
    (7, 2, 6, 1, 2, 2), (8, 7, 2, 1, 0, 14), (0, 6, 6, 0, 3, 7), (3, 7, 5, 6, 0, 2),
    (4, 7, 4, 7, 1, 3), (2, 8, 9, 7, 3, 3), (3, 3, 2, 1, 1, 1), (5, 5, 7, 2, 1, 6),
    (4, 4, 1, 1, 1, 6), (0, 4, 7, 4, 0, 6), (0, 9, 8, 0, 1, 2), (0, 2, 0, 2, 0, 14),
    (0, 1, 5, 2, 0, 0), (0, 0, 6, 4, 2, 9), (0, 9, 5, 1, 2, 2), (0, 1, 7, 5, 3, 4),
    (0, 3, 5, 7, 0, 8), (0, 9, 3, 4, 3, 0), (0, 1, 3, 6, 1, 12), (0, 7, 1, 0, 3, 1),
    (0, 4, 4, 2, 1, 0), (0, 1, 2, 1, 2, 6), (0, 8, 0, 1, 3, 13), (0, 1, 9, 1, 3, 10),
    (0, 6, 7, 4, 0, 11), (0, 0, 6, 6, 0, 4), (0, 1, 2, 2, 0, 10), (0, 1, 3, 3, 3, 6),
    (0, 6, 4, 0, 0, 14), (0, 2, 0, 2, 2, 8), (0, 1, 0, 7, 1, 8), (0, 4, 0, 0, 2, 13),
    (0, 4, 3, 6, 3, 2), (0, 9, 0, 1, 0, 4),
))
# fmt: on


@pytest.fixture(scope="module")
def data():
    return Scene3D().load()


@pytest.fixture(scope="module")
def originals():
    if not ORIGINALS.exists():
        pytest.skip("the folder with original images is not beside the checkout")
    with np.load(ORIGINALS, allow_pickle=False) as file:
        images = file["images"].astype(int)
    images[LOWER] = np.roll(images[LOWER], -1, axis=1)
    return images


def levels(data, index):
    """Images in whole levels, [*n, 64, 64, 3]."""
    return (data.batch(index) * 255).round().int().movedim(-3, -1).numpy().astype(int)


def distances(data, index, original):
    """Mean difference of images from an original, in levels."""
    return np.abs(levels(data, index) - original)[:, *INNER].mean((1, 2, 3))


@pytest.mark.parametrize("number", range(0, 50, 4))
def test_the_nearest_of_all_views_is_far_nearer_than_the_next(data, originals, number):
    row = int(SPACE.index(FACTORS[number]))
    apart = distances(data, torch.arange(480) + row // 480 * 480, originals[number])
    assert apart.argmin() == row % 480
    assert apart.min() < 2.1
    assert np.partition(apart, 1)[1] > 1.25 * apart.min()


@pytest.mark.parametrize("number", [21])
def test_the_nearest_of_all_hues(data, originals, number):
    row = int(SPACE.index(FACTORS[number]))
    apart = distances(data, torch.arange(1000) * 480 + row % 480, originals[number])
    assert apart.argmin() == row // 480


def test_all_values_of_shape_scale_and_orientation_are_seen():
    for factor, size in ((3, 8), (4, 4), (5, 15)):
        assert len(FACTORS[:, factor].unique()) == size


def test_palette(data, originals):
    """The median over a surface agrees within a level, or two; single pixels have textures."""
    rows = SPACE.index(FACTORS)
    apart = levels(data, rows) - originals
    weights = data.images.buffers[rows % 480, :4].numpy().astype(int)
    weights = np.concatenate([weights, UNIT - weights.sum(1, keepdims=True)], axis=1)
    for surface, middle, mean in ((0, 1, 3.5), (1, 1, 2.5), (3, 2, 2.5), (4, 0, 0.1)):
        means = []
        for weight, image in zip(weights[:, surface], apart, strict=True):
            whole = (weight == UNIT)[INNER]
            assert np.abs(np.median(image[INNER][whole], axis=0)).max() <= middle
            means.append(np.abs(image[INNER][whole]).max(-1).mean())
        assert np.mean(means) < mean
    assert np.abs(apart)[:, *INNER].mean() < 1.3


def test_outlines(data, originals):
    """Of objects whose hue is theirs alone: each pixel well inside is, none well outside."""
    compared = 0
    for factors, original in zip(FACTORS.tolist(), originals, strict=True):
        floor, wall, thing, *_ = factors
        # Wall and floor blend to the hues between theirs along the line where they meet.
        if any((thing - other) % 10 in (0, 1, 9) for other in (floor, wall)):
            continue
        compared += 1
        row = int(SPACE.index(torch.tensor(factors)))
        solid = data.images.buffers[row % 480, 3].numpy() > UNIT // 2
        seen = has_hue(original, thing)[INNER]
        inside = binary_erosion(solid, np.ones((3, 3)))[INNER]
        around = binary_dilation(solid, np.ones((3, 3)))[INNER]
        assert seen[inside].mean() > 0.98
        assert not seen[~around].any()
    assert compared > 20


def has_hue(image, hue):
    """Which pixels are of a hue, dark or bright, give or take half a step; mixtures are not."""
    hues, saturation, _ = rgb_to_hsv(image / 255).transpose(2, 0, 1)
    return (np.abs((10 * hues - hue + 5) % 10 - 5) < 0.5) & (saturation > 0.7)
