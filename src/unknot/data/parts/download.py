"""Files of published datasets by HTTP: several addresses, resumed where cut, checked before use."""

import errno
import hashlib
import http.client
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias
from urllib import request
from urllib.error import HTTPError
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from unknot.core.errors import DataError, WriteError
from unknot.core.files import os_reason, write_whole

CHUNK = 1 << 20
TIMEOUT = 30.0
"""Seconds without a byte."""
ROUNDS = 5
"""How often all addresses are tried again while transfers are cut but get further."""

Progress: TypeAlias = Callable[[int], None]
"""Is told how many bytes are there."""


@dataclass(frozen=True)
class Source:
    """A file of a published dataset and where it is.

    Args:
        file: Its name.
        addresses: Where it can be had, tried in turn; all give the same bytes.
        size: In bytes, where it is known.
        about: Roughly how many bytes, where it is not.
        sha256: Published checksum, if any.
        md5: Published checksum of the older kind, if any.
        page: Where a person can get the file with a browser.
        note: What else to know, as a sentence.
    """

    file: str
    addresses: tuple[str, ...] = ()
    size: int | None = None
    about: int = 0
    sha256: str = ""
    md5: str = ""
    page: str = ""
    note: str = ""


def drive_address(file: str) -> str:
    """Where Google Drive gives a file, unless too many have asked for it."""
    return f"https://drive.usercontent.google.com/download?id={file}&export=download&confirm=t"


def drive_page(file: str) -> str:
    """Where a person gets a file of Google Drive."""
    return f"https://drive.google.com/file/d/{file}/view"


class RefusedError(Exception):
    """An address that did not give the file; the message is the reason."""


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
        if source.size and source.size - _size(part_path(path)) > free:
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


def verify(source: Source, path: Path) -> str:
    """The SHA-256 of a file whose checksum is the published one, or the one first seen.

    What was checked is noted beside the file with its size and time, and not read again.

    Raises:
        DataError: It has another checksum.
    """
    record, facts = _record(path), path.stat()
    same = (record.get("bytes"), record.get("mtime_ns")) == (facts.st_size, facts.st_mtime_ns)
    if same and source.sha256 in ("", record["sha256"]):
        return str(record["sha256"])
    try:
        sha256 = _check(source, path, pinned=str(record.get("sha256", "")))
    except DataError as error:
        way = (
            "remove it and get it again"
            if source.sha256 or source.md5 or not record
            else (f"if it may change, delete {record_path(path)}")
        )
        raise DataError(f"{error}; {way}. It is {path}.") from error
    with suppress(WriteError):  # a folder that others keep
        _write_record(path, sha256)
    return sha256


def record_path(path: Path) -> Path:
    """Where the checksum of a file is noted."""
    return path.with_name(f"{path.name}.checked.json")


def part_path(path: Path) -> Path:
    """Where the beginning of a file waits for the rest."""
    return path.with_name(f".{path.name}.part")


def _origin(path: Path) -> Path:
    return path.with_name(f".{path.name}.part.json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _writing(source: Source, folder: Path) -> Iterator[None]:
    """What the system refuses to write, in one line; a full disk keeps nothing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _forget(folder / source.file)
        raise WriteError(f"Could not write {folder / source.file}: {os_reason(error)}.") from error


def _forget(path: Path) -> None:
    for leftover in (part_path(path), _origin(path)):
        leftover.unlink(missing_ok=True)


def _try_addresses(source: Source, path: Path, progress: Progress) -> None:
    problems = dict.fromkeys(source.addresses, "")
    for _ in range(ROUNDS):
        before = _size(part_path(path))
        for address in source.addresses:
            try:
                sha256 = _try_address(source, address, path, progress)
            except RefusedError as error:
                problems[address] = str(error)
                continue
            part_path(path).replace(path)
            _forget(path)
            _write_record(path, sha256)
            return
        if _size(part_path(path)) <= before:
            break
    reasons = "; ".join(f"{address}: {problem}" for address, problem in problems.items())
    by_hand = f" Open {source.page} in a browser and save it as {path}." if source.page else ""
    raise DataError(f"Could not get {source.file} ({reasons or 'no direct address'}).{by_hand}")


def _try_address(source: Source, address: str, path: Path, progress: Progress) -> str:
    """The checksum of the partial file, which is whole and right; else RefusedError."""
    resumed = _size(part_path(path)) > 0
    try:
        _transfer(source, address, path, progress)
        return _check_part(source, path)
    except RefusedError:
        if not resumed or part_path(path).exists():
            raise
    # What we had did not fit what came: once more from the start.
    _transfer(source, address, path, progress)
    return _check_part(source, path)


def _transfer(source: Source, address: str, path: Path, progress: Progress) -> None:
    """Write what is missing of the partial file."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise RefusedError("not an http address")
    headers = {"User-Agent": "unknot", "Accept-Encoding": "identity"}
    start, etag = _size(part_path(path)), _etag(path, address)
    if start and (etag or source.sha256 or source.md5):
        headers["Range"] = f"bytes={start}-"
        if etag:  # the server sends all of it again if it is another file now
            headers["If-Range"] = etag
    try:
        asked = request.Request(address, headers=headers)  # noqa: S310 (the scheme is checked)
        answer = _opener().open(asked, timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == 416:  # there is nothing behind what we have
            _forget(path)
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
    origin = _json(_origin(path))
    etag = str(origin.get("etag") or "")
    return etag if origin.get("address") == address and not etag.startswith("W/") else ""


def _check_part(source: Source, path: Path) -> str:
    try:
        return _check(source, part_path(path), pinned=str(_record(path).get("sha256", "")))
    except DataError as error:
        _forget(path)
        raise RefusedError(str(error)) from error


def _check(source: Source, path: Path, *, pinned: str) -> str:
    sha256, md5 = _digests(path)
    if source.sha256:
        kind, wanted, came = "published sha256", source.sha256, sha256
    elif source.md5:
        kind, wanted, came = "published md5", source.md5, md5
    else:
        kind, wanted, came = "sha256 of its first download", pinned or sha256, sha256
    if wanted != came:
        raise DataError(
            f"{source.file} is damaged or another file: the {kind} is {wanted}, this is {came}"
        )
    return sha256


def _digests(path: Path) -> tuple[str, str]:
    sha256, md5 = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while data := file.read(CHUNK):
            sha256.update(data)
            md5.update(data)
    return sha256.hexdigest(), md5.hexdigest()


def _record(path: Path) -> dict[str, object]:
    return _json(record_path(path))


def _write_record(path: Path, sha256: str) -> None:
    facts = path.stat()
    record = {"sha256": sha256, "bytes": facts.st_size, "mtime_ns": facts.st_mtime_ns}
    write_whole(record_path(path), json.dumps(record))


def _json(path: Path) -> dict[str, object]:
    """A small note of ours; empty if it is not there or not whole."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
