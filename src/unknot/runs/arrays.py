"""Codes and factors from a file that anyone may have written."""

import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unknot.core.errors import DataError
from unknot.core.registry import nearest

NAMES = ("codes", "factors", "logvars", "codes_test", "factors_test")
OF_MODELS = ("codes", "logvars", "codes_test")
"""Arrays that may hold several models, ``[models, n, z]``."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """What a file holds of one model."""

    codes: np.ndarray
    factors: np.ndarray
    logvars: np.ndarray | None = None
    test: tuple[np.ndarray, np.ndarray] | None = None
    """Codes and factors of test rows."""


def read(path: Path, member: int | None = None) -> Arrays:
    """The arrays of an npz file by the names of `NAMES`; pickles are never opened.

    Codes of several models, ``[models, n, z]``, need a ``member``, and those of one have none.
    """
    arrays = _read_known(path)
    models = arrays["codes"].shape[:-2]
    for name in [name for name in OF_MODELS if name in arrays]:
        if arrays[name].shape[:-2] != models:
            raise DataError(
                f"{path} has {name} of shape {arrays[name].shape} beside codes of shape "
                f"{arrays['codes'].shape}; expected the same models in both."
            )
    if len(models) == 1:
        if member is None or member >= models[0]:
            raise DataError(
                f"{path} has the codes of {models[0]} models; choose one with --member, from 0 on."
            )
        arrays = {n: array[member] if n in OF_MODELS else array for n, array in arrays.items()}
    elif member is not None:
        raise DataError(f"{path} has the codes of one model; leave out --member.")
    halves = [name for name in ("codes_test", "factors_test") if name in arrays]
    if len(halves) == 1:
        raise DataError(f"{path} has {halves[0]} but no other half of a test set beside it.")
    test = (arrays["codes_test"], arrays["factors_test"]) if halves else None
    return Arrays(arrays["codes"], arrays["factors"], arrays.get("logvars"), test)


def _read_known(path: Path) -> dict[str, np.ndarray]:
    """The arrays of our names; others stay unread."""
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataError(f"{path} holds one array; expected an npz with codes and factors.")
        with archive:
            for name in ("codes", "factors"):
                if name not in archive.files:
                    raise DataError(f"{path} has no array '{name}'{nearest(name, archive.files)}")
            arrays = {name: archive[name] for name in NAMES if name in archive.files}
    except FileNotFoundError as error:
        raise DataError(f"There is no file {path}.") from error
    except ValueError as error:  # whatever is no array looks like a pickle to NumPy, which says so
        raise DataError(
            f"{path} holds no plain arrays; expected an npz with codes and factors."
        ) from error
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is not an npz file that can be read: {error}.") from error
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # any zip opens, with what is no array as bytes
            raise DataError(f"{path} holds something else than an array as '{name}'.")
    return arrays
