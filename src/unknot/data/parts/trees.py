"""Packed files, read without unpacking them: many in a folder or archive, or one under gzip."""

import gzip
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from unknot.core.errors import DataError
from unknot.core.files import os_reason, read_whole


@dataclass(frozen=True)
class Tree:
    """Files by their paths inside, with ``/`` between folders, in the order of the archive."""

    names: tuple[str, ...]
    read: Callable[[str], bytes]


@contextmanager
def open_tree(path: Path, what: str) -> Iterator[Tree]:
    """The files of a folder, a zip or a tar archive.

    Args:
        path: Where it is.
        what: What it should be, for messages: "the archive of Cars3D".

    Raises:
        DataError: It is missing, damaged or something else.
    """
    try:
        if path.is_dir():
            refuse_disk(path)
            files = sorted(p for p in path.rglob("*") if p.is_file())
            names = tuple(p.relative_to(path).as_posix() for p in files)
            yield Tree(names, lambda name: read_whole(path / name))
        elif zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                yield Tree(tuple(n for n in archive.namelist() if n[-1] != "/"), archive.read)
        else:
            with tarfile.open(path) as tar:
                members = {m.name.removeprefix("./"): m for m in tar if m.isfile()}
                yield Tree(tuple(members), lambda name: _read_member(tar, members[name]))
    except OSError as error:
        raise DataError(f"Cannot read {what} '{path}': {os_reason(error)}.") from error
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError) as error:
        raise DataError(f"'{path}' is not {what} or is damaged; fetch it again.") from error


def refuse_disk(path: Path) -> None:
    """Refuse the root of all files, which would take minutes to look through."""
    if (whole := path.resolve()) == Path(whole.anchor):
        raise DataError(f"'{path}' is a whole disk; name the folder that the data is in.")


def tree_files(path: Path) -> list[Path]:
    """What a cache of a tree depends on: the archive, or a folder and all that is in it.

    Folders too: their times alone tell that two of them were exchanged.
    """
    if not path.is_dir():
        return [path]
    refuse_disk(path)
    return [path, *sorted(p for p in path.rglob("*") if p.is_file() or p.is_dir())]


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    data = file.read() if file else b""
    if len(data) != member.size:
        raise EOFError(f"{member.name} ends early")
    return data


def read_packed(file: Path) -> bytes:
    """The bytes of a file, unpacked if its name ends in ``.gz``.

    Raises:
        DataError: It cannot be read or is damaged.
    """
    try:
        with gzip.open(file) if file.suffix == ".gz" else file.open("rb") as opened:
            return opened.read()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"'{file}' is damaged ({error}); fetch it again.") from error
    except OSError as error:
        raise DataError(f"Cannot read '{file}': {os_reason(error)}.") from error
