"""Plain tables of scores: one row a model, one column a score or a setting.

A table is a mapping of columns, a list of records, or a data frame (anything with ``columns`` that
gives a column by its name). Cells without a number are ``None``, NaN, or missing from a record.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.registry import nearest
from unknot.core.text import shown
from unknot.core.typed import typed


@runtime_checkable
class Frame(Protocol):
    """A data frame, as far as it is used."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""
        ...

    def __getitem__(self, name: str) -> Any: ...


PlainTable: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | Frame


def columns(table: PlainTable) -> dict[str, list[Any]]:
    """Columns by name, as lists of equal length.

    Raises:
        ShapeError: The columns have different lengths.
        DataError: There are no rows.

    Example:
        >>> columns([{"mig": 0.1, "seed": 0}, {"mig": 0.2}])
        {'mig': [0.1, 0.2], 'seed': [0, None]}
    """
    wrong = f"A table is columns by name, rows or a data frame; got {shown(table)}."
    if isinstance(table, Mapping):
        if not all(isinstance(c, Iterable) and not isinstance(c, str) for c in table.values()):
            raise ConfigError(wrong)
        lists = {name: list(column) for name, column in table.items()}
    elif isinstance(table, Sequence):
        if not all(isinstance(record, Mapping) for record in table):
            raise ConfigError(wrong)
        names = dict.fromkeys(name for record in table for name in record)
        lists = {name: [record.get(name) for record in table] for name in names}
    elif not isinstance(table, Frame):
        raise ConfigError(wrong)
    else:
        lists = {str(name): list(table[name]) for name in table.columns}
    sizes = {name: len(column) for name, column in lists.items()}
    if len(set(sizes.values())) > 1:
        raise ShapeError(f"Columns of a table need equal lengths; got {sizes}.")
    if not lists or not next(iter(sizes.values())):
        raise DataError("The table has no rows.")
    return lists


def column(table: Mapping[str, list[Any]], name: str) -> list[Any]:
    """One column; an unknown name gets the nearest one."""
    if name not in table:
        raise ConfigError(f"The table has no column '{name}'{nearest(name, list(table))}")
    return table[name]


def labels(table: Mapping[str, list[Any]], name: str) -> list[Any]:
    """One column to group by; cells without a value are ``None``, as no NaN equals another."""
    return [
        None if isinstance(value, float | np.floating) and np.isnan(value) else value
        for value in column(table, name)
    ]


def numbers(table: Mapping[str, list[Any]], name: str) -> NDArray[np.float64]:
    """One column as numbers, NaN where there is none.

    Raises:
        ConfigError: There is no such column.
        DataError: It holds something else than numbers.
    """
    floats = []
    for value in column(table, name):
        try:
            floats.append(np.nan if value is None else float(value))
        except (TypeError, ValueError):
            raise DataError(f"Expected numbers in the column '{name}'; got {value!r}.") from None
    # Infinite is as little a score as NaN is.
    return np.where(np.isfinite(floats), floats, np.nan)


def numeric(table: Mapping[str, list[Any]]) -> list[str]:
    """Names of the columns that hold numbers, truth values left out."""
    kinds = (int, float, np.integer, np.floating)
    return [
        name
        for name, values in table.items()
        if any(value is not None for value in values)
        and all(v is None or (isinstance(v, kinds) and not isinstance(v, bool)) for v in values)
    ]


@typed("by")
def split_table(table: PlainTable, by: str) -> dict[Any, dict[str, list[Any]]]:
    """One table for each value of a column, in order of appearance; ``None`` for cells without.

    Example:
        >>> parts = split_table({"data": ["a", "b", "a"], "mig": [0.1, 0.2, 0.3]}, "data")
        >>> parts["a"]
        {'data': ['a', 'a'], 'mig': [0.1, 0.3]}
    """
    plain = columns(table)
    keys = labels(plain, by)
    return {key: keep(plain, [other == key for other in keys]) for key in dict.fromkeys(keys)}


def keep(table: Mapping[str, list[Any]], rows: Sequence[bool]) -> dict[str, list[Any]]:
    """The rows of a table that are marked."""
    return {name: list(compress(values, rows)) for name, values in table.items()}
