"""One process at a time in a folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from unknot.core.errors import StoreError, WriteError
from unknot.core.files import reason

MOMENT = 0.2
"""Seconds to wait at least: `is_held` holds a free lock for a moment to find out."""


@contextmanager
def hold(folder: Path, refusal: str, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a folder for this process; the system releases it however the process ends.

    Args:
        folder: Made where it is missing.
        refusal: The message for a second process.
        patience: Seconds to wait until the other process leaves.
    """
    lock = FileLock(folder / ".lock", timeout=max(patience, MOMENT))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise StoreError(refusal) from error
    except OSError as error:
        raise WriteError(f"Could not write to {folder}: {reason(error)}.") from error
    try:
        yield
    finally:
        lock.release()


def is_held(folder: Path) -> bool:
    """Whether some process holds a folder; False where that cannot be known."""
    if not (file := folder / ".lock").exists():
        return False
    try:
        with FileLock(file, timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False
