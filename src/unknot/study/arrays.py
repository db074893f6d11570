"""Codes and factors from a file that anyone may have written."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from unknot.core.errors import DataError
from unknot.core.registry import nearest


def codes_and_factors(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The arrays ``codes`` and ``factors`` of an npz file; pickles are never opened.

    Raises:
        DataError: The file is missing, damaged, or holds no such arrays.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path} holds one array; expected an npz with codes and factors.")
            for name in ("codes", "factors"):
                if name not in archive.files:
                    raise DataError(f"{path} has no array '{name}'{nearest(name, archive.files)}")
            return archive["codes"], archive["factors"]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is not an npz file that can be read: {error}.") from error
