"""Which dataset reads a user's file or folder."""

from pathlib import Path

from unknot.core.errors import DataError
from unknot.core.files import is_special, os_reason
from unknot.core.text import shown
from unknot.data.parts.array_files import ARRAYS, open_array, split_key
from unknot.data.parts.cells import H5AD
from unknot.data.parts.parquet import is_picture_table
from unknot.data.parts.tables import TEXTS

FILES = (*ARRAYS, ".parquet", *TEXTS, H5AD)


def entry_for(text: str) -> str | None:
    """The dataset that reads what is at a path; None for a word that is no path.

    Example:
        >>> entry_for("dsprits") is None
        True

    Raises:
        DataError: It looks like a path, and there is nothing, or nothing that can be read.
    """
    path, key = split_key(text)
    if text in ("", f"::{key}"):
        raise DataError(f"Expected the name of a dataset, a folder or a file; got '{text}'.")
    ending = path.suffix.lower()
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:  # a name that is too long, or a NUL in it
        reason = os_reason(error) if isinstance(error, OSError) else str(error)
        raise DataError(f"'{shown(text)}' cannot be opened: {reason}.") from error
    if is_special(path):
        raise DataError(f"'{path}' is a pipe or a device, not a file.")
    if path.is_dir():
        return "images"
    if path.is_file():
        if ending not in FILES:
            endings = ", ".join(name[1:] for name in FILES)
            raise DataError(f"Expected a folder of pictures or a file ({endings}); got '{path}'.")
        return "vectors" if _is_table(path, key) else "images"
    if key or "/" in text or "\\" in text or ending in FILES:
        raise DataError(f"There is no file or folder '{path}'.")
    return None


def _is_table(path: Path, key: str) -> bool:
    """Whether rows of a file are vectors rather than images."""
    ending = path.suffix.lower()
    if ending in (*TEXTS, H5AD):
        return True
    if ending == ".parquet":
        return not is_picture_table(path)
    with open_array(path, key) as opened:
        return len(opened.array.shape) == 2
