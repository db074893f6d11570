"""The exception tree.

UnknotError                 anything this library refuses or fails to do
├── ConfigError             a setting: unknown name, wrong type, out of range
├── DataError               a dataset or an array: missing, foreign, NaN, wrong range
│   └── DownloadError       a file could not be fetched; the next try begins where this one ended
├── ShapeError              a tensor whose shape does not fit
└── StoreError              a run folder or a checkpoint: missing, foreign, occupied
    ├── DamageError         a file of ours is not what was written; the message has the way back
    └── WriteError          a file could not be written; nothing half-written is left
"""

from pathlib import Path
from typing import ClassVar

from unknot.core.text import plain, shorten

LONGEST_MESSAGE = 1_500
"""Characters; values in messages come from anywhere."""


_NAMES: dict[str, str] = {}


def name_in_messages(folder: Path, name: str) -> None:
    """Have messages call a temporary folder by what is in it, such as an archive."""
    _NAMES[str(folder)] = name


class UnknotError(Exception):
    """Base of all errors raised on purpose; the message is one line for people to act on."""

    exit_code: ClassVar[int] = 2

    def __str__(self) -> str:
        """One line that any terminal prints as it is, whatever the values in it hold."""
        text = super().__str__()
        for folder, name in _NAMES.items():
            text = text.replace(folder, name)
        return shorten(plain(" ".join(text.splitlines())), LONGEST_MESSAGE)


class ConfigError(UnknotError):
    """A setting is unknown, of the wrong type or out of range."""


class DataError(UnknotError):
    """A dataset or an array is missing, foreign or holds values it must not hold."""


class DownloadError(DataError):
    """A file could not be fetched; a part of it stays, and the next try begins there."""

    exit_code: ClassVar[int] = 1


class ShapeError(UnknotError):
    """A tensor's shape does not fit what was asked."""


class StoreError(UnknotError):
    """A run folder or a checkpoint is missing, foreign or already occupied."""


class DamageError(StoreError):
    """A file that this library wrote is not what it wrote; the message has the way back."""


class WriteError(StoreError):
    """A file could not be written; what was there before is untouched."""

    exit_code: ClassVar[int] = 1
