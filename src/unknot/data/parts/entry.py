"""Which dataset reads a user's file or folder."""

from unknot.core.errors import DataError
from unknot.data.parts.array_files import ARRAYS, split_key

FILES = (*ARRAYS, ".parquet")


def entry_for(text: str) -> str | None:
    """The dataset that reads what is at a path; None for a word that is no path.

    Example:
        >>> entry_for("dsprits") is None
        True

    Raises:
        DataError: It looks like a path, and there is nothing, or nothing that can be read.
    """
    path, key = split_key(text)
    if path.is_dir():
        return "images"
    if path.is_file():
        if path.suffix.lower() not in FILES:
            endings = ", ".join(ending[1:] for ending in FILES)
            raise DataError(f"Expected a folder of pictures or a file ({endings}); got '{path}'.")
        return "images"
    if key or "/" in text or "\\" in text or path.suffix.lower() in FILES:
        raise DataError(f"There is no file or folder '{path}'.")
    return None
