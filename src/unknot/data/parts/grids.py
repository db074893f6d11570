"""Factor values that come with images, compared with the grid that they should fill."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int64, Shaped

from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace


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
