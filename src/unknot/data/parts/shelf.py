"""A shelf of decoded images in the cache folder: ``images/KEY`` with pixels and facts.

A key is a hash of names, sizes and times of the files and of what was made of them, so other files
have another key. An entry appears whole or not at all. Unlike in `cache`, pixels are not hashed at
each opening, since they may be more than memory holds; their number is checked.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.errors import WriteError
from unknot.core.files import atomic_path
from unknot.data.parts import cache

FORMAT = 1
PIXELS, FACTS = "pixels.bin", "facts.json"


@dataclass(frozen=True)
class Entry:
    """An entry: pixels ``[n, c, h, w]``, mapped from the disk, and what is known of them."""

    pixels: np.ndarray
    facts: dict[str, Any]


def make_key(*parts: Any) -> str:
    """A name for what plain values describe."""
    text = json.dumps([FORMAT, *parts], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def recall(key: str) -> Entry | None:
    """An entry that is there and whole."""
    try:
        path = cache.folder() / "images" / key
        facts = json.loads((path / FACTS).read_text(encoding="utf-8"))
        pixels = np.memmap(path / PIXELS, facts["dtype"], "r").reshape(facts["shape"])
    except (OSError, ValueError, KeyError, TypeError, RuntimeError):
        return None
    return Entry(pixels, facts)


def put(
    key: str, chunks: Iterable[np.ndarray], facts: Callable[[], dict[str, Any]], size: int
) -> Entry:
    """Write an entry chunk by chunk, and open it.

    Args:
        key: Its name.
        chunks: Pixels ``[some, c, h, w]``, one chunk after the other.
        facts: What is known of them at the end, as plain values.
        size: Bytes of all pixels, for the message when there is no room.

    Raises:
        WriteError: There is no room for it, or the cache folder cannot be written.
    """
    folder = _folder() / key
    shape, dtype, count = (0,), "uint8", 0
    try:
        with atomic_path(folder) as part:
            part.mkdir()
            with (part / PIXELS).open("xb") as file:
                for chunk in chunks:
                    file.write(np.ascontiguousarray(chunk).data)
                    count += len(chunk)
                    shape, dtype = (count, *chunk.shape[1:]), str(chunk.dtype)
            record = {**facts(), "shape": shape, "dtype": dtype}
            (part / FACTS).write_text(json.dumps(record), encoding="utf-8")
    except WriteError as error:
        raise WriteError(
            f"The decoded images need {size / 1e6:,.0f} MB in the cache folder {folder.parent}: "
            f"{str(error).rpartition(': ')[2]} Set UNKNOT_CACHE to a folder with room."
        ) from error
    if (entry := recall(key)) is None:
        raise WriteError(f"The decoded images in {folder} cannot be read back; check the disk.")
    return entry


def recall_facts(key: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Facts that take a while to find, from the cache where they are there.

    They are small: where nothing can be written they are found again the next time.
    """
    try:
        path = _folder() / f"{key}.json"
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, WriteError):
        record = find()
        try:
            with atomic_path(_folder() / f"{key}.json") as part:
                part.write_text(json.dumps(record), encoding="utf-8")
        except WriteError:
            pass
    return record


def _folder() -> Path:
    try:
        return cache.folder() / "images"
    except RuntimeError as error:
        raise WriteError(f"{error} Set UNKNOT_CACHE to a folder that can be written.") from error
