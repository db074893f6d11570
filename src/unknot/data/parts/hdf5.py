"""Arrays of an HDF5 file, read by its own chunks."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.errors import ConfigError, DataError

LARGE = 1 << 28
"""Bytes to read at a time from a file without chunks."""


@contextmanager
def open_hdf5(path: Path, what: str) -> Iterator[Any]:
    """An HDF5 file; whatever is wrong with it or its arrays is one line about the file.

    Args:
        path: The file.
        what: What it should be, for the message: "the file of 3D Shapes".

    Raises:
        ConfigError: h5py is not installed.
        DataError: The file is missing, damaged or lacks an array.
    """
    try:
        import h5py
    except ImportError as error:
        raise ConfigError(
            f"'{path}' needs h5py; install it with: pip install 'unknot[data]'."
        ) from error
    try:
        with h5py.File(path, "r") as file:
            yield file
    except KeyError as error:
        raise DataError(f"'{path}' is not {what}: it lacks an array ({error.args[0]}).") from error
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        if isinstance(error, FileNotFoundError):
            raise DataError(f"Cannot read {what} '{path}': no such file.") from error
        raise DataError(f"'{path}' is not {what} or is damaged; fetch it again.") from error


def read_rows(file: Any, name: str, shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    """An array of bytes, as many rows at a time as its chunks have: each is unpacked once.

    Raises:
        ValueError: It is another array than expected.
    """
    array = _array(file, name, shape)
    if array.dtype != np.uint8:
        raise ValueError(f"'{name}' should be uint8; got {array.dtype}")
    rows = array.chunks[0] if array.chunks else max(LARGE // int(np.prod(shape[1:])), 1)
    for start in range(0, shape[0], rows):
        yield array[start : start + rows]


def read_table(file: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A small array.

    Raises:
        ValueError: It is another array than expected.
    """
    table: np.ndarray = _array(file, name, shape)[()]
    return table


def _array(file: Any, name: str, shape: tuple[int, ...]) -> Any:
    """An array that is all there, in this file."""
    array = file[name]
    if not hasattr(array, "shape"):
        raise ValueError(f"'{name}' should be an array")
    if array.shape != shape:
        raise ValueError(f"'{name}' should have the shape {shape}; got {array.shape}")
    if array.file != file or array.is_virtual or array.external:
        raise ValueError(f"'{name}' lies in another file")
    check_whole(array)
    return array


def is_hdf5(path: Path) -> bool:
    """Whether a file is one, whatever its name."""
    try:
        import h5py
    except ImportError:
        return False
    return bool(h5py.is_hdf5(path))


def check_whole(array: Any) -> None:
    """Refuse an array of which parts were never written: they would read as zeros, or never end.

    One that is made of arrays in other files is not looked at.

    Raises:
        DataError: Parts are not there.
    """
    if array.is_virtual or array.external:
        return
    if array.chunks:
        steps = zip(array.shape, array.chunks, strict=True)
        complete = array.id.get_num_chunks() == math.prod(-(-size // step) for size, step in steps)
    else:
        size = math.prod(array.shape) * array.dtype.itemsize
        complete = array.id.get_storage_size() >= size
    if not complete:
        raise DataError(
            f"'{array.name.strip('/')}' in '{array.file.filename}' is not written in full; its "
            f"shape is {array.shape}."
        )
