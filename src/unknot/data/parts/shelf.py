"""Decoded images in the cache folder: ``ROOM/KEY`` with pixels and facts.

A key is a hash of names, sizes and times of the files and of what was made of them, so other files
have another key. A room is ``images`` for those of users, or the name of a published dataset. An
entry is written from front to back and appears whole or not at all. Blocks of its pixels are hashed
at each opening, and all of them where they are few; a truncated or altered one is made again.
"""

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from unknot.core.border import parse_json
from unknot.core.errors import WriteError
from unknot.core.files import atomic_path, read_whole
from unknot.data.parts import cache

Progress: TypeAlias = Callable[[int, int], None]
"""Is told how many images are decoded, and of how many."""
FORMAT = 1
PIXELS, FACTS = "pixels.bin", "facts.json"
USERS = "images"
"""The room of users' own images."""
FULLY_HASHED = 1 << 28
"""Bytes up to which all pixels are hashed; of more, a block at each step."""
BLOCK, STEP = 1 << 20, 1 << 26


@dataclass(frozen=True)
class Entry:
    """An entry: pixels ``[n, c, h, w]``, mapped from the disk, and what is known of them."""

    pixels: np.ndarray
    facts: dict[str, Any]


def make_key(*parts: Any) -> str:
    """A name for what plain values describe."""
    text = json.dumps([FORMAT, *parts], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def recall(key: str, room: str = USERS) -> Entry | None:
    """An entry that is there and sound."""
    try:
        path = cache.folder() / room / key
        entry = _open(path)
        sound = entry and entry.facts.get("digest") == _digest(path / PIXELS)
    except (OSError, RuntimeError):  # files that vanish; a user without a home
        return None
    return entry if sound else None


def put(
    key: str,
    chunks: Iterable[np.ndarray],
    facts: Callable[[], dict[str, Any]],
    size: int,
    room: str = USERS,
) -> Entry:
    """Write an entry chunk by chunk, and open it.

    Args:
        key: Its name.
        chunks: Pixels ``[some, c, h, w]``, one chunk after the other.
        facts: What is known of them at the end, as plain values.
        size: Bytes of all pixels, for the message when there is no room.
        room: Where it is put.

    Raises:
        WriteError: There is no room for it, or the cache folder cannot be written.
    """
    folder = _folder(room) / key
    shape, dtype, count = (0,), "uint8", 0
    try:
        with atomic_path(folder) as part:
            part.mkdir()
            with (part / PIXELS).open("xb") as file:
                for chunk in chunks:
                    file.write(np.ascontiguousarray(chunk).data)
                    count += len(chunk)
                    shape, dtype = (count, *chunk.shape[1:]), str(chunk.dtype)
            record = {**facts(), "shape": shape, "dtype": dtype, "digest": _digest(part / PIXELS)}
            (part / FACTS).write_text(json.dumps(record), encoding="utf-8")
    except WriteError as error:
        raise WriteError(
            f"The decoded images need {size / 1e6:,.0f} MB in the cache folder {folder.parent}: "
            f"{str(error).rpartition(': ')[2]} Set UNKNOT_CACHE to a folder with room."
        ) from error
    if (entry := _open(folder)) is None:
        raise WriteError(f"The decoded images in {folder} cannot be read back; check the disk.")
    return entry


def recall_facts(key: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Facts that take a while to find, from the cache where they are there.

    They are small: where nothing can be written they are found again the next time.
    """
    try:
        path = _folder(USERS) / f"{key}.json"
        record: dict[str, Any] = parse_json(read_whole(path))
    except (OSError, ValueError, WriteError):
        record = find()
        try:
            with atomic_path(_folder(USERS) / f"{key}.json") as part:
                part.write_text(json.dumps(record), encoding="utf-8")
        except WriteError:
            pass
    return record


def _open(path: Path) -> Entry | None:
    """An entry that is there in full, as far as its size tells."""
    try:
        facts = parse_json(read_whole(path / FACTS))
        pixels = np.memmap(path / PIXELS, facts["dtype"], "r").reshape(facts["shape"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Entry(pixels, facts)


def _folder(room: str) -> Path:
    try:
        return cache.folder() / room
    except RuntimeError as error:  # a user without a home
        raise WriteError(f"{error} Set UNKNOT_CACHE to a folder that can be written.") from error


def _digest(path: Path) -> str:
    """SHA-256 of the size and the blocks of a file."""
    size = path.stat().st_size
    digest = hashlib.sha256(size.to_bytes(8, "big"))
    step = BLOCK if size <= FULLY_HASHED else STEP
    with path.open("rb") as file:
        for start in [*range(0, size, step), max(size - BLOCK, 0)]:
            file.seek(start)
            digest.update(file.read(BLOCK))
    return digest.hexdigest()
