"""The bank of textures against plain loops, and that it is what it was."""

import hashlib

import numpy as np
import pytest
import torch

from unknot.core import noise
from unknot.data.dsprites_imagenet import TEXTURES
from unknot.data.parts import backgrounds as textures


@pytest.fixture(scope="module")
def bank():
    return textures.weave_textures()


def test_checksum_of_the_bank(bank):
    """Our own frozen output: all arithmetic is in whole numbers, so every machine must agree."""
    assert bank.shape == (1024, 3, 64, 64)
    assert hashlib.sha256(bank.data).hexdigest() == TEXTURES


def test_no_two_textures_are_alike_and_none_is_flat(bank):
    assert len({texture.tobytes() for texture in bank}) == len(bank)
    assert bank.std((2, 3)).max(1).min() > 2


def test_coarse_structure_is_stronger_than_fine(bank):
    """The power of photographs falls with about the square of the frequency; here with the cube."""
    grey = bank.mean(1) - bank.mean((1, 2, 3))[:, None, None]
    power = (np.abs(np.fft.fft2(grey)) ** 2).mean(0)
    along = np.fft.fftfreq(64, 1 / 64)
    radius = np.hypot(along[:, None], along).round()
    rings = [power[radius == r].mean() for r in range(1, 32)]
    slope = np.polyfit(np.log(np.arange(1, 32)), np.log(rings), 1)[0]
    assert -3.5 < slope < -2


def test_channels_go_together(bank):
    together = np.corrcoef(bank.transpose(1, 0, 2, 3).reshape(3, -1))
    assert (together > 0.4).all()


def test_octaves_are_smooth_interpolations_of_random_corners():
    """In floating point, from the same corners: each octave is rounded down twice and halved."""
    number, counts = torch.tensor([3, 900]), (2, 8)
    found = textures.octaves(number, "clouds", counts).numpy()
    for r, c in [(0, 0), (1, 62), (17, 40), (31, 32), (63, 63)]:
        expected = np.zeros(2)
        for octave, count in enumerate(counts):
            stream = f"texture/clouds/{count}"
            corners = noise.integers(0, stream, number, count + 1, count + 1, high=65537).numpy()
            (i, s), (j, t) = divmod(r, 64 // count), divmod(c, 64 // count)
            s, t = (3 * u**2 - 2 * u**3 for u in (s * count / 64, t * count / 64))
            upper = corners[:, i, j] * (1 - t) + corners[:, i, j + 1] * t
            lower = corners[:, i + 1, j] * (1 - t) + corners[:, i + 1, j + 1] * t
            expected += (upper * (1 - s) + lower * s) / 2**octave
        assert np.abs(found[:, r, c] - expected).max() < 4


def test_cells_belong_to_their_nearest_point():
    number = torch.tensor([2, 3])
    found = textures.nearest_points(number)
    points = noise.integers(0, "texture/points", number, 2, 12, high=64)
    for t, r, c in [(0, 0, 0), (0, 31, 7), (1, 63, 63), (1, 5, 60)]:
        x, y = points[t]
        near = sorted(((x - c) ** 2 + (y - r) ** 2).tolist())
        assert (found[t, :, r, c] // 12).tolist() == near[:2]
        own = found[t, 0, r, c] % 12
        assert (x[own] - c) ** 2 + (y[own] - r) ** 2 == near[0]
    values = textures.patches(number)
    assert all(len(field.unique()) <= 12 for field in values)


@pytest.mark.parametrize("kind", ["clouds", "bands", "cells", "patches"])
def test_fields_go_from_0_to_1(kind):
    field = getattr(textures, kind)(torch.arange(8))
    assert field.shape == (8, 64, 64)
    assert field.min() >= 0
    assert field.max() <= textures.FULL
    assert (field.amax((1, 2)) - field.amin((1, 2))).min() > textures.FULL // 4
