"""Codes and factors as a file: ours for others, and those that anyone may have written."""

import io
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError
from unknot.core.files import write_whole
from unknot.core.registry import nearest
from unknot.runs import config
from unknot.runs.run import MOST_ROWS, Run

NAMES = ("codes", "factors", "logvars", "codes_test", "factors_test")
OF_MODELS = ("codes", "logvars", "codes_test")
"""Arrays that may hold several models, ``[models, n, z]``."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """What a file holds of one model."""

    codes: np.ndarray
    factors: np.ndarray | None = None
    logvars: np.ndarray | None = None
    test: tuple[np.ndarray, np.ndarray] | None = None
    """Codes and factors of test rows."""


def read(path: Path, model: int | None = None) -> Arrays:
    """The arrays of an npz file by the names of `NAMES`; pickles are never opened.

    Codes of several models, ``[models, n, z]``, need a ``model``, and those of one have none.
    """
    arrays = _read_known(path)
    models = arrays["codes"].shape[:-2]
    for name in [name for name in OF_MODELS if name in arrays]:
        if arrays[name].shape[:-2] != models:
            raise DataError(
                f"{path} has {name} of shape {arrays[name].shape} and codes of shape "
                f"{arrays['codes'].shape}; expected the same models in both."
            )
    if len(models) == 1:
        if model is None or model >= models[0]:
            raise DataError(
                f"{path} has the codes of {models[0]} models; choose one with --model, from 0 on."
            )
        arrays = {n: array[model] if n in OF_MODELS else array for n, array in arrays.items()}
    elif model is not None:
        raise DataError(f"{path} has the codes of one model; leave out --model.")
    halves = [name for name in ("codes_test", "factors_test") if name in arrays]
    if len(halves) == 1:
        raise DataError(f"{path} has {halves[0]} but no other half of a test set beside it.")
    test = (arrays["codes_test"], arrays["factors_test"]) if halves else None
    return Arrays(arrays["codes"], arrays.get("factors"), arrays.get("logvars"), test)


def _read_known(path: Path) -> dict[str, np.ndarray]:
    """The arrays of our names; others stay unread."""
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataError(f"{path} holds one array; expected an npz with codes and factors.")
        with archive:
            if "codes" not in archive.files:
                raise DataError(f"{path} has no array 'codes'{nearest('codes', archive.files)}")
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


def rows_to_encode(dataset: FactorDataset, rows: int | None, seed: int = 0) -> Int[Tensor, " n"]:
    """All rows of a dataset, or so many random ones."""
    size = len(dataset)
    if rows is None:
        if size > MOST_ROWS:
            raise ConfigError(
                f"The dataset has {size:,} images; choose how many to encode with --rows."
            )
        return torch.arange(size)
    if rows > MOST_ROWS:
        raise ConfigError(f"--rows can be at most {MOST_ROWS:,} (memory); got {rows:,}.")
    return noise.integers(seed, "encode", 0, rows, high=size)


def other_images(run: Run, path: Path) -> FactorDataset:
    """Images that a run was not trained on, in its size and with its standardisation.

    Args:
        run: Whose encoder they are for.
        path: A folder of pictures, or a file of arrays.
    """
    channels, height, width = run.dataset.shape
    size = [height, width]
    table = {"name": "images", "path": str(path), "size": size, "channels": channels}
    loaded: FactorDataset = config.data(table).settings.load()
    return replace(loaded, mean=run.dataset.mean, std=run.dataset.std)


def write(
    run: Run,
    index: Int[Tensor, " n"],
    path: Path,
    *,
    dataset: FactorDataset | None = None,
    on_rows: Callable[[int], None],
) -> tuple[int, ...]:
    """Write codes and factors of rows as an npz file that `read` reads.

    Args:
        run: Encodes.
        index: Row numbers.
        path: The file.
        dataset: Whose rows they are; the run's own unless given.
        on_rows: Told how many are done.

    Returns:
        The shape of the codes.
    """
    dataset = run.dataset if dataset is None else dataset.to(run.training.context.runtime.device)
    q, space = run.posteriors(index, dataset=dataset, on_rows=on_rows), dataset.space
    arrays: dict[str, Any] = {
        "codes": q.mean.numpy(),
        "logvars": q.logvar.numpy(),
        "index": index.numpy(),
    }
    if not space.stands_in:
        arrays["factors"] = space.factors(index).numpy().astype(np.int32)
        arrays["names"] = np.array(space.names)
    data = io.BytesIO()
    np.savez(data, **arrays)
    write_whole(path, data.getvalue())
    return tuple(q.mean.shape)
