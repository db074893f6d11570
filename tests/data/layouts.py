"""Published datasets in small: files laid out as their authors laid them out.

Each writer puts the files of one dataset into a folder, for a grid of the sizes it is given, and
returns what a loader must make of them. Nothing here comes from a loader.
"""

import gzip
import io
import os
import struct
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from data.drawn import digits, draw, draw_bits, draw_grid
from scipy.io import savemat


@dataclass(frozen=True)
class Written:
    """Where the files lie and what they show.

    Args:
        path: The file as it is served, or the folder if there are several.
        names: A pattern for the name of each factor, slowest first; none where there is no grid.
        kinds: Of each factor.
        pictures: ``[*sizes, height, width, channels]`` in the dataset's own size.
    """

    path: Path
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    pictures: np.ndarray


class Bomb:
    """Makes a folder when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def bomb(folder):
    """An array of objects that nobody may open."""
    return np.array([Bomb(str(folder / "bang"))], dtype=object)


SHAPES3D = ("floor", "wall", "object", "scale", "shape", "orientation")
SHAPES3D_KINDS = ("cyclic", "cyclic", "cyclic", "ordered", "nominal", "ordered")
SHAPES3D_VALUES = (
    np.arange(10) / 10,
    np.arange(10) / 10,
    np.arange(10) / 10,
    np.linspace(0.75, 1.25, 8),
    np.arange(4.0),
    np.linspace(-30, 30, 15),
)


def write_shapes3d(folder, sizes):
    """``3dshapes.h5``: images and the *values* of labels, in chunks under gzip."""
    h5py = pytest.importorskip("h5py")
    pictures, labels = _shapes3d(sizes)
    path = folder / "3dshapes.h5"
    with h5py.File(path, "w") as file:
        chunk = (min(7, len(labels)), 64, 64, 3)  # does not divide the rows
        stored = pictures.reshape(-1, 64, 64, 3)
        file.create_dataset("images", data=stored, chunks=chunk, compression="gzip")
        file.create_dataset("labels", data=labels)
    return Written(path, SHAPES3D, SHAPES3D_KINDS, pictures)


def write_shapes3d_mirror(folder, sizes):
    """``shapes3d.npz``: the same two arrays."""
    pictures, labels = _shapes3d(sizes)
    path = folder / "shapes3d.npz"
    np.savez_compressed(path, images=pictures.reshape(-1, 64, 64, 3), labels=labels)
    return Written(path, SHAPES3D, SHAPES3D_KINDS, pictures)


def _shapes3d(sizes):
    values = [table[:size] for table, size in zip(SHAPES3D_VALUES, sizes, strict=True)]
    return draw_grid(sizes, 64, 64, 3), product(values)


def product(values):
    """All combinations, one a row, the last fastest."""
    return np.stack(np.meshgrid(*values, indexing="ij"), -1).reshape(-1, len(values))


CARS3D = ("elevation", "azimuth", "car|object|model")
CARS3D_KINDS = ("ordered", "cyclic", "nominal")


def write_cars3d(folder, sizes):
    """``nips2015-analogy-data.tar.gz``: one MATLAB file a car, beside other datasets."""
    path = folder / "nips2015-analogy-data.tar.gz"
    pictures, files = _cars3d(sizes)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        add(archive, "data/shapes48.mat", b"another dataset")
        add(archive, "data/sprites/sprites_0.mat", b"another dataset")
        for name, content in files.items():
            add(archive, f"data/cars/{name}", content)
        add(archive, "data/sprites/list.txt", b"sprites_0\n")
    return Written(path, CARS3D, CARS3D_KINDS, pictures)


def write_cars3d_folder(folder, sizes):
    """The same files, unpacked."""
    pictures, files = _cars3d(sizes)
    cars = folder / "data" / "cars"
    cars.mkdir(parents=True)
    for name, content in files.items():
        (cars / name).write_bytes(content)
    return Written(cars, CARS3D, CARS3D_KINDS, pictures)


def _cars3d(sizes):
    """Pictures, and files in the archive's order, which is neither the list's nor sorted."""
    elevations, azimuths, cars = sizes
    pictures = draw_grid(sizes, 128, 128, 3)
    names = [f"car_{3 * ((car + 1) % cars) + 1:03}_mesh" for car in range(cars)]
    files = {}
    for car in sorted(range(cars), key=lambda car: (car % 2, -car)):
        im = np.zeros((128, 128, 3, azimuths, elevations), np.uint8)
        for elevation, azimuth in np.ndindex(elevations, azimuths):
            im[:, :, :, azimuth, elevation] = pictures[elevation, azimuth, car]
        files[f"{names[car]}.mat"] = mat(im=im)
    files["list.txt"] = "".join(f"{name}\n" for name in names).encode()
    return pictures, files


def mat(**arrays):
    """The bytes of a MATLAB file."""
    file = io.BytesIO()
    savemat(file, arrays, do_compression=True)
    return file.getvalue()


def add(archive, name, content):
    """One more member of a tar archive."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


SMALLNORB = ("category", "instance", "elevation", "azimuth|rotation", "lighting")
SMALLNORB_KINDS = ("nominal", "nominal", "ordered", "cyclic", "nominal")
HALVES = {
    "smallnorb-5x46789x9x18x6x2x96x96-training": (4, 6, 7, 8, 9),
    "smallnorb-5x01235x9x18x6x2x96x96-testing": (0, 1, 2, 3, 5),
}
BYTES, INTEGERS = 0x1E3D4C55, 0x1E3D4C54


def write_smallnorb(folder, sizes, pack=gzip.compress, end=".mat.gz"):
    """Six files: pictures of two cameras, categories and the other four labels; rows shuffled."""
    assert sizes[1] == 10
    pictures = draw_grid(sizes, 96, 96, 1)
    for seed, (stem, instances) in enumerate(HALVES.items()):
        values = [range(size) for size in sizes]
        values[1] = instances
        rows = np.random.default_rng(seed).permutation(product(values))
        left = pictures[tuple(rows.T)][..., 0]
        dat = np.stack([left, 255 - left], 1)
        info = rows[:, 1:] * [1, 1, 2, 1]  # azimuth counts 0, 2, ..., 34
        for part, content in (
            ("dat", matrix(BYTES, dat)),
            ("cat", matrix(INTEGERS, rows[:, 0])),
            ("info", matrix(INTEGERS, info)),
        ):
            (folder / f"{stem}-{part}{end}").write_bytes(pack(content))
    return Written(folder, SMALLNORB, SMALLNORB_KINDS, pictures)


def write_smallnorb_unpacked(folder, sizes):
    """The same six files without gzip, as a mirror has them."""
    return write_smallnorb(folder, sizes, pack=bytes, end=".mat")


def matrix(magic, array):
    """NORB's binary matrix: magic, number of axes, at least three sizes, values."""
    shape = (*array.shape, 1, 1)[: max(3, array.ndim)]
    values = array.astype("u1" if magic == BYTES else "<i4")
    return struct.pack(f"<{2 + len(shape)}i", magic, array.ndim, *shape) + values.tobytes()


MPI3D = ("colou?r", "shape", "size", "camera", "background", "horizontal", "vertical")
MPI3D_KINDS = ("nominal", "nominal", "ordered", "ordered", "nominal", "ordered", "ordered")
MPI3D_FILES = {
    "toy": "mpi3d_toy.npz",
    "realistic": "mpi3d_realistic.npz",
    "real": "mpi3d_real.npz",
    "real_complex": "real3d_complicated_shapes_ordered.npz",
}


def write_mpi3d(folder, sizes, variant="toy"):
    """An npz of one array; what else may lie in it is not to be opened."""
    pictures = draw_grid(sizes, 64, 64, 3)
    path = folder / MPI3D_FILES[variant]
    save = np.savez_compressed if variant == "real" else np.savez
    save(path, images=pictures.reshape(-1, 64, 64, 3), metadata=bomb(folder))
    return Written(path, MPI3D, MPI3D_KINDS, pictures)


def write_mnist(folder, sizes, pack=gzip.compress):
    """Four idx files, ``sizes`` images to train and half as many to test."""
    pictures = []
    for stem, count, start in (("train", sizes[0], 0), ("t10k", sizes[0] // 2, 5000)):
        rows = range(start, start + count)
        images = np.stack([draw(digits(row), 28, 28, 1) for row in rows])
        labels = np.array([row * 7 % 10 for row in rows], np.uint8)
        for part, array in (("images-idx3", images[..., 0]), ("labels-idx1", labels)):
            (folder / f"{stem}-{part}-ubyte.gz").write_bytes(pack(idx(array)))
        pictures.append(images)
    return Written(folder, (), (), np.concatenate(pictures))


def idx(array):
    """The idx format: two zeros, 8 for bytes, number of axes, sizes big-endian, bytes."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return head + array.tobytes()


COIL20 = ("object", "view|azimuth|angle|rotation")
COIL20_KINDS = ("nominal", "cyclic")


def write_coil20(folder, sizes):
    """``coil20.npz``: photographs, objects and views, in no particular order of rows."""
    pictures = draw_grid(sizes, 128, 128, 1)
    path = folder / "coil20.npz"
    rows = np.random.default_rng(0).permutation(product([range(size) for size in sizes]))
    images = pictures[tuple(rows.T)][..., 0]
    thing, view = rows.T.astype(np.uint8)
    np.savez_compressed(path, images=images, object=thing, view=view)
    return Written(path, COIL20, COIL20_KINDS, pictures)


DSPRITES = ("shape", "scale", "orientation", "x", "y")
DSPRITES_KINDS = ("nominal", "ordered", "cyclic", "ordered", "ordered")
DSPRITES_FILE = "dsprites_ndarray_co1sh3sc6or40x32y32_64x64"


def write_dsprites(folder, sizes):
    """The npz: images of 0 and 1, with a colour of one value as first factor."""
    images, pictures, classes, values = _dsprites(sizes)
    path = folder / f"{DSPRITES_FILE}.npz"
    np.savez_compressed(
        path, metadata=bomb(folder), imgs=images, latents_classes=classes, latents_values=values
    )
    return Written(path, DSPRITES, DSPRITES_KINDS, pictures)


def write_dsprites_hdf5(folder, sizes):
    """The same as HDF5, where latents are a group."""
    h5py = pytest.importorskip("h5py")
    images, pictures, classes, values = _dsprites(sizes)
    path = folder / f"{DSPRITES_FILE}.hdf5"
    with h5py.File(path, "w") as file:
        chunk = (min(5, len(images)), 64, 64)
        file.create_dataset("imgs", data=images, chunks=chunk, compression="gzip")
        file.create_dataset("latents/classes", data=classes)
        file.create_dataset("latents/values", data=values)
    return Written(path, DSPRITES, DSPRITES_KINDS, pictures)


def _dsprites(sizes):
    images = np.stack([draw_bits(values, 64, 64) for values in np.ndindex(*sizes)])
    classes = product([range(1), *(range(size) for size in sizes)])
    pictures = 255 * images.reshape(*sizes, 64, 64, 1)
    return images, pictures, classes, classes.astype(float) + 1
