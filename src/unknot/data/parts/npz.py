"""Arrays of an npz archive, read a few rows at a time and without pickles."""

import hashlib
import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib.npyio import NpzFile

from unknot.core.errors import DataError
from unknot.core.memory import check_memory
from unknot.data.parts.images import BAD_ARCHIVE

HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@contextmanager
def open_archive(path: Path, what: str) -> Iterator[zipfile.ZipFile]:
    """An npz archive; whatever is wrong with it or its arrays is one line about the file.

    Args:
        path: The archive.
        what: What it should be, for the message: "the dSprites archive".
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except OSError as error:
        raise DataError(f"Cannot read {what} '{path}': {error.strerror or error}.") from error
    except KeyError as error:
        name = str(error.args[0]).split("'")[1].removesuffix(".npy")
        raise DataError(f"'{path}' has no array '{name}'; it is not {what}.") from error
    except BAD_ARCHIVE as error:
        raise DataError(
            f"'{path}' is not {what} or is damaged ({error}); fetch it again."
        ) from error


def read_rows(
    archive: zipfile.ZipFile,
    name: str,
    shape: tuple[int, ...],
    rows: int,
    digest: "hashlib._Hash | None" = None,
) -> Iterator[np.ndarray]:
    """An array of bytes, so many rows at a time.

    Args:
        archive: Where it lies.
        name: Of the array.
        shape: That it must have.
        rows: How many at a time.
        digest: Told all bytes of the npy file, its header too.

    Raises:
        ValueError: It is another array than expected.
        EOFError: It ends early.
    """
    with archive.open(f"{name}.npy") as file:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError(f"'{name}' has another npy version than 1.0")
        came, fortran, dtype = np.lib.format.read_array_header_1_0(file)
        if came != shape or fortran or dtype != np.uint8:
            raise ValueError(f"'{name}' should be uint8 {shape}; got {dtype} {came}")
        if digest:
            length = file.tell()
            file.seek(0)
            digest.update(file.read(length))
        width = int(np.prod(shape[1:]))
        for start in range(0, shape[0], rows):
            count = min(rows, shape[0] - start)
            data = file.read(count * width)
            if len(data) != count * width:
                raise EOFError(f"'{name}' ends early")
            if digest:
                digest.update(data)
            yield np.frombuffer(data, np.uint8).reshape(count, *shape[1:])
        if file.read(1):  # reading to the end is also what makes zipfile compare the checksum
            raise ValueError(f"'{name}' holds more than its header says")


def open_arrays(raw: BinaryIO) -> NpzFile:
    """The arrays of an npz file by name, read when they are asked for.

    Raises:
        ValueError: It is another file; numpy would read an npy file as well, whatever its size.
    """
    if not zipfile.is_zipfile(raw):
        raise ValueError("it is not an archive")
    raw.seek(0)
    file: NpzFile = np.load(raw, allow_pickle=False)
    return file


def read_member(file: NpzFile, name: str) -> np.ndarray:
    """An array of an open npz file, unless its header claims more than file or memory have.

    Raises:
        ValueError: It is damaged, or no array of plain values.
        DataError: It does not fit into memory.
    """
    archive: zipfile.ZipFile = file.zip  # type: ignore[assignment]
    member = name if name in archive.namelist() else f"{name}.npy"
    with archive.open(member) as raw:
        version = np.lib.format.read_magic(raw)
        if version not in HEADERS:
            raise ValueError(f"'{name}' has the npy version {version}")
        shape, _, dtype = HEADERS[version](raw)
        size = raw.tell() + math.prod(shape) * dtype.itemsize
    if size > archive.getinfo(member).file_size and not dtype.hasobject:
        raise ValueError(f"'{name}' is shorter than its header says")
    check_memory(size, f"'{name}' in '{getattr(archive.fp, 'name', 'the archive')}'")
    array: np.ndarray = file[name]
    return array


def read_array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A small array of plain values.

    Raises:
        ValueError: It is another array than expected, or has objects.
    """
    with archive.open(f"{name}.npy") as file:
        if np.lib.format.read_magic(file) == (1, 0):
            came, _, dtype = np.lib.format.read_array_header_1_0(file)
            if came != shape:
                raise ValueError(f"'{name}' should have the shape {shape}; got {dtype} {came}")
    with archive.open(f"{name}.npy") as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
    if array.shape != shape:
        raise ValueError(f"'{name}' should have the shape {shape}; got {array.shape}")
    return array
