import colorsys

import numpy as np
import torch

from unknot.data.soft_squares import FIRST, LAST, SPACE, SoftSquares


def test_hues_are_those_of_the_colour_circle_and_areas_those_of_the_sizes():
    data = SoftSquares().load()
    rows = torch.arange(len(data))
    images, factors = data.batch(rows).double().numpy(), SPACE.factors(rows).numpy()
    brightest = images.max((2, 3))
    for hue in range(6):
        expected = colorsys.hsv_to_rgb(hue * 48 / 360, 1, 1)
        np.testing.assert_allclose(
            brightest[factors[:, 0] == hue].T, np.tile(expected, (720, 1)).T, atol=1e-6
        )
    # A channel's sum over its brightest pixel is the area; its mean place is the centre.
    shape = images.max(1)
    side = 4 + 2.4 * factors[:, 1]
    np.testing.assert_allclose(shape.sum((1, 2)), side**2, rtol=1e-5)
    middle = np.arange(32) + 0.5
    for axis, factor in ((1, 2), (2, 3)):
        centre = (shape.sum(axis) * middle).sum(1) / shape.sum((1, 2))
        expected = FIRST + (LAST - FIRST) * factors[:, factor] / 11
        np.testing.assert_allclose(centre, expected, atol=0.05)  # pixels are coarse
