"""Files of published datasets, and where they can be had."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
