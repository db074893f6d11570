"""Folders for temporary files, which go when a process ends."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unknot.core.errors import WriteError
from unknot.core.files import os_reason

PREFIX = "unknot-"
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def scratch_folder() -> Path:
    """A folder that goes when the process ends."""
    if not _KEPT:
        _KEPT.append(tempfile.TemporaryDirectory(prefix=PREFIX))
    return Path(_KEPT[0].name)


@contextmanager
def writes_scratch(what: str) -> Iterator[None]:
    """Say of a write that is refused what it was for, and where room is wanted.

    Args:
        what: As in "Could not ...".
    """
    try:
        yield
    except (WriteError, OSError) as error:
        reason = os_reason(error) if isinstance(error, OSError) else str(error).rpartition(": ")[2]
        raise WriteError(
            f"Could not {what} in the folder for temporary files, {_place()}: "
            f"{reason.rstrip('.')}; set TMPDIR to a folder with room."
        ) from error


def _place() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:  # none can be written to
        return "of which there is none"
