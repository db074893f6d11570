"""Images decoded once from other files: a memory map of bytes in the cache folder.

Beside `cache`, for what is too large to be made in memory and to be hashed at each opening. A file
is named by what decides its content: the names, sizes and times of the files it was made from
(names with the folders in which they lie, where there are several), and the settings. It is written
from front to back and moved to its name when it is on the disk.
"""

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import UInt8

from unknot.core.errors import WriteError
from unknot.core.files import atomic_path
from unknot.data.parts import cache
from unknot.data.parts.images import Bytes

WHOLE = 1 << 30
"""Bytes up to which all of a file is hashed at opening; of a larger one, some blocks are."""
BLOCK, STEP = 1 << 20, 1 << 26


def map_images(
    name: str,
    files: Sequence[Path],
    settings: Mapping[str, Any],
    shape: tuple[int, int, int, int],
    chunks: Callable[[], Iterator[UInt8[np.ndarray, "rows c h w"]]],
) -> Bytes:
    """Images from the cache where they are there and sound, else made and put there.

    Args:
        name: The first part of the file's name.
        files: What they are made from; folders too, where these matter.
        settings: What else decides them, as plain values.
        shape: Of all images.
        chunks: Makes them, from the first row to the last.

    Raises:
        WriteError: They are too large for memory and cannot be written.
    """
    try:
        folder = cache.folder()
    except RuntimeError as error:  # a user without a home
        raise WriteError(f"{error} Set UNKNOT_CACHE to a folder for {name}.") from error
    path = folder / f"{name}-{_key(files, settings, shape)}.bin"
    size = math.prod(shape)
    if not _sound(path, size):
        try:
            with atomic_path(path) as part, part.open("xb+") as file:
                for chunk in chunks():
                    file.write(np.ascontiguousarray(chunk).data)
                if file.tell() != size:
                    raise AssertionError(f"{name} came to {file.tell():,} bytes, not {size:,}")
                file.flush()
                file.write(_digest(part, size))
        except WriteError as error:
            hint = f"{error} Set UNKNOT_CACHE to a folder with {size / 1e9:.1f} GB of room."
            if size > WHOLE:
                raise WriteError(hint) from error
            warnings.warn(f"{name} could not be cached and stays in memory. {hint}", stacklevel=2)
            stored = np.concatenate([*chunks()])
            return Bytes(torch.from_numpy(stored))
    return Bytes(torch.from_numpy(np.memmap(path, np.uint8, "c", shape=shape)))


def _key(files: Sequence[Path], settings: Mapping[str, Any], shape: tuple[int, ...]) -> str:
    # Files of different folders may have the same names.
    common = Path(os.path.commonpath(files))
    folder = common if common.is_dir() else common.parent
    stats = [(f.relative_to(folder).as_posix(), f.stat()) for f in files]
    facts = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
    text = json.dumps([facts, dict(settings), shape], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _sound(path: Path, size: int) -> bool:
    """Whether a file is there whole, as far as its blocks tell."""
    try:
        if path.stat().st_size != size + cache.DIGEST:
            return False
        with path.open("rb") as file:
            file.seek(size)
            return file.read() == _digest(path, size)
    except OSError:
        return False


def _digest(path: Path, size: int) -> bytes:
    """SHA-256 of the bytes of the images; of blocks of them where there are very many."""
    digest = hashlib.sha256(size.to_bytes(8, "big"))
    step = BLOCK if size <= WHOLE else STEP
    with path.open("rb") as file:
        for start in [*range(0, size, step), max(size - BLOCK, 0)]:
            file.seek(start)
            digest.update(file.read(min(BLOCK, size - start)))
    return digest.digest()
