"""Files that may be packed with gzip, read whole."""

import gzip
import zlib
from pathlib import Path

from unknot.core.errors import DataError
from unknot.core.files import os_reason


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
