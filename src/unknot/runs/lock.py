"""One process at a time in a folder."""

import contextlib
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from unknot.core.errors import StoreError, WriteError
from unknot.core.files import inside, os_reason

MOMENT = 0.2
"""Seconds to wait at least: `is_held` holds a free lock for a moment to find out."""
FILE = ".lock"


@contextmanager
def hold(folder: Path, refusal: str, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a folder for this process; the system releases it however the process ends.

    Args:
        folder: Made where it is missing.
        refusal: The message for a second process.
        patience: Seconds to wait until the other process leaves.
    """
    lock = FileLock(_file(folder), timeout=max(patience, MOMENT))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise StoreError(refusal) from error
    except OSError as error:
        raise WriteError(f"Could not write to {folder}: {os_reason(error)}.") from error
    try:
        yield
    finally:
        lock.release()


def is_held(folder: Path) -> bool:
    """Whether some process holds a folder; False where that cannot be known."""
    if not (file := _file(folder)).exists():
        return False
    try:
        with FileLock(file, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


def _file(folder: Path) -> Path:
    """The file that is locked.

    Some releases of filelock empty it, so it must be no other file under a second name.
    """
    file = inside(folder, FILE)
    with contextlib.suppress(OSError):
        facts = file.stat()
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
            raise StoreError(f"{file} is not a lock of unknot; remove it, then try again.")
    return file
