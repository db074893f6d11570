"""Factor values that come with images: the grid that they should fill, and rows in its order."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64, Shaped

from unknot.core.border import check_name
from unknot.core.errors import DataError
from unknot.core.factor_table import FactorTable
from unknot.core.factors import KINDS, FactorSpace, Kind


def ranks(table: Shaped[np.ndarray, "n f"]) -> Int64[np.ndarray, "n f"]:
    """Values of each column numbered from 0 in ascending order."""
    columns = [np.unique(column, return_inverse=True)[1].reshape(-1) for column in table.T]
    return np.stack(columns, axis=1).astype(np.int64)


def check_grid(space: FactorSpace, table: Shaped[np.ndarray, "..."], file: Path) -> None:
    """Refuse a table of factor values whose rows are not those of the grid, in its order."""
    expected = (space.size, len(space))
    if table.shape != expected:
        raise DataError(f"Labels of '{file}' should have the shape {expected}; got {table.shape}.")
    if not np.array_equal(ranks(table), space.factors(torch.arange(space.size)).numpy()):
        raise DataError(
            f"Labels of '{file}' should go through the grid {space.sizes} of {space.names} in "
            "order, the last fastest; these do not, so it is another file."
        )


def grid_order(
    space: FactorSpace, columns: Sequence[Shaped[np.ndarray, " n"]], file: Path
) -> Int64[np.ndarray, " n"]:
    """Which row of a table in any order is each point of the grid; values are numbers from 0.

    Raises:
        DataError: The rows do not name every point once.
    """
    table = np.stack([column.astype(np.int64) for column in columns], axis=1)
    sizes = np.array(space.sizes)
    if len(table) == space.size and ((table >= 0) & (table < sizes)).all():
        points = table @ np.array(space.strides)
        order = np.argsort(points, kind="stable")
        if np.array_equal(points[order], np.arange(space.size)):
            return order
    raise DataError(
        f"Images of '{file}' should name every point of the grid {space.sizes} of {space.names} "
        f"once, {space.size:,} in all; these {len(table):,} do not."
    )


def without_factors(count: int) -> FactorSpace:
    """Rows that differ in their number alone."""
    return FactorSpace(("index",), (count,), ("nominal",))


def read_grid(
    factors: np.ndarray, names: np.ndarray | None, count: int, path: str
) -> tuple[FactorSpace, Int64[np.ndarray, " n"]]:
    """The factor space of a table of values, and the row of the table at each grid point.

    Args:
        factors: Integers ``[n, f]``, one row per image.
        names: ``[f]`` strings; numbered if there are none.
        count: How many images there are.
        path: Where it came from, for messages.
    """
    _check_factors(factors, count, path)
    return _grid(factors, _names(names, factors.shape[1], path), path)


def read_table(
    factors: np.ndarray, names: np.ndarray | None, kinds: np.ndarray | None, count: int, path: str
) -> FactorTable:
    """Factor values that need not fill a grid.

    Args:
        factors: Integers ``[n, f]``, one row per image.
        names: ``[f]`` strings; numbered if there are none.
        kinds: ``[f]`` strings; ordered if there are none.
        count: How many images there are.
        path: Where it came from, for messages.
    """
    _check_factors(factors, count, path)
    width = factors.shape[1]
    if kinds is not None and (kinds.shape != (width,) or not {*kinds.tolist()} <= {*KINDS}):
        raise DataError(f"'kinds' in '{path}' must be {width} of {KINDS}, one per column.")
    columns = [np.unique(column, return_inverse=True) for column in factors.T]
    ordered = ["ordered"] * width if kinds is None else kinds.tolist()
    return FactorTable(
        _names(names, width, path),
        tuple(kind for name in ordered for kind in KINDS if kind == name),
        tuple(tuple(levels.tolist()) for levels, _ in columns),
        torch.from_numpy(np.stack([rank.reshape(-1) for _, rank in columns], axis=1)),
    )


def _check_factors(factors: np.ndarray, count: int, path: str) -> None:
    fits = factors.ndim == 2 and factors.shape[1] > 0 and len(factors) == count
    if not fits or factors.dtype.kind not in "iu":
        raise DataError(
            f"'factors' in '{path}' must be integers [{count}, f], one row per "
            f"image; got {factors.dtype} {factors.shape}."
        )


def _names(names: np.ndarray | None, count: int, path: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"factor_{i}" for i in range(count))
    if names.dtype.kind != "U" or names.shape != (count,):
        raise DataError(
            f"'names' in '{path}' must be {count} strings, one per column of 'factors'; "
            f"got {names.dtype} {names.shape}."
        )
    return tuple(check_name(name, f"A factor in '{path}'") for name in names.tolist())


def _grid(
    factors: np.ndarray, names: tuple[str, ...], path: str
) -> tuple[FactorSpace, Int64[np.ndarray, " n"]]:
    """The factor space of a table of values, and the row of the table at each grid point."""
    columns = [np.unique(column, return_inverse=True) for column in factors.T]
    sizes = tuple(len(values) for values, _ in columns)
    ranks = [rank.reshape(-1) for _, rank in columns]
    different = len(np.unique(factors, axis=0))
    if not math.prod(sizes) == len(factors) == different:
        raise DataError(
            f"'factors' in '{path}' must name every point of a full grid once; its columns have "
            f"{sizes} values, which makes {math.prod(sizes)} points, and {len(factors)} rows, "
            f"{different} of them different."
        )
    order = np.lexsort(ranks[::-1])
    ordered: Kind = "ordered"
    return FactorSpace(names, sizes, (ordered,) * len(names)), order
