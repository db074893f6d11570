"""Codes and factors from a file that anyone may have written."""

import zipfile
import zlib
from pathlib import Path

import numpy as np

from unknot.core.errors import DataError
from unknot.core.registry import nearest


def codes_and_factors(path: Path, member: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The arrays ``codes`` and ``factors`` of an npz file; pickles are never opened.

    Codes of several models, ``[models, n, z]``, need a ``member``.

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
            codes, factors = archive["codes"], archive["factors"]
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is not an npz file that can be read: {error}.") from error
    if codes.ndim == 3:
        if member is None or member >= len(codes):
            raise DataError(
                f"{path} has the codes of {len(codes)} models; choose one with --member, from 0 on."
            )
        codes = codes[member]
    return codes, factors


def held_arrays(path: Path, member: int | None = None) -> tuple[np.ndarray, np.ndarray] | None:
    """The arrays ``codes_test`` and ``factors_test`` of a file that `codes_and_factors` has read.

    Raises:
        DataError: One of the two is missing.
    """
    with np.load(path, allow_pickle=False) as archive:
        found = [name for name in ("codes_test", "factors_test") if name in archive.files]
        if not found:
            return None
        if len(found) == 1:
            raise DataError(f"{path} has {found[0]} but no other half of a test set beside it.")
        codes, factors = archive["codes_test"], archive["factors_test"]
    return codes[member] if codes.ndim == 3 and member is not None else codes, factors


def logvars(path: Path, member: int | None = None) -> np.ndarray | None:
    """The log-variances in a file that `codes_and_factors` has read; ``None`` if it holds none."""
    with np.load(path, allow_pickle=False) as archive:
        if "logvars" not in archive.files:
            return None
        found: np.ndarray = archive["logvars"]
    return found[member] if found.ndim == 3 and member is not None else found
