"""Files that would never end, end too early or hold nothing: each is refused in one line."""

import io
import os
import zipfile

import numpy as np
import pytest
from PIL import Image

from unknot.core.errors import UnknotError
from unknot.data.arrays import Arrays
from unknot.data.images import Images

PICTURE = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
pytestmark = [
    pytest.mark.usefixtures("own_cache"),
    pytest.mark.skipif(os.name == "nt", reason="Windows has no such pipes"),
]


def claim(rows, version=(1, 0)):
    """An npy file that says it has so many images, and has three."""
    file = io.BytesIO()
    header = {"descr": "|u1", "fortran_order": False, "shape": (rows, 8, 8)}
    write = getattr(np.lib.format, f"write_array_header_{version[0]}_0")
    write(file, header)
    return file.getvalue() + bytes(192)


def refused(dataset):
    with pytest.raises(UnknotError) as caught:
        dataset.load()
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2
    return str(caught.value)


@pytest.fixture
def folder(tmp_path):
    """Two pictures, and a third that is none."""
    (tmp_path / "photos").mkdir()
    for name in "ab":
        Image.fromarray(PICTURE).save(tmp_path / "photos" / f"{name}.png")
    return tmp_path / "photos"


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_what_is_no_file_in_a_folder_is_a_broken_picture(make, folder):
    make(folder / "c.png")
    assert "the picture 'c.png'" in refused(Images(str(folder)))
    assert len(Images(str(folder), skip_broken=True).load()) == 2
    (folder / "c.png").unlink()
    Image.fromarray(PICTURE).save(folder / "c.png")
    assert len(Images(str(folder)).load()) == 3


@pytest.mark.parametrize("name", ["p.npz", "p.npy", "p.h5", "p.png", "p.parquet", "p"])
def test_a_pipe_is_not_waited_for(name, tmp_path):
    os.mkfifo(tmp_path / name)
    assert "a pipe or a device" in refused(Images(str(tmp_path / name)))
    assert "a pipe or a device" in refused(Arrays(str(tmp_path / name)))
    if name == "p.parquet":
        assert "a pipe or a device" in refused(Images(str(tmp_path)))


def test_a_pipe_of_labels_is_not_waited_for(folder, tmp_path):
    os.mkfifo(tmp_path / "labels.csv")
    labels = str(tmp_path / "labels.csv")
    assert "a pipe or a device" in refused(Images(str(folder), labels=labels))


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize("rows", [4, 10**15])
@pytest.mark.parametrize("array", ["images", "factors"])
def test_headers_that_claim_more_than_the_file_has(array, rows, version, tmp_path):
    path = tmp_path / "claim.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("images.npy", claim(3))
        if array == "factors":
            archive.writestr("factors.npy", claim(rows, version))
    if array == "images":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("images.npy", claim(rows, version))
    for dataset in (Images, Arrays):
        assert "damaged" in refused(dataset(str(path)))


def test_an_npy_file_under_the_name_of_an_archive(tmp_path):
    (tmp_path / "claim.npz").write_bytes(claim(10**15))
    (tmp_path / "claim.npy").write_bytes(claim(10**15))
    assert "damaged" in refused(Images(str(tmp_path / "claim.npz")))
    assert "damaged" in refused(Images(str(tmp_path / "claim.npy")))
    assert "damaged" in refused(Arrays(str(tmp_path / "claim.npz")))


@pytest.mark.parametrize("chunks", [(1, 8, 8), None])
def test_arrays_of_hdf5_that_were_never_written(chunks, tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("images", (10**12, 8, 8), "u1", chunks=chunks)
        file.create_dataset("whole", data=np.ones((3, 8, 8), "u1"), chunks=chunks and (2, 8, 8))
        file.create_dataset("label", (10**12,), "i4", chunks=chunks and (64,))
        file["words"] = np.array([b"a", b"b", b"c"])
    path = tmp_path / "a.h5"
    assert "not written in full" in refused(Images(str(path)))
    assert "not written in full" in refused(Images(f"{path}::whole", labels="label"))
    assert len(Images(f"{path}::whole", labels="words").load()) == 3


@pytest.mark.parametrize("name", ["a.png", "x.csv", "nothing"])
def test_one_file_of_another_kind(name, tmp_path):
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")
    message = refused(Images(str(tmp_path / name)))
    assert "Expected a folder of pictures or a file (npy, npz, h5, hdf5, parquet)" in message


def test_hdf5_files_may_have_any_name(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "a.mat", "w", userblock_size=512) as file:
        file["images"] = np.ones((3, 8, 8), "u1")
    assert len(Images(str(tmp_path / "a.mat")).load()) == 3


@pytest.mark.parametrize("shape", [(0, 8, 8), (4, 0, 8), (0, 8, 8, 3)])
@pytest.mark.parametrize("ending", ["npy", "npz"])
def test_no_images(ending, shape, tmp_path):
    path = tmp_path / f"empty.{ending}"
    if ending == "npy":
        np.save(path, np.zeros(shape, np.uint8))
    else:
        np.savez(path, images=np.zeros(shape, np.uint8))
        assert "no images" in refused(Arrays(str(path)))
    assert f"no images in '{path}'; its shape is {shape}" in refused(Images(str(path)))


def test_no_arrays(tmp_path):
    np.savez(tmp_path / "empty.npz")
    assert "has no arrays" in refused(Images(str(tmp_path / "empty.npz")))


@pytest.mark.parametrize("dataset", [Images, Arrays])
def test_a_line_break_in_a_name(dataset, tmp_path):
    images, factors = np.ones((4, 8, 8), np.uint8), np.arange(4)[:, None]
    np.savez(tmp_path / "a.npz", images=images, factors=factors, names=["a\nb"])
    assert "line break" in refused(dataset(str(tmp_path / "a.npz")))
