"""Files of published datasets: where they can be had, and whether they are the right ones."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unknot.core.border import parse_json
from unknot.core.errors import DataError, WriteError
from unknot.core.files import read_whole, write_whole


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


def drive_source(file: str, key: str, **facts: Any) -> Source:
    """A file that Google Drive gives, unless too many have asked for it.

    Args:
        file: Its name.
        key: What Google Drive calls it.
        facts: Further facts of the source.
    """
    address = f"https://drive.usercontent.google.com/download?id={key}&export=download&confirm=t"
    page = f"https://drive.google.com/file/d/{key}/view"
    return Source(file, (address,), page=page, **facts)


def hosted_source(file: str, hosts: Sequence[str], size: int, sha256: str) -> Source:
    """A file that lies under its name in folders of several hosts."""
    return Source(file, tuple(host + file for host in hosts), size=size, sha256=sha256)


CHUNK = 1 << 20


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
        sha256 = check(source, path, pinned=pinned_sum(path))
    except DataError as error:
        way = (
            "remove it and get it again"
            if source.sha256 or source.md5 or not record
            else (f"if it may change, delete {record_path(path)}")
        )
        raise DataError(f"{error}; {way}. It is {path}.") from error
    with suppress(WriteError):  # a folder that others keep
        write_record(path, sha256)
    return sha256


def record_path(path: Path) -> Path:
    """Where the checksum of a file is noted."""
    return path.with_name(f"{path.name}.checked.json")


def check(source: Source, path: Path, *, pinned: str) -> str:
    """The SHA-256 of a file; refuses one with another checksum than it should have.

    Args:
        source: Says which checksum is published.
        path: The file, or all of it under another name.
        pinned: The SHA-256 of its first download, where none is published.
    """
    sha256, md5 = _digests(path)
    if source.sha256:
        kind, expected, actual = "published sha256", source.sha256, sha256
    elif source.md5:
        kind, expected, actual = "published md5", source.md5, md5
    else:
        kind, expected, actual = "sha256 of its first download", pinned or sha256, sha256
    if expected != actual:
        raise DataError(
            f"{source.file} is damaged or another file: the {kind} is {expected}, this is {actual}"
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
    return read_note(record_path(path))


def pinned_sum(path: Path) -> str:
    """The SHA-256 that was noted of a file; empty if none was."""
    return str(_record(path).get("sha256", ""))


def write_record(path: Path, sha256: str) -> None:
    """Note the checksum of a file beside it."""
    facts = path.stat()
    record = {"sha256": sha256, "bytes": facts.st_size, "mtime_ns": facts.st_mtime_ns}
    write_whole(record_path(path), json.dumps(record))


def read_note(path: Path) -> dict[str, object]:
    """A small note of ours; empty if it is not there or not whole."""
    try:
        value = parse_json(read_whole(path))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
