"""The bytes of a file from one address by HTTP: resumed where a transfer was cut."""

import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeAlias
from urllib import request
from urllib.error import HTTPError
from urllib.parse import urlsplit

from unknot.data.parts.sources import Source
from unknot.data.parts.verification import read_note

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
