"""Codes and labels as people hold them: arrays, tensors, data frames, lists, text, with gaps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from unknot.core.border import check_mask
from unknot.core.errors import DataError
from unknot.core.factor_table import MISSING, FactorTable, as_table
from unknot.core.labels import clean_names, tabulate
from unknot.core.representation import Representation
from unknot.core.text import shown

GivenCodes: TypeAlias = Any
"""What `as_codes` takes."""
GivenFactors: TypeAlias = Any
"""What `as_factors` takes."""


def as_codes(codes: Any) -> Any:
    """Codes as an array of numbers, a tensor or a representation.

    Example:
        >>> as_codes([[1, 2], [3, 4]]).dtype
        dtype('int64')
    """
    if codes is None or isinstance(codes, Representation | Tensor):
        return codes
    if isinstance(codes, str | Path):
        raise DataError(
            f"Codes are an array, not the name of a file; read it first: np.load('{shown(codes)}')."
        )
    array = codes if isinstance(codes, np.ndarray) else _rectangle(codes, "Codes")
    check_mask(array, "codes")
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                "Codes must be numbers in a table [rows, columns]; they come first, then factors."
            ) from error
    return np.asarray(array)


def as_factors(factors: Any) -> Any:
    """Factors as an array of whole numbers, a tensor, or a table of labels.

    Whole numbers ``[n, f]`` stay as they are, and count as ordered. Anything else becomes a table
    as `unknot.core.labels.tabulate` makes it: a data frame, a dictionary or a list of columns with
    names, text, fractions, gaps (None, NaN, masked cells), or a single column.

    Example:
        >>> as_factors(["cat", "dog", None]).summary
        'factor 0 (nominal, 2, 1 missing)'
    """
    if factors is None or isinstance(factors, FactorTable):
        return factors
    if isinstance(factors, Tensor):
        factors = factors.detach()
        if _is_whole(factors.cpu().numpy()):
            return factors.reshape(-1, 1) if factors.ndim == 1 else factors
        factors = factors.cpu().numpy()
    if isinstance(factors, Mapping):
        return tabulate(factors)
    if hasattr(factors, "columns") and hasattr(factors, "dtypes"):  # a data frame
        names, _ = clean_names([str(name) for name in factors.columns])
        return tabulate({n: factors.iloc[:, k].tolist() for k, n in enumerate(names)})
    if hasattr(factors, "to_frame"):  # one column of it
        name = "factor 0" if factors.name is None else str(factors.name)
        return tabulate({clean_names([name])[0][0]: factors.tolist()})
    array = factors if isinstance(factors, np.ndarray) else _rectangle(factors, "Factors")
    if array.dtype.kind == "c":
        raise DataError("Factors must be real numbers or text; got complex numbers.")
    masked = isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array)
    if not masked and _is_whole(array):
        return np.asarray(array).reshape(-1, 1) if array.ndim == 1 else np.asarray(array)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or 0 in array.shape:
        return np.asarray(array)  # refused where shapes are
    return tabulate({f"factor {k}": list(array[:, k]) for k in range(array.shape[1])})


def as_factors_of_both(factors: Any, test: Any) -> tuple[Any, Any]:
    """Factors of the rows and of the test rows, with levels in common where they are labels."""
    first, second = as_factors(factors), as_factors(test)
    if not isinstance(first, FactorTable) and not isinstance(second, FactorTable):
        return first, second
    if isinstance(first, FactorTable) and isinstance(second, FactorTable):
        scales = [(table.names, table.kinds, table.levels) for table in (first, second)]
        if scales[0] == scales[1]:
            return first, second
    columns, others = _columns(first), _columns(second)
    if [*columns] != [*others]:
        raise DataError(f"Labels of the test rows need the names {[*columns]}; got {[*others]}.")
    both = tabulate({name: [*column, *others[name]] for name, column in columns.items()})
    cut = len(next(iter(columns.values())))
    return as_table(both, torch.arange(cut)), as_table(both, torch.arange(cut, both.size))


def _rectangle(rows: Any, what: str) -> np.ndarray:
    """Lists as an array."""
    try:
        return np.asarray(rows)
    except ValueError as error:
        raise DataError(f"{what} must have as many columns in each row as in the first.") from error


def _columns(table: Any) -> dict[str, list[Any]]:
    """Labels by name, None where one is missing."""
    if not isinstance(table, FactorTable):
        return {f"factor {k}": np.asarray(table)[:, k].tolist() for k in range(table.shape[1])}
    return {
        name: [None if v == MISSING else levels[v] for v in table.values[:, k].tolist()]
        for k, (name, levels) in enumerate(zip(table.names, table.levels, strict=True))
    }


def _is_whole(array: np.ndarray) -> bool:
    """Whether all are whole numbers, so that they are taken as they are."""
    if array.dtype.kind in "iub":
        return True
    if array.dtype.kind != "f" or not np.isfinite(array).all():
        return False
    return bool((array == np.round(array)).all())
