"""Files compared with their checksums: the published one, or the one first seen."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path

from unknot.core.border import parse_json
from unknot.core.errors import DataError, WriteError
from unknot.core.files import write_whole
from unknot.data.parts.sources import Source

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
        value = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
