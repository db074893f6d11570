"""Pages of images that came without factors."""

import numpy as np

import unknot
from unknot.report.run.page import page, write_pictures

IMAGES = np.random.default_rng(0).integers(0, 256, (20, 8, 8), dtype=np.uint8)


def test_nothing_is_said_of_factors_that_nobody_gave(tmp_path):
    run = unknot.train(IMAGES, net="linear", steps=5, batch=8, device="cpu")
    files = {path.name for path in write_pictures(run, tmp_path)}
    assert "reconstructions.png" in files
    assert "factors.png" not in files
    text = page(run)
    assert "than the data has factors" not in text
    assert "The label names the" not in text
