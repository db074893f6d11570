"""Files and folders that appear whole or not at all, whenever the process is killed."""

import contextlib
import errno
import glob
import hashlib
import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from unknot.core.errors import StoreError, WriteError
from unknot.core.text import shown

LONGEST_STEM = 60
"""Characters that a name may take in the name of a file."""
PAGE_MARK = b"Written by unknot"
"""In the pages that we write."""
TAKEN = (errno.EEXIST, errno.ENOTEMPTY)
"""What a system says where a new name is that of something else."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What it says where a file has no room."""
TRIES = 10
"""Of putting a folder where other processes do so too."""
ABANDONED = 3600.0
"""Seconds after which a partial file counts as left by a process that was killed."""


def reach(stage: str, path: Path) -> None:
    """Called at each stage of each write; tests put one in its place that ends the process."""


@contextmanager
def atomic_path(path: Path, name: str = "", *, new: bool = False) -> Iterator[Path]:
    """A hidden path beside ``path``: what stands there at the end is moved to ``path``.

    Whatever is written there, a file or a folder, is on the disk before it is moved. Several
    processes may do this at once, also on different machines that share a disk.

    Args:
        path: The file or folder to write; its parents are made.
        name: What to call it in the message of an error; the path unless given.
        new: Keep what another command put there in the meantime; an empty folder may be there.

    Raises:
        WriteError: It could not be written.
        StoreError: It should be new, and something is there.
    """
    refuse_special(path)
    part = path.with_name(f".{path.name[:LONGEST_STEM]}.{uuid.uuid4().hex}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        reach("begun", path)
        yield part
        _sync(part)
        reach("written", path)
        if new:
            _add(part, path)
        elif part.is_dir():
            _exchange(part, path)
        else:
            part.replace(path)
        _sync_folder(path.parent)
        reach("renamed", path)
    except OSError as error:
        raise WriteError(f"Could not write {name or path}: {os_reason(error)}.") from error
    except WriteError as error:  # of a file inside, by a name that nobody knows
        if part.name not in str(error):
            raise
        reason = str(error).rpartition(": ")[2]
        raise WriteError(f"Could not write {name or path}: {reason}") from error
    finally:
        remove(part)


def write_whole(path: Path, data: bytes | str, *, new: bool = False) -> None:
    """Write a file that appears whole or not at all; text as UTF-8.

    A pipe or a device, ``/dev/stdout`` for one, is written into instead of being replaced.

    Args:
        path: The file.
        data: What is in it.
        new: Keep what another command put there in the meantime.
    """
    content = data.encode() if isinstance(data, str) else data
    if is_special(path):
        try:
            path.write_bytes(content)
        except OSError as error:
            raise WriteError(f"Could not write {path}: {os_reason(error)}.") from error
        return
    with atomic_path(path, new=new) as part:
        part.write_bytes(content)


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files into a folder, or into folders of it (``figures/mig.png``); gives their paths."""
    paths = [inside(folder, *name.split("/")) for name in files]
    for path, data in zip(paths, files.values(), strict=True):
        write_whole(path, data)
    return paths


def check_page(folder: Path, page: str) -> None:
    """Refuse a folder with a page or a study file that somebody else wrote there.

    Args:
        folder: That is written to.
        page: The file in it that shows the others, and says who wrote it.

    Raises:
        StoreError: There is one, or a folder, a pipe or a link in its place.
    """
    file = inside(folder, page)
    try:
        refuse_special(file)
        ours = PAGE_MARK in read_whole(file)[:4096]
    except FileNotFoundError:
        ours, file = False, folder / "study.toml"  # our pages have one beside them
    except OSError as error:
        raise StoreError(
            f"{file} is no page: {os_reason(error)}; choose another folder."
        ) from error
    if not ours and file.exists():
        raise StoreError(f"{file} is not of a page that unknot wrote; choose another folder.")


def is_special(path: Path) -> bool:
    """Whether a path is a pipe, a device or a socket: neither a file nor a folder."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # not there, or no path at all
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def refuse_special(path: Path) -> None:
    """Refuse to replace a pipe or a device by a file."""
    if is_special(path):
        raise WriteError(f"{path} is a pipe or a device, not a file; choose another path.")


def open_file(path: Path) -> BinaryIO:
    """A file, opened to read its bytes.

    Raises:
        OSError: It cannot be read, or is a pipe or a device, which may never end.
    """
    if is_special(path):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file", str(path))
    try:
        return path.open("rb")
    except ValueError as error:  # a NUL in its name
        raise OSError(errno.EINVAL, "no name of a file", str(path)) from error


def read_whole(path: Path) -> bytes:
    """The content of a file that anyone may have put there.

    Raises:
        OSError: It cannot be read, or is a pipe or a device, which may never end.
    """
    with open_file(path) as file:
        return file.read()


def check_folder(path: Path) -> None:
    """Refuse a path where no folder can be made: a file, inside of one, a link to nothing.

    Raises:
        StoreError: It is one of these, or no name of a folder at all.
    """
    try:
        for place in path.parents:  # what is behind it appears when the folder before it is made
            if place.name == ".." and not place.exists():
                raise StoreError(f"{place} is not there; write {path} without '..'.")
        for place in (path, *path.parents):
            if place.is_dir():
                return
            if place.exists() or place.is_symlink():
                raise StoreError(f"{place} is a file, not a folder; choose another with --out.")
    except (OSError, ValueError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        raise StoreError(
            f"{shown(str(path))} cannot be a folder: {reason}; choose another with --out."
        ) from error


def unpack_hint(path: Path) -> str:
    """What to do with a zip file where a folder is read; empty for anything else."""
    if path.suffix != ".zip" or not path.is_file():
        return ""
    return f" Unpack an archive first: `unzip {path} -d {path.stem}`."


def file_stem(name: str) -> str:
    """A name from a table or a setting as part of a file's name, whatever it holds.

    Letters, digits, dashes and underscores stay, and a dot becomes a dash. Where more has to
    change, a few digits of the name's hash keep different names apart.

    Example:
        >>> [file_stem(name) for name in ("beta_vae", "objective.beta", "../../x", "β = 4")]
        ['beta_vae', 'objective-beta', 'x-fa0a4f', '4-7a4589']
    """
    plain = name.replace(".", "-")
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", plain)
    if slug == plain and 0 < len(slug) <= LONGEST_STEM:
        return slug
    digits = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=3).hexdigest()
    return f"{slug.strip('-')[:LONGEST_STEM]}-{digits}".lstrip("-")


def inside(folder: Path, *names: str) -> Path:
    """The path of a name in a folder, or in folders of it; refuses whatever leads elsewhere.

    Names come from files that anyone may have written.

    Example:
        >>> inside(Path("study"), "populations", "0a1b").as_posix()
        'study/populations/0a1b'
        >>> inside(Path("study"), "../elsewhere")
        Traceback (most recent call last):
        ...
        unknot.core.errors.StoreError: '../elsewhere' is not a name of something in study.
    """
    path = folder
    for name in names:
        if name in ("", ".", "..") or {*name} & {"/", "\\", "\0", ":"}:
            raise StoreError(f"{name!r} is not a name of something in {folder}.")
        path = path / name
        if path.is_symlink():
            raise StoreError(_no_link(path))
    return path


def refuse_links(folder: Path, *inner: str) -> None:
    """Refuse a folder of ours that has links or pipes in it, which we would never make.

    One from somewhere else could lead what is written there to any other place. The folder itself
    may be a link, as is common on clusters.

    Args:
        folder: Looked at if it is there.
        inner: Folders in it that are looked at as well.
    """
    for path in (folder, *(folder / name for name in inner)):
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(path) as files:
            for file in files:
                if file.is_symlink():
                    raise StoreError(_no_link(Path(file.path)))
                if not (file.is_file() or file.is_dir()):  # reading a pipe would never end
                    raise StoreError(f"{file.path} is a pipe or a device, not a file; remove it.")


def _no_link(path: Path) -> str:
    return (
        f"{path} is a link, which unknot does not follow here; put what it leads to in its place."
    )


def remove(part: Path) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    if part.is_dir():
        shutil.rmtree(part, ignore_errors=True)
    with contextlib.suppress(OSError):
        part.unlink()


def os_reason(error: OSError) -> str:
    """Why the system refused, as the end of a sentence.

    Example:
        >>> os_reason(OSError(28, "No space left on device"))
        'no space left on device'
    """
    text = error.strerror or str(error)
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        text = str(error.args[0][0][-1])  # of the first file; as text, with its number and path
        text = re.sub(r"^\[Errno \d+\] ([^:]+)(: .*)?$", r"\1", text)
    elif error.errno and text != os.strerror(error.errno) and "[errno" in text.lower():
        text = os.strerror(error.errno)  # of a library that says more than is wanted
    return text[:1].lower() + text[1:]


def _add(part: Path, path: Path) -> None:
    """Give a part its name, where nothing else has it."""
    try:
        if not part.is_dir():
            try:
                path.hardlink_to(part)  # unlike a rename it replaces nothing
            except OSError:  # a disk without hard links, or it is there
                if path.exists():
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            else:
                return
        part.replace(path)
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        raise StoreError(
            f"Another command wrote {path} in the meantime; choose another name."
        ) from error


def _exchange(part: Path, path: Path) -> None:
    """Put a folder in the place of another, which is removed when the new one is there."""
    for _ in range(TRIES):
        old = path.with_name(f".{path.name[:LONGEST_STEM]}.{uuid.uuid4().hex}.part")
        try:
            with contextlib.suppress(FileNotFoundError):
                path.replace(old)
            part.replace(path)
        except OSError as error:
            if error.errno not in TAKEN:
                if old.exists():
                    old.replace(path)
                raise
        else:
            return
        finally:
            remove(old)
    part.replace(path)  # raises what is wrong


def _sync(path: Path) -> None:
    """Wait until a file, or a folder with all its files, is on the disk."""
    if path.is_dir():
        for inner in path.iterdir():
            _sync(inner)
        _sync_folder(path)
        return
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Wait until the entries of a folder are on the disk; Windows has no such call."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_abandoned(path: Path) -> None:
    for part in path.parent.glob(f".{glob.escape(path.name[:LONGEST_STEM])}.*.part"):
        with contextlib.suppress(OSError):  # another process may remove it too
            if time.time() - part.stat().st_mtime > ABANDONED:
                remove(part)
