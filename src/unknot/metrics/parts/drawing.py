"""Which rows a metric sees: drawn from a grid, or chosen among given rows."""

from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core import noise
from unknot.core.border import check_type
from unknot.core.errors import ConfigError
from unknot.core.factor_table import FactorTable, Space
from unknot.core.representation import Representation
from unknot.metrics.parts.array_rows import (
    Array,
    Factors,
    Test,
    check_codes,
    number_levels,
    rows_of_arrays,
)
from unknot.metrics.parts.rows import Rows

Codes: TypeAlias = Array | Representation
GRID_SAMPLES, GRID_TEST_SAMPLES = 10_000, 5_000
"""Grid points drawn where a protocol asks for all given rows."""
TABLE_ROWS = 20_000
"""Rows of a table of labels that metrics look at, at most."""
LARGEST_SHUFFLE = 10_000_000
"""Larger grids are drawn with replacement; one point in a hundred is then drawn twice at most."""


def take(
    codes: Codes,
    factors: Factors = None,
    *,
    samples: int | None,
    seed: int,
    distinct: bool = False,
) -> Rows:
    """The rows a metric sees: at most so many of given rows, chosen by the seed, or of a grid.

    A grid is drawn with replacement, or in ``distinct`` points. Without ``samples`` these are all
    given rows, or 10,000 different grid points.
    """
    if isinstance(codes, Representation):
        check_grid(codes, factors, None)
        return _take_grid(codes, samples=samples, seed=seed, distinct=distinct)
    rows = rows_of_arrays(codes, factors, None)
    if samples is not None and len(rows) > samples:
        rows = rows[_permutation(seed, len(rows))[:samples]]
    return rows.varying(len(rows))


def _take_grid(codes: Representation, *, samples: int | None, seed: int, distinct: bool) -> Rows:
    """Rows of a grid, as `take` has them, whether or not it has factors."""
    if samples is None or distinct:
        index = _shuffled(codes.space, seed)[: samples or GRID_SAMPLES]
    else:
        index = noise.integers(seed, "metric/rows", 0, samples, high=codes.space.size)
    return _from_grid(codes, index, len(index))


def take_codes(codes: Codes, *, samples: int | None, seed: int, distinct: bool = False) -> Rows:
    """The rows that other metrics see under the same seed, without factors; see `take`."""
    if isinstance(codes, Representation) and isinstance(codes.space, FactorTable):
        codes = codes.codes(table_rows(codes.space, seed))
    if isinstance(codes, Representation):
        rows = _take_grid(codes, samples=samples, seed=seed, distinct=distinct)
    else:
        check_type("codes", codes, np.ndarray, Tensor)
        # The number of a row stands in for its factors, so that codes are checked in one place.
        stand_in = torch.arange(len(codes) if codes.ndim else 0)[:, None]
        rows = take(codes, stand_in, samples=samples, seed=seed)
    nothing = rows.values[:, :0]
    return replace(rows, values=nothing, levels=nothing, names=(), kinds=(), remarks=())


def take_two(
    codes: Codes,
    factors: Factors,
    test: Test,
    *,
    samples: int | None,
    test_samples: int | None,
    seed: int,
    distinct: bool = False,
) -> tuple[Rows, Rows]:
    """Rows to learn from and rows to test on, with levels numbered alike.

    Given rows without a test set are split at random in the proportion of the two sizes. With
    ``test_samples=0`` both are the same rows. ``distinct`` draws different points of a grid.
    Other arguments and errors are those of `take`.
    """
    if test_samples == 0:
        rows = take(codes, factors, samples=samples, seed=seed)
        if test is not None:
            rows = rows.with_remark(
                "fits and evaluates on the same rows; the test set was not used"
            )
        return rows, rows
    sizes = (samples or GRID_SAMPLES, test_samples or GRID_TEST_SAMPLES)
    if isinstance(codes, Representation):
        check_grid(codes, factors, test)
        return _two_from_grid(codes, sizes, seed, distinct)
    if test is not None:
        rows = rows_of_arrays(codes, factors, test)
        cut = len(codes)
        train, other = torch.arange(cut), torch.arange(cut, len(rows))
        if samples is not None and cut > samples:
            train = _permutation(seed, cut)[:samples]
        if test_samples is not None and len(other) > test_samples:
            other = cut + _permutation(seed, len(other))[:test_samples]
        used, cut = torch.cat([train, other]), len(train)
    else:
        rows = rows_of_arrays(codes, factors, None)
        n = len(rows) if samples is None else min(len(rows), sum(sizes))
        used, cut = _permutation(seed, len(rows))[:n], round(n * sizes[0] / sum(sizes))
    rows = rows[used].varying(cut)
    return rows[:cut], rows[cut:]


def _two_from_grid(
    grid: Representation, sizes: tuple[int, int], seed: int, distinct: bool
) -> tuple[Rows, Rows]:
    if distinct:
        index = _shuffled(grid.space, seed)[: sum(sizes)]
        cut = round(len(index) * sizes[0] / sum(sizes))
    else:
        high = grid.space.size
        train = noise.integers(seed, "metric/rows", 0, sizes[0], high=high)
        other = noise.integers(seed, "metric/test rows", 0, sizes[1], high=high)
        index, cut = torch.cat([train, other]), sizes[0]
    rows = _from_grid(grid, index, cut)
    share = torch.isin(index[cut:], index[:cut]).double().mean().item()
    if share > 0.05:
        rows = rows.with_remark(f"{100 * share:.0f} % of the test points are training points too")
    return rows[:cut], rows[cut:]


def check_grid(codes: Representation, factors: Factors, test: Test) -> None:
    """Refuse factors beside a representation, and one that has none."""
    if factors is not None or test is not None:
        raise ConfigError(
            "A Representation brings its own factors and rows; leave `factors` and `test` out."
        )
    if codes.space.stands_in:
        raise ConfigError(
            "This metric compares codes with factors, and the data has none; give labels "
            "(--labels, in Python labels=), or add 'factors' to its file."
        )


def table_rows(table: FactorTable, seed: int) -> Int[Tensor, " n"]:
    """All rows of a table, or as many as metrics look at."""
    if table.size <= TABLE_ROWS:
        return torch.arange(table.size)
    return noise.permutation(seed, "metric/table", 0, table.size, 1)[:TABLE_ROWS, 0]


def _shuffled(space: Space, seed: int) -> Int[Tensor, " n"]:
    if space.size > LARGEST_SHUFFLE:
        return noise.integers(
            seed, "metric/rows", 0, GRID_SAMPLES + GRID_TEST_SAMPLES, high=space.size
        )
    return _permutation(seed, space.size)


@lru_cache(maxsize=2)  # every score of a grid shuffles it alike, and most do little else
def _permutation(seed: int, n: int) -> Int[Tensor, " n"]:
    return noise.permutation(seed, "metric/rows", 0, n, 1)[:, 0]


def _from_grid(grid: Representation, index: Int[Tensor, " n"], cut: int) -> Rows:
    codes = grid.codes(index).detach().double()
    check_codes(codes)
    values = grid.factors(index).to(codes.device)
    return number_levels(codes, values, grid.space.names, grid.space.kinds).varying(cut)
