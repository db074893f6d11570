"""Shared by tests of objectives: a grid whose squared errors are large enough to be worth nats."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def halves(tmp_path_factory):
    """16 x 16 images of two factors, the grey levels of the left and of the right half."""
    path = tmp_path_factory.mktemp("halves") / "halves.npz"
    left, right = np.meshgrid(np.arange(8), np.arange(8), indexing="ij")
    images = np.zeros((8, 8, 16, 16), np.uint8)
    images[..., :8] = 36 * left[..., None, None]
    images[..., 8:] = 36 * right[..., None, None]
    factors = np.stack([left, right], -1).reshape(-1, 2)
    np.savez(path, images=images.reshape(-1, 16, 16), factors=factors)
    return path
