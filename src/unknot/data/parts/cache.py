"""Arrays that are made once and then shared: one file each in the cache folder.

A file holds the bytes of the array and, at its end, their SHA-256. All of it is hashed at each
opening (0.2 to 1 s for 377 MB): much less than making most arrays again, and it also brings the
pages into memory. A truncated or altered file is then made again and never used. The file is
mapped copy-on-write, so processes share one copy in memory and none of them can damage it.
"""

import hashlib
import math
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import platformdirs
from jaxtyping import UInt8

from unknot.core.errors import WriteError
from unknot.core.files import atomic_path

DIGEST = hashlib.sha256().digest_size


def folder() -> Path:
    """Where files are kept: ``UNKNOT_CACHE``, or ``unknot`` in the user's cache folder."""
    if path_text := os.environ.get("UNKNOT_CACHE"):
        return Path(path_text).expanduser()
    path = platformdirs.user_cache_path("unknot", appauthor=False)
    if not path.is_absolute():
        raise RuntimeError("The home folder could not be determined.")
    return path


def load_cached(
    name: str,
    build: Callable[[], UInt8[np.ndarray, "..."]],
    *,
    shape: tuple[int, ...],
    sha256: str,
) -> UInt8[np.ndarray, "..."]:
    """The array ``build`` makes, from the cache where it is there and sound.

    A folder that cannot be written costs a warning and nothing else: the array stays in memory.
    An array with another checksum than expected is used too, with a warning, because a maths
    library that rounds a tie the other way is no reason not to train.

    Args:
        name: The first part of the file's name.
        build: Makes the array; always the same bytes on one machine.
        shape: The shape of what ``build`` makes.
        sha256: Checksum of the bytes on the machines seen so far; a new recipe has a new one.
    """
    digest, array = _fetch(name, build, shape=shape, recipe=sha256[:16])
    if digest.hex() != sha256:
        warnings.warn(
            f"{name} as made on this machine has the sha256 {digest.hex()}, not {sha256}: "
            "a few values may have been rounded differently. It is used as it is.",
            stacklevel=2,
        )
    return array


def _fetch(
    name: str, build: Callable[[], np.ndarray], *, shape: tuple[int, ...], recipe: str
) -> tuple[bytes, np.ndarray]:
    """Checksum and array, mapped if possible and else in memory."""
    try:
        path = folder() / f"{name}-{recipe}.bin"
    except RuntimeError as error:  # a user without a home
        path, problem = Path(), str(error)
    else:
        if stored := _open(path, shape):
            return stored
        problem = ""
    array = build()
    digest = hashlib.sha256(array.data).digest()
    if not problem:
        try:
            with atomic_path(path) as part, part.open("xb") as file:
                file.write(array.data)
                file.write(digest)
            return digest, np.memmap(path, np.uint8, "c", shape=shape)
        except (WriteError, OSError) as error:
            problem = str(error)
    warnings.warn(
        f"{name} could not be cached, so it stays in memory and is made again next time. "
        f"{problem} Set UNKNOT_CACHE to a folder that can be written.",
        stacklevel=3,
    )
    return digest, array


def _open(path: Path, shape: tuple[int, ...]) -> tuple[bytes, np.ndarray] | None:
    """Checksum and mapped array of a sound file, None for anything else."""
    try:
        stored = np.memmap(path, np.uint8, "c")
    except (OSError, ValueError):  # not there or not readable; empty
        return None
    array, digest = stored[:-DIGEST], stored[-DIGEST:].tobytes()
    if array.size != math.prod(shape) or hashlib.sha256(array.data).digest() != digest:
        return None
    return digest, array.reshape(shape)
