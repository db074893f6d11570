"""One process at a time in a folder."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unknot.core.errors import StoreError, WriteError


@contextmanager
def held(folder: Path, refusal: str, *, patience: float = 0.0) -> Iterator[None]:
    """Hold a folder for this process; the system lets go of it however the process ends.

    Args:
        folder: Made where it is missing.
        refusal: The message for who comes second.
        patience: Seconds to wait for the other to leave.

    Raises:
        StoreError: Another process holds it.
        WriteError: The disk refused.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise WriteError(f"Could not write to {folder}: {error.strerror}.") from error
    with file:
        try:
            import fcntl
        except ImportError:  # not on this system: the user must take care
            yield
            return
        until = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError as error:
                if time.monotonic() >= until:
                    raise StoreError(refusal) from error
                time.sleep(0.05)
        yield


def is_held(folder: Path) -> bool:
    """Whether some process holds a folder; False where that cannot be known."""
    try:
        import fcntl

        with (folder / ".lock").open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False
