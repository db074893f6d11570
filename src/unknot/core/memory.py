"""Memory of this machine: whether something fits before it is read."""

import os
from contextlib import suppress
from pathlib import Path

from unknot.core.errors import DataError

LINUX = Path("/proc/meminfo")


def free_memory() -> int | None:
    """Bytes that a process can still take; None where the system does not say."""
    with suppress(OSError):
        for line in LINUX.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    with suppress(OSError, ValueError, AttributeError):  # all there is, where nobody counts
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def check_memory(size: int, what: str) -> None:
    """Refuse to read what does not fit into memory.

    Args:
        size: In bytes.
        what: That is to be read, as the beginning of a message.

    Raises:
        DataError: It does not fit.
    """
    free = free_memory()
    if free is not None and size > free:
        raise DataError(
            f"{what} takes {size / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB of memory are free; "
            "save fewer rows of it, or use a machine with more memory."
        )
