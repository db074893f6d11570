"""Codes and factors as a file: ours for others, and those that anyone may have written."""

import io
import json
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from numpy.lib.npyio import NpzFile
from torch import Tensor

from unknot.core import noise
from unknot.core.border import parse_json
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import FactorTable, as_table, fill_grid
from unknot.core.files import open_file, os_reason, write_whole
from unknot.core.registry import nearest
from unknot.core.representation import Representation
from unknot.data.parts.array_files import split_key
from unknot.data.parts.entry import FILES
from unknot.data.parts.grids import without_factors
from unknot.data.parts.images import are_measured
from unknot.data.parts.npz import read_member
from unknot.data.parts.scaling import set_scale
from unknot.data.parts.tables import TEXTS, read_frame, read_table
from unknot.data.parts.values import Values
from unknot.metrics.parts.tokens import tokens
from unknot.runs import config
from unknot.runs.inputs import as_images
from unknot.runs.run import MOST_ROWS, Run

NAMES = (
    *("codes", "factors", "logvars", "codes_test", "factors_test", "names", "kinds", "levels"),
    *("tokens", "tokens_test"),
)
OF_MODELS = ("codes", "logvars", "codes_test")
"""Arrays that may hold several models, ``[models, n, z]``."""


@dataclass(frozen=True, eq=False)
class Arrays:
    """What a file holds of one model."""

    codes: np.ndarray | Representation
    """With their factors, where all points of a grid are there."""
    factors: np.ndarray | FactorTable | None = None
    logvars: np.ndarray | Representation | None = None
    test: tuple[np.ndarray, np.ndarray | FactorTable] | None = None
    """Codes and factors of test rows."""


def read(path: Path, model: int | None = None, components: str | None = None) -> Arrays:
    """The arrays of an npz file by the names of `NAMES`; pickles are never opened.

    Codes of several models, ``[models, n, z]``, need a ``model``, and those of one have none.
    Vector tokens ``[n, t, d]`` become codes by so many principal ``components`` of each.
    """
    arrays = _as_codes(_read_known(path), path, components)
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
    plain = Arrays(arrays["codes"], arrays.get("factors"), arrays.get("logvars"))
    if halves:
        plain = replace(plain, test=(arrays["codes_test"], arrays["factors_test"]))
    return _described(plain, arrays, path) if {"factors", "kinds"} <= {*arrays} else plain


def _as_codes(
    arrays: dict[str, np.ndarray], path: Path, components: str | None
) -> dict[str, np.ndarray]:
    """Arrays with codes in place of tokens."""
    if "tokens" not in arrays:
        if components is not None:
            raise DataError(f"{path} has no array 'tokens'; leave out --components.")
        return arrays
    if "codes" in arrays:
        raise DataError(f"{path} has both codes and tokens; keep one of them.")
    test = arrays.pop("tokens_test", None)
    codes = tokens(arrays.pop("tokens"), test, components=components or "vct2022")
    if isinstance(codes, tuple):
        return {**arrays, "codes": codes[0], "codes_test": codes[1]}
    return {**arrays, "codes": codes}


def _described(plain: Arrays, arrays: dict[str, np.ndarray], path: Path) -> Arrays:
    """Arrays with the names, kinds and levels of factors that the file has."""
    factors, codes = arrays["factors"], torch.from_numpy(arrays["codes"])
    try:
        names, kinds = (tuple(arrays[name].tolist()) for name in ("names", "kinds"))
        levels = parse_json(str(arrays["levels"]))
        tables = [
            FactorTable(names, kinds, tuple(map(tuple, levels)), torch.from_numpy(array).long())
            for array in (factors, *(plain.test[1:] if plain.test else ()))
            if isinstance(array, np.ndarray)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"'names', 'kinds' and 'levels' in {path} do not describe its factors."
        ) from error
    if plain.test:
        return replace(plain, factors=tables[0], test=(plain.test[0], tables[1]))
    grid = fill_grid(tables[0])
    if grid is None or codes.ndim != 2 or len(codes) != tables[0].size:
        return replace(plain, factors=tables[0])
    space, order = grid
    logvars = arrays.get("logvars")
    return Arrays(
        Representation.whole(space, codes[order]),
        None,
        None if logvars is None else Representation.whole(space, torch.from_numpy(logvars)[order]),
    )


def _read_known(path: Path) -> dict[str, np.ndarray]:
    """The arrays of our names; others stay unread."""
    try:
        with open_file(path) as raw:  # numpy would leave a bad file open
            archive = np.load(raw, allow_pickle=False)
            if not isinstance(archive, NpzFile):
                raise DataError(f"{path} holds one array; expected an npz with codes and factors.")
            if not {"codes", "tokens"} & {*archive.files}:
                raise DataError(f"{path} has no array 'codes'{nearest('codes', archive.files)}")
            return {n: _read_plain(archive, n, path) for n in NAMES if n in archive.files}
    except FileNotFoundError as error:
        raise DataError(f"There is no file {path}.") from error
    except ValueError as error:  # whatever is no array looks like a pickle to NumPy, which says so
        raise DataError(
            f"{path} holds no plain arrays; expected an npz with codes and factors."
        ) from error
    except OSError as error:
        raise DataError(f"Cannot read {path}: {os_reason(error)}.") from error
    except (EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is not an npz file that can be read: {error}.") from error


def _read_plain(archive: NpzFile, name: str, path: Path) -> np.ndarray:
    try:
        return read_member(archive, name)
    except ValueError as error:  # any zip opens, whatever is in it
        raise DataError(f"{path} holds something else than a plain array as '{name}'.") from error


def rows_to_encode(dataset: FactorDataset, rows: int | None, seed: int = 0) -> Int[Tensor, " n"]:
    """All rows of a dataset, or so many random ones."""
    size = len(dataset)
    if rows is None:
        if size > MOST_ROWS:
            raise ConfigError(
                f"The dataset has {size:,} images; choose how many to encode with --rows."
            )
        return torch.arange(size)
    if rows > min(size, MOST_ROWS):
        reason = f"{dataset.name} has no more" if size < MOST_ROWS else "memory"
        most = min(size, MOST_ROWS)
        raise ConfigError(f"--rows can be at most {most:,} ({reason}); got {rows:,}.")
    return noise.integers(seed, "encode", 0, rows, high=size)


def other_images(run: Run, path: Path) -> FactorDataset:
    """Images or rows that a run was not trained on, in its size and with its standardisation.

    Args:
        run: Whose encoder they are for.
        path: A folder of pictures, a file of arrays, or a table with the columns of the run's.
    """
    if run.dataset.columns:
        return _other_rows(run.dataset, str(path))
    channels, height, width = run.dataset.shape
    size = [height, width]
    table = {"name": "images", "path": str(path), "size": size, "channels": channels}
    loaded: FactorDataset = config.data(table).settings.load()
    ours, theirs = are_measured(run.dataset.ends), are_measured(loaded.ends)
    if ours != theirs:
        deep, flat = ("of the run", "those given") if ours else ("given", "of the run")
        raise DataError(
            f"The images {deep} have more than 8 bits and {flat} have 8; convert one, so that "
            "values mean the same."
        )
    scaled = set_scale(loaded, run.dataset.ends, ((), ()), None) if ours else loaded
    return replace(scaled, mean=run.dataset.mean, std=run.dataset.std)


def _other_rows(dataset: FactorDataset, path: str) -> FactorDataset:
    """Rows of a file as those of a table are after they are standardised."""
    file, key = split_key(path)
    if file.suffix.lower() not in FILES:
        raise DataError(f"Expected a table with the columns of {dataset.name}; got '{path}'.")
    has_names = file.suffix.lower() in (*TEXTS, ".parquet")
    rows = read_frame(file) if has_names else read_table(file, key, None)[0].values
    x = as_images(rows, dataset)
    return FactorDataset(file.stem, without_factors(len(x)), Values(x), columns=dataset.columns)


def write(
    run: Run,
    index: Int[Tensor, " n"],
    path: Path,
    *,
    dataset: FactorDataset | None = None,
    new: bool = False,
    on_rows: Callable[[int], None],
) -> tuple[int, ...]:
    """Write codes and factors of rows as an npz file that `read` reads.

    Args:
        run: Encodes.
        index: Row numbers.
        path: The file.
        dataset: Whose rows they are; the run's own unless given.
        new: Keep a file that another command writes in the meantime.
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
        table = as_table(space, index)
        arrays["factors"] = table.values.numpy().astype(np.int32)
        arrays["names"], arrays["kinds"] = np.array(table.names), np.array(table.kinds)
        arrays["levels"] = np.array(json.dumps(table.levels))
    data = io.BytesIO()
    np.savez(data, **arrays)
    write_whole(path, data.getvalue(), new=new)
    return tuple(q.mean.shape)
