"""Rows from arrays and tables of labels, checked."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from unknot.core.border import check_mask, check_type
from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factor_table import FactorTable
from unknot.core.factors import Kind
from unknot.metrics.parts.information import discretize
from unknot.metrics.parts.rows import FEWEST, Rows

Array: TypeAlias = Tensor | NDArray[Any]
Labels: TypeAlias = Array | FactorTable
Factors: TypeAlias = Labels | None
Test: TypeAlias = tuple[Array, Labels] | None
QUANTILE_BINS = 20
"""Levels of a continuous factor for metrics that count or classify: bins of equal mass."""
LARGEST_FACTOR = 2**53
"""Beyond it float64, in which some metrics compute on factors, does not tell all numbers apart."""


def rows_of_arrays(codes: Array, factors: Factors, test: Test) -> Rows:
    """Rows of arrays or tables of labels, those to test on after the others."""
    if factors is None:
        raise ConfigError("Codes as an array need the factors of the same rows: pass `factors`.")
    pairs = [(codes, factors)] if test is None else [(codes, factors), test]
    if isinstance(factors, FactorTable):
        return _from_tables([(c, f) for c, f in pairs if isinstance(f, FactorTable)])
    checked = [_pair(c, f) for c, f in pairs if not isinstance(f, FactorTable)]
    if len(checked) < len(pairs):
        raise ConfigError("Factors of the test rows must be an array, as those of the others are.")
    widths = {(c.shape[1], f.shape[1]) for c, f in checked}
    if len(widths) > 1:
        raise ShapeError(
            "Test arrays need as many codes and factors as the others; got (codes, factors) "
            f"{sorted(widths)}."
        )
    all_codes, all_values = (torch.cat(parts) for parts in zip(*checked, strict=True))
    names = tuple(f"factor {k}" for k in range(all_values.shape[1]))
    ordered: Kind = "ordered"
    return number_levels(all_codes, all_values, names, (ordered,) * len(names))


def _from_tables(pairs: Sequence[tuple[Array, FactorTable]]) -> Rows:
    """Rows of labelled codes, and of those to test on after them."""
    first = pairs[0][1]
    scale = first.names, first.kinds, first.levels
    if any((table.names, table.kinds, table.levels) != scale for _, table in pairs):
        raise DataError("Labels of the test rows need the names, kinds and levels of the others.")
    for codes, table in pairs:
        check_type("codes", codes, np.ndarray, Tensor)
        if codes.ndim and len(codes) != table.size:
            raise ShapeError(
                f"Codes and labels need one row per point each; got {len(codes)} and {table.size}."
                f"{_turned(codes, table.size)}"
            )
    stand_ins = [torch.arange(table.size)[:, None] for _, table in pairs]
    codes = torch.cat([_pair(c, s)[0] for (c, _), s in zip(pairs, stand_ins, strict=True)])
    table = FactorTable(
        first.names, first.kinds, first.levels, torch.cat([table.values for _, table in pairs])
    )
    values = torch.stack([table.numbers(k) for k in range(len(table))], dim=1)
    levels = [_number(values[:, k], kind) for k, kind in enumerate(table.kinds)]
    if bool((values == values.round()).all()):  # NaN equals nothing
        values = values.long()
    device = codes.device
    return Rows(
        codes,
        values.to(device),
        torch.stack(levels, dim=1).to(device),
        table.names,
        table.kinds,
    )


def _number(values: Float[Tensor, " n"], kind: Kind) -> Int[Tensor, " n"]:
    """Levels from 0 without gaps, -1 where a value is missing."""
    known = ~values.isnan()
    levels = torch.full(values.shape, -1)
    bins = QUANTILE_BINS if kind == "continuous" else len(values)
    levels[known] = discretize(values[known, None], bins, "quantile")[:, 0]
    return levels


def _turned(codes: Array, rows: int) -> str:
    """A hint for codes with a row for each latent."""
    return " Codes are [rows, latents]: use codes.T." if codes.shape[-1] == rows else ""


def _pair(codes: Array, factors: Array) -> tuple[Tensor, Tensor]:
    """One pair of arrays, checked, as float64 and int64 on the device of the codes."""
    for name, array in (("codes", codes), ("factors", factors)):
        check_type(name, array, np.ndarray, Tensor)
        if array.ndim != 2 or 0 in array.shape:
            raise ShapeError(
                f"Expected {name} as a table [rows, columns] with both above 0; got shape "
                f"{tuple(array.shape)}. One column is array.reshape(-1, 1)."
            )
    if len(codes) != len(factors):
        raise ShapeError(
            f"Codes and factors need one row per point each; got {len(codes)} and {len(factors)}."
            f"{_turned(codes, len(factors))}"
        )
    if len(codes) < FEWEST:
        raise DataError(f"A metric needs at least {FEWEST} rows; got {len(codes)}.")
    numbers, values = _tensor(codes, "codes").double(), _tensor(factors, "factors")
    check_codes(numbers)
    real = values.double()
    integral = (real == real.round()) & (real.abs() < LARGEST_FACTOR)
    if not bool(integral.all()):
        raise DataError(
            "Factors must be whole numbers between -2^53 and 2^53, one per value of the factor; "
            f"got {real[~integral][0].item():g}. Number the values first: "
            "numpy.unique(column, return_inverse=True)[1]."
        )
    return numbers, values.long().to(numbers.device)


def _tensor(array: Array, name: str) -> Tensor:
    if isinstance(array, Tensor):
        if array.is_complex():
            raise DataError(f"Expected real numbers in {name}; got the type {array.dtype}.")
        return array.detach()
    check_mask(array, name)
    if array.dtype.kind not in "fiub":
        raise DataError(f"Expected real numbers in {name}; got the type {array.dtype}.")
    # A copy: torch warns about arrays that cannot be written to, and has no unsigned 16 to 64 bit;
    # of these the largest would come out negative as signed ones.
    return torch.from_numpy(array.astype(np.float64 if array.dtype.kind in "fu" else np.int64))


def check_codes(codes: Tensor) -> None:
    """Refuse codes that are not finite."""
    finite = codes.isfinite()
    if not bool(finite.all()):
        raise DataError(
            f"{int((~finite).any(1).sum())} of {len(codes)} rows have codes that are NaN or "
            "infinite; leave these rows out, or look for the divergence of the model."
        )


def number_levels(
    codes: Tensor, values: Tensor, names: tuple[str, ...], kinds: tuple[Kind, ...]
) -> Rows:
    """Rows whose values of each factor are numbered from 0, in order."""
    columns = [torch.unique(column, return_inverse=True)[1] for column in values.T]
    return Rows(codes, values, torch.stack(columns, dim=1), names, kinds)
