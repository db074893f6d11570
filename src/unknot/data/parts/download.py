"""Files of published datasets by HTTP: several addresses, resumed where cut, checked before use."""

import http.client
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeAlias
from urllib import request
from urllib.error import HTTPError
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from unknot.core.errors import DataError, DownloadError, WriteError
from unknot.core.files import NO_ROOM, os_reason
from unknot.data.parts.sources import Source, check, pinned_sum, read_note, verify, write_record

CHUNK = 1 << 20
TIMEOUT = 30.0
"""Seconds without a byte."""

Progress: TypeAlias = Callable[[int], None]
"""Is told how many bytes are there."""


class RefusedError(Exception):
    """An address that did not give the file; the message is the reason."""


def part_path(path: Path) -> Path:
    """Where the beginning of a file waits for the rest."""
    return path.with_name(f".{path.name}.part")


def _origin(path: Path) -> Path:
    return path.with_name(f".{path.name}.part.json")


def part_size(path: Path) -> int:
    """How many bytes of a file are there so far."""
    part = part_path(path)
    return part.stat().st_size if part.exists() else 0


def forget(path: Path) -> None:
    """Remove the beginning of a file."""
    for leftover in (part_path(path), _origin(path)):
        leftover.unlink(missing_ok=True)


def transfer(source: Source, address: str, path: Path, progress: Progress) -> None:
    """Write what is missing of the partial file."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise RefusedError("not an http address")
    headers = {"User-Agent": "unknot", "Accept-Encoding": "identity"}
    start, etag = part_size(path), _etag(path, address)
    if start and (etag or source.sha256 or source.md5):
        headers["Range"] = f"bytes={start}-"
        if etag:  # the server sends all of it again if it is another file now
            headers["If-Range"] = etag
    try:
        question = request.Request(address, headers=headers)  # noqa: S310 (the scheme is checked)
        answer = _opener().open(question, timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == 416:  # there is nothing behind what we have
            forget(path)
        raise RefusedError(f"{error.code} {error.reason}") from error
    except (OSError, http.client.HTTPException) as error:
        raise RefusedError(str(getattr(error, "reason", error)) or type(error).__name__) from error
    with answer:
        if answer.status != 206:
            start = 0
        total = _total(source, answer, start)
        origin = {"address": address, "etag": answer.headers.get("ETag")}
        _origin(path).write_text(json.dumps(origin))
        with part_path(path).open("ab" if start else "wb") as file:
            for data in _read(answer):
                _write(file, data)
                start += len(data)
                progress(start)
    if total is not None and start != total:
        raise RefusedError(f"cut after {start:,} of {total:,} bytes")


def _opener() -> request.OpenerDirector:
    """HTTP and HTTPS through the proxies of the environment, and no other scheme."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPRedirectHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _total(source: Source, answer: http.client.HTTPResponse, start: int) -> int | None:
    """Bytes of the whole file, as the server says; RefusedError if that is another file."""
    if answer.headers.get_content_type() == "text/html":
        raise RefusedError("a web page came, not the file")
    length = answer.headers.get("Content-Length")
    total = start + int(length) if length else None
    if None not in (total, source.size) and total != source.size:
        raise RefusedError(f"it has {total:,} bytes, not {source.size:,}")
    return total if total is not None else source.size


def _read(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while data := answer.read1(CHUNK):
            yield data
    except (OSError, http.client.HTTPException) as error:
        raise RefusedError(str(error) or type(error).__name__) from error


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)


def _etag(path: Path, address: str) -> str:
    """What the server called the partial file; empty if it came from elsewhere."""
    origin = read_note(_origin(path))
    etag = str(origin.get("etag") or "")
    return etag if origin.get("address") == address and not etag.startswith("W/") else ""


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
        if error.errno in NO_ROOM:
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
