"""Picture files as one array: looked through, decoded on all cores, put on the shelf."""

import hashlib
import math
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.errors import DataError
from unknot.core.files import os_reason, read_whole
from unknot.data.parts import shelf
from unknot.data.parts.decoding import (
    ENDINGS,
    Header,
    Target,
    decode,
    decoding_threads,
    read_header,
)
from unknot.data.parts.reading import Options, Reading, describe, plan
from unknot.data.parts.shelf import Progress
from unknot.data.parts.trees import refuse_disk

FEWEST, STRETCH = 0.01, 100_000
"""A folder whose files are pictures in a smaller share, of so many or more, is none of pictures."""
CHUNK = 256
"""Images decoded between two writes."""
NO_FILE = (-1, -1)


@dataclass(frozen=True)
class Pictures:
    """Encoded pictures: their names, and how to get the bytes of each."""

    source: str
    """Where they are, for messages."""
    listing: str
    """Names them in the cache, by names, sizes and times of files."""
    names: Sequence[str]
    fetch: Callable[[int], bytes]
    file: Callable[[int], bytes | Path]
    """What a header is read from: a path, of which the beginning is enough."""


def _picture_paths(path: Path) -> list[Path]:
    """Picture files below a folder; whole disks and homes are not walked to their ends."""
    refuse_disk(path)
    files: list[Path] = []
    seen = 0
    for folder, _, names in os.walk(path):
        place = Path(folder).relative_to(path)
        files += [place / name for name in names if Path(name).suffix.lower() in ENDINGS]
        seen += len(names)
        if seen >= STRETCH and len(files) < FEWEST * seen:
            raise DataError(
                f"Among the first {seen:,} files in '{path}' are too few pictures "
                f"({len(files):,}); name the folder that the pictures are in."
            )
    return files


def folder_pictures(path: Path, limit: int | None) -> Pictures:
    """All picture files of a folder and its subfolders, in the order of their paths.

    Hidden ones are other programs' own.

    Raises:
        DataError: There are none.
    """
    files = _picture_paths(path)
    visible = [f for f in files if not any(p.startswith((".", "__MACOSX")) for p in f.parts)]
    if not visible:
        kinds = ", ".join(ending[1:] for ending in ENDINGS)
        raise DataError(f"'{path}' has no pictures; put some into it ({kinds}).")
    names = sorted(file.as_posix() for file in visible)[:limit]
    facts = [(name, *_facts(path / name)) for name in names]
    # What is no file counts as a broken picture: a pipe would never end.
    no_files = {row for row, fact in enumerate(facts) if fact[1:] == NO_FILE}
    listing = shelf.make_key(str(path.absolute()), facts)

    def fetch(row: int) -> bytes:
        if row in no_files:
            return b""
        try:
            return read_whole(path / names[row])
        except OSError as error:
            raise DataError(f"Cannot read '{path / names[row]}': {os_reason(error)}.") from error

    def file(row: int) -> bytes | Path:
        return b"" if row in no_files else path / names[row]

    return Pictures(str(path), listing, names, fetch, file)


def _facts(path: Path) -> tuple[int, int]:
    """Size and time of a file; of a pipe, a device or a dead link, that it is none."""
    try:
        status = path.stat()
    except OSError:
        return NO_FILE
    return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else NO_FILE


def read_pictures(pictures: Pictures, options: Options, on_progress: Progress) -> Reading:
    """Pictures as one array, from the shelf if they were decoded before.

    Args:
        pictures: Where they are.
        options: What the images are to be.
        on_progress: Told after each chunk that is decoded.

    Raises:
        DataError: One is broken, or they do not go together.
        WriteError: There is no room to keep them.
    """
    key = f"headers-{pictures.listing}"
    survey = shelf.recall_facts(key, lambda: _survey(pictures))
    headers = {Header(**fields): count for fields, count in survey["headers"]}
    _check_broken(survey["broken"], options, pictures)
    if not headers:
        raise DataError(f"All {len(pictures.names)} pictures in '{pictures.source}' are broken.")
    target = plan(headers, options, pictures.source)
    key = shelf.make_key(pictures.listing, asdict(target))
    entry = shelf.recall(key) or _decode(key, pictures, target, options, on_progress)
    _check_broken(entry.facts["broken"], options, pictures)
    broken = {*entry.facts["broken"]}
    return Reading(
        entry.pixels,
        entry.facts["content"],
        describe(headers, target, len(broken)),
        tuple(name for name in pictures.names if name not in broken),
    )


def _survey(pictures: Pictures) -> dict[str, Any]:
    """Headers and how often each comes, and the names of broken files."""

    def look(row: int) -> Header | None:
        try:
            return read_header(pictures.file(row))
        except ValueError:
            return None

    with decoding_threads() as run:
        headers = list(run(look, range(len(pictures.names))))
    counts = Counter(header for header in headers if header)
    pairs = zip(pictures.names, headers, strict=True)
    return {
        "headers": [(asdict(header), count) for header, count in counts.items()],
        "broken": [name for name, header in pairs if header is None],
    }


def _decode(
    key: str, pictures: Pictures, target: Target, options: Options, on_progress: Progress
) -> shelf.Entry:
    content, broken = hashlib.sha256(), list[str]()
    rows = range(len(pictures.names))

    def read(row: int) -> tuple[bytes, np.ndarray | None]:
        data = pictures.fetch(row)
        try:
            return hashlib.sha256(data).digest(), decode(data, target)
        except ValueError:
            return b"", None

    def chunks() -> Iterator[np.ndarray]:
        with decoding_threads() as run:
            for start in rows[::CHUNK]:
                some = rows[start : start + CHUNK]
                images = []
                for row, (digest, image) in zip(some, run(read, some), strict=True):
                    if image is None:
                        broken.append(pictures.names[row])
                        _check_broken(broken, options, pictures)
                        continue
                    content.update(digest)
                    images.append(image)
                if images:
                    yield np.stack(images)
                on_progress(some.stop, len(rows))

    def facts() -> dict[str, Any]:
        return {"content": content.hexdigest()[:32], "broken": broken}

    size = len(rows) * math.prod(target.shape) * np.dtype(target.depth).itemsize
    return shelf.put(key, chunks(), facts, size)


def _check_broken(names: Sequence[str], options: Options, pictures: Pictures) -> None:
    if names and not options.skip_broken:
        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        raise DataError(
            f"Cannot read the picture '{names[0]}' in '{pictures.source}'{more}; replace it, or "
            "leave it out with --skip-broken (skip_broken = true)."
        )
