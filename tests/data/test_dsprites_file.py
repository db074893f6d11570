"""The original archive's loader, on small and full synthetic archives."""

import contextlib
import os
import zipfile

import numpy as np
import pytest
import torch

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.data import dsprites_file
from unknot.data.dsprites import DSprites
from unknot.data.dsprites_file import DSpritesFile

SMALL = FactorSpace(
    ("shape", "scale", "orientation", "pos_x", "pos_y"),
    (3, 1, 2, 2, 2),
    ("nominal", "ordered", "cyclic", "ordered", "ordered"),
)


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.fixture
def images(monkeypatch):
    """A grid of 24 images, read five at a time."""
    monkeypatch.setattr(dsprites_file, "SPACE", SMALL)
    monkeypatch.setattr(dsprites_file, "CHUNK", 5)
    return np.random.default_rng(0).integers(0, 2, (24, 64, 64), dtype=np.uint8)


def load(path):
    return DSpritesFile(str(path)).load()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_images_are_read_and_pickles_are_not(images, tmp_path, save):
    path = tmp_path / "d.npz"
    bomb = np.array([Bomb(str(tmp_path / "bang"))], dtype=object)
    save(path, imgs=images, metadata=bomb, latents_values=np.zeros((24, 6)))
    data = load(path)
    assert np.array_equal(data.batch(torch.arange(24))[:, 0].numpy(), images)
    assert data.name == "dsprites_file"
    assert not (tmp_path / "bang").exists()


def test_the_hdf5_file_has_the_same_images(images, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "d.hdf5", "w") as file:
        file.create_dataset("imgs", data=images, chunks=(5, 64, 32), compression="gzip")
    assert np.array_equal(load(tmp_path / "d.hdf5").batch(torch.arange(24))[:, 0].numpy(), images)
    with h5py.File(tmp_path / "e.hdf5", "w") as file:
        file["images"] = images
    with pytest.raises(DataError, match="lacks an array"):
        load(tmp_path / "e.hdf5")
    (tmp_path / "f.hdf5").write_bytes((tmp_path / "d.hdf5").read_bytes()[:3000])
    with pytest.raises(DataError, match="is damaged"):
        load(tmp_path / "f.hdf5")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x: x[:23],
        lambda x: x.reshape(24, 1, 64, 64),
        lambda x: x[:, :32],
        lambda x: x.astype(np.float32),
        lambda x: x.astype(bool),
        lambda x: np.asfortranarray(x),
        lambda x: x * 255,
        lambda x: x.astype(object),
    ],
    ids=["rows", "axes", "height", "float", "bool", "fortran", "0-255", "object"],
)
def test_other_arrays_are_refused(images, tmp_path, wrong):
    np.savez(tmp_path / "d.npz", imgs=wrong(images))
    with pytest.raises(DataError, match="not the dSprites archive or is damaged"):
        load(tmp_path / "d.npz")


def test_missing_and_foreign_files_are_refused(images, tmp_path):
    with pytest.raises(DataError, match=r"needs none\.npz, not found in .*data get dsprites"):
        load(tmp_path / "none.npz")
    with pytest.raises(DataError, match=r"needs dsprites_ndarray.*npz, not found in"):
        load(tmp_path)
    np.savez(tmp_path / "other.npz", images=images)
    with pytest.raises(DataError, match="no array 'imgs'"):
        load(tmp_path / "other.npz")
    for content in (b"", b"no archive", images.tobytes()):
        (tmp_path / "junk.npz").write_bytes(content)
        with pytest.raises(DataError, match="damaged"):
            load(tmp_path / "junk.npz")
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("imgs.npy", "not an array")
    with pytest.raises(DataError, match="damaged"):
        load(tmp_path / "text.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_truncated_and_altered_files_are_refused(images, tmp_path, save, share):
    path = tmp_path / "d.npz"
    save(path, imgs=images)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(DataError, match="damaged"):
        load(path)
    at = len(raw) // 2  # an image: 0 becomes 1, which only the archive's checksum can tell
    path.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
    with pytest.raises(DataError, match="damaged"):
        load(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_any_altered_byte_is_refused_or_harmless(images, tmp_path, save):
    """Most of what is not an image is the header in front and the directory at the end."""
    path = tmp_path / "d.npz"
    save(path, imgs=images)
    raw = path.read_bytes()
    rng = np.random.default_rng(0)
    harmless = 0
    for at in [*rng.integers(0, 200, 100), *rng.integers(len(raw) - 100, len(raw), 50)]:
        path.write_bytes(raw[:at] + bytes([raw[at] ^ rng.integers(1, 256)]) + raw[at + 1 :])
        with contextlib.suppress(DataError):
            assert np.array_equal(load(path).batch(torch.arange(24))[:, 0].numpy(), images)
            harmless += 1
    assert 0 < harmless < 75


def test_an_array_longer_or_shorter_than_its_header_is_refused(images, tmp_path):
    for extra in (images.tobytes() + b"\0", images.tobytes()[:-1]):
        path = tmp_path / "d.npz"
        with zipfile.ZipFile(path, "w") as archive, archive.open("imgs.npy", "w") as file:
            header = np.lib.format.header_data_from_array_1_0(images)
            np.lib.format.write_array_header_1_0(file, header)
            file.write(extra)
        with pytest.raises(DataError, match="damaged"):
            load(path)


@pytest.mark.slow
def test_a_full_archive_comes_back_whole(tmp_path):
    ours = DSprites().load().images.stored.numpy()
    path = tmp_path / "d.npz"
    header = {"descr": "|u1", "fortran_order": False, "shape": (len(ours), 64, 64)}
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("imgs.npy", "w", force_zip64=True) as file,
    ):
        np.lib.format.write_array_header_1_0(file, header)
        for rows in np.array_split(ours, 64):
            file.write(np.unpackbits(rows, axis=1).data)
    assert np.array_equal(load(path).images.stored.numpy(), ours)
    path.unlink()
