"""Files of published datasets by HTTP: several addresses, resumed where cut, checked before use."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from unknot.core.errors import DataError, DownloadError, WriteError
from unknot.core.files import os_reason
from unknot.data.parts.sources import Source
from unknot.data.parts.transfer import (
    Progress,
    RefusedError,
    forget,
    part_path,
    part_size,
    transfer,
)
from unknot.data.parts.verification import check, pinned_sum, verify, write_record

ROUNDS = 5
"""How often all addresses are tried again while transfers are cut but get further."""


def fetch(source: Source, folder: Path, progress: Progress | None = None) -> Path:
    """The file in a folder, downloaded unless it is there, and checked.

    A transfer that was cut resumes, also in a later call. The file gets its name
    when its checksum is right; where none is published, the first one seen is noted beside the
    file and holds from then on.

    Raises:
        DataError: No address gave the file, or what they gave has another checksum.
        WriteError: It could not be written; nothing of it is left.
    """
    path = folder / source.file
    if path.exists():
        verify(source, path)
        return path
    with _writing(source, folder):
        free = shutil.disk_usage(folder).free
        if source.size and source.size - part_size(path) > free:
            raise WriteError(
                f"{source.file} has {source.size:,} bytes and {folder} has room for {free:,}; "
                "make room or choose another folder with --to."
            )
        lock = FileLock(folder / f".{source.file}.lock")
        try:
            with lock.acquire(timeout=0):
                _try_addresses(source, path, progress or (lambda _: None))
        except Timeout as error:
            raise DataError(f"Another process is downloading {path}; wait for it.") from error
    return path


@contextmanager
def _writing(source: Source, folder: Path) -> Iterator[None]:
    """What the system refuses to write, in one line; a full disk keeps nothing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            forget(folder / source.file)
        raise WriteError(f"Could not write {folder / source.file}: {os_reason(error)}.") from error


def _try_addresses(source: Source, path: Path, progress: Progress) -> None:
    problems = dict.fromkeys(source.addresses, "")
    for _ in range(ROUNDS):
        before = part_size(path)
        for address in source.addresses:
            try:
                sha256 = _try_address(source, address, path, progress)
            except RefusedError as error:
                problems[address] = str(error)
                continue
            part_path(path).replace(path)
            forget(path)
            write_record(path, sha256)
            return
        if part_size(path) <= before:
            break
    reasons = "; ".join(f"{address}: {problem}" for address, problem in problems.items())
    other = f"Open {source.page} in a browser" if source.page else "Try again, or get it elsewhere"
    raise DownloadError(
        f"Could not get {source.file} ({reasons or 'no direct address'}). {other} and save it as "
        f"{path}."
    )


def _try_address(source: Source, address: str, path: Path, progress: Progress) -> str:
    """The checksum of the partial file, which is whole and right; else RefusedError."""
    resumed = part_size(path) > 0
    try:
        transfer(source, address, path, progress)
        return _check_part(source, path)
    except RefusedError:
        if not resumed or part_path(path).exists():
            raise
    # What we had did not fit what came: once more from the start.
    transfer(source, address, path, progress)
    return _check_part(source, path)


def _check_part(source: Source, path: Path) -> str:
    try:
        return check(source, part_path(path), pinned=pinned_sum(path))
    except DataError as error:
        forget(path)
        raise RefusedError(str(error)) from error
