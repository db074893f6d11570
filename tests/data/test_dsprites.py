"""dSprites against its published fingerprints and 46,080 original images."""

import hashlib
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from unknot.data import dsprites
from unknot.data.dsprites import DSprites

ORIGINALS = Path(__file__).parents[2] / "../shared/data/dsprites/dsprites_downsampled.npz"


@pytest.fixture(scope="module")
def data():
    return DSprites().load()


@pytest.fixture(scope="module")
def set_pixels(data):
    """Number of set pixels in each image."""
    ones = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(1).astype(np.uint8)
    stored = data.images.stored.numpy()
    return np.concatenate(
        [ones[rows].sum(1, dtype=np.int64) for rows in np.array_split(stored, 64)]
    )


def test_checksum_of_all_images(data):
    """Golden: the checksum of an independent renderer of the same formulas."""
    assert hashlib.sha256(data.images.stored.numpy().data).hexdigest() == dsprites.SHA256


def test_set_pixels_and_published_constants(set_pixels):
    """Michlo 2022, table A.2: the mean, and the mean over images of each image's deviation.

    The published mean belongs to 128,328,862 pixels, two fewer than ours in three billion.
    """
    assert set_pixels.sum() == 128_328_864
    assert round(0.042494423521890 * 737_280 * 4096) == 128_328_862
    share = set_pixels / 4096
    assert abs(share.mean() - dsprites.MEAN[0]) < 1e-9
    assert abs(np.sqrt(share * (1 - share) * 4096 / 4095).mean() - dsprites.STD[0]) < 1e-8


def test_number_of_different_images(data):
    """Golden: the count of an independent renderer of the same formulas."""
    stored = data.images.stored.numpy()
    assert len({hashlib.blake2b(row.data, digest_size=16).digest() for row in stored}) == 715_706


def test_at_most_six_pixels_differ_from_46080_original_images(data):
    if not ORIGINALS.exists():
        pytest.skip("the folder with original images is not beside the checkout")
    with np.load(ORIGINALS, allow_pickle=False) as file:
        originals, index = file["imgs"], torch.from_numpy(file["original_dataset_indices"])
    ours = np.unpackbits(data.images.stored[index].numpy(), axis=1).reshape(-1, 64, 64)
    wrong = ours != originals
    assert wrong.sum() <= 6
    assert wrong.sum(axis=(1, 2)).max() <= 1


def test_first_image_is_the_smallest_square_at_the_top_left(data):
    """Half of 19.2 pixels around (16, 16): from 11.2 to 20.8, so centres 11.5 to 20.5."""
    expected = torch.zeros(64, 64)
    expected[11:21, 11:21] = 1
    assert torch.equal(data.batch(torch.tensor(0))[0], expected)


def test_positions_move_right_and_down(data):
    index = data.space.index(torch.tensor([[2, 3, 5, 4, 9], [2, 3, 5, 30, 9], [2, 3, 5, 4, 28]]))
    pixel = torch.arange(64.0)
    x, y = (data.batch(index)[:, 0].sum(axis).mul(pixel).sum(1) for axis in (1, 2))
    area = data.batch(index).sum((1, 2, 3))
    center_x, center_y = x / area, y / area
    assert abs(center_x[1] - center_x[0] - 32 * 26 / 31) < 0.2
    assert abs(center_y[2] - center_y[0] - 32 * 19 / 31) < 0.2
    assert abs(center_x[2] - center_x[0]) < 0.2


def test_the_last_orientation_is_the_first(data):
    first = torch.arange(32 * 32) + data.space.strides[1] * 4
    assert torch.equal(data.batch(first), data.batch(first + 39 * data.space.strides[2]))


@pytest.mark.parametrize("factor", [0, 1, 3, 4])
def test_changing_any_other_factor_changes_the_image(data, factor):
    """Orientation is left out: a turned square may be the same square."""
    index = torch.arange(0, data.space.size, 9973)
    rows = data.space.traversal(index, factor)
    images = data.images.stored[rows]
    same = (images.unsqueeze(1) == images.unsqueeze(2)).all(-1)
    assert torch.equal(same, torch.eye(rows.shape[1], dtype=torch.bool).expand_as(same))


@pytest.mark.slow
def test_from_nothing_in_thirty_seconds(tmp_path, monkeypatch, data):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path))
    start = time.perf_counter()
    made = DSprites().load()
    assert time.perf_counter() - start < 30
    assert torch.equal(made.images.stored, data.images.stored)
    for path in tmp_path.iterdir():
        path.unlink()
