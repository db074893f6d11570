"""Arrays of images in files: npy, npz and HDF5; a key behind ``::`` names one of several."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.errors import DataError
from unknot.core.files import open_file, os_reason
from unknot.core.registry import nearest
from unknot.data.parts import shelf
from unknot.data.parts.hdf5 import check_whole, is_hdf5, open_hdf5
from unknot.data.parts.images import BAD_ARCHIVE
from unknot.data.parts.npz import open_arrays, read_member

COMPANIONS = ("factors", "names", "kinds")
"""Arrays of an npz file that go with its images."""
ARRAYS = (".npy", ".npz", ".h5", ".hdf5")
KINDS = ", ".join(ending[1:] for ending in (*ARRAYS, ".parquet"))
"""Of files with images, for messages."""


@dataclass(frozen=True)
class Opened:
    """An array as a file has it, and the factors that came with it."""

    array: Any
    key: str | None
    """Names it in the cache; None for what is in memory already."""
    factors: np.ndarray | None = None
    names: np.ndarray | None = None
    kinds: np.ndarray | None = None
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Labels that were asked for, by name."""


def split_key(text: str) -> tuple[Path, str]:
    """A path and the key behind ``::``, if any.

    Example:
        >>> path, key = split_key("shapes.h5::images")
        >>> path.name, key
        ('shapes.h5', 'images')
    """
    path, _, key = text.partition("::")
    return Path(path).expanduser(), key


@contextmanager
def open_array(path: Path, name: str = "", labels: Sequence[str] = ()) -> Iterator[Opened]:
    """The array of a file: the one that is named, else ``images``, else the only one.

    Args:
        path: The file.
        name: Of the array.
        labels: Names of other arrays, one label for each image.

    Raises:
        DataError: There is no such file or array, or it is damaged.
    """
    try:
        open_file(path).close()  # refuses a pipe, which may never end
        stat = path.stat()
        key = shelf.make_key(str(path.absolute()), name, stat.st_size, stat.st_mtime_ns)
        if path.suffix.lower() == ".npy":
            if labels:
                raise DataError(f"'{path}' has no labels; give a CSV file of them.")
            yield Opened(_map_npy(path), key)
        elif path.suffix.lower() == ".npz":
            yield _read_npz(path, name, labels)
        elif path.suffix.lower() not in ARRAYS and not is_hdf5(path):
            raise DataError(f"Expected a folder of pictures or a file ({KINDS}); got '{path}'.")
        else:
            with open_hdf5(path, "an HDF5 file") as file:

                def read(name: str) -> Any:
                    check_whole(file[name])
                    return file[name][()]

                columns = _labels(read, _datasets(file), labels, path)
                others = [n for n in _datasets(file) if n not in labels]
                array = file[_pick(others, name, path)]
                check_whole(array)
                yield Opened(array, key, columns=columns)
    except OSError as error:
        raise DataError(f"Cannot read '{path}': {os_reason(error)}.") from error


def _map_npy(path: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except BAD_ARCHIVE as error:
        raise DataError(
            f"'{path}' is damaged or not an npy file of a plain array (no objects); "
            "write it with numpy.save."
        ) from error
    if not isinstance(array, np.ndarray):  # an archive under another name
        raise DataError(f"'{path}' is no npy file; an archive of arrays ends in npz.")
    return array


def _read_npz(path: Path, name: str, labels: Sequence[str]) -> Opened:
    """The named array and the factors; others are left closed."""
    try:
        with path.open("rb") as raw, open_arrays(raw) as file:
            others = [n for n in file if n not in (*COMPANIONS, *labels)]
            choice = _pick(others, name, path)
            factors, names, kinds = (
                read_member(file, n) if n in file else None for n in COMPANIONS
            )
            columns = _labels(lambda n: read_member(file, n), [*file], labels, path)
            return Opened(read_member(file, choice), None, factors, names, kinds, columns)
    except (*BAD_ARCHIVE, AttributeError) as error:
        raise DataError(
            f"'{path}' is damaged or not an npz file of plain arrays (no objects); "
            "write it with numpy.savez(path, images=...)."
        ) from error


def _labels(
    read: Callable[[str], Any], there: Sequence[str], names: Sequence[str], path: Path
) -> dict[str, np.ndarray]:
    columns = {}
    for name in names:
        if name not in there:
            raise DataError(f"'{path}' has no label '{name}'{nearest(name, [*there])}")
        column = np.asarray(read(name))
        if column.ndim != 1 or column.dtype.kind not in "OSUbiuf":
            raise DataError(
                f"'{name}' in '{path}' should have one label for each image; its shape is "
                f"{column.shape}."
            )
        if column.dtype.kind == "O":  # HDF5 gives texts of any length as bytes
            column = np.array([c.decode() if isinstance(c, bytes) else c for c in column], object)
        columns[name] = np.char.decode(column, "utf-8") if column.dtype.kind == "S" else column
    return columns


def _datasets(file: Any) -> list[str]:
    """Names of all arrays in an HDF5 file, those in groups with their path."""
    names: list[str] = []
    file.visititems(lambda name, thing: names.append(name) if hasattr(thing, "dtype") else None)
    return names


def _pick(names: list[str], name: str, path: Path) -> str:
    choice = name or ("images" if "images" in names else names[0] if len(names) == 1 else "")
    if choice in names:
        return choice
    if not names:
        raise DataError(f"'{path}' has no arrays; write images into it.")
    listed = ", ".join(sorted(names))
    problem = f"no array '{name}'" if name else "several arrays and none called 'images'"
    raise DataError(f"'{path}' has {problem}; it holds {listed}. Name one: {path}::{min(names)}.")
