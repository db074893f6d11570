"""Tables of numbers: one row each, from CSV and Parquet files, arrays and data frames."""

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.border import NUMBER
from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.factor_table import FactorTable, Space, fill_grid
from unknot.core.files import open_file, os_reason
from unknot.core.labels import clean_names
from unknot.core.registry import nearest
from unknot.core.text import shown
from unknot.data.parts.array_files import ARRAYS, open_array
from unknot.data.parts.counts import HINT, look_like_counts
from unknot.data.parts.grids import without_factors
from unknot.data.parts.images import as_tensor
from unknot.data.parts.parquet import parquet_modules
from unknot.data.parts.scaling import STANDARDIZED, measure_moments
from unknot.data.parts.shelf import make_key
from unknot.data.parts.values import SparseValues, Values, is_sparse, sparse_rows, sparse_values

TEXTS = (".csv", ".tsv")
NAMES_SHOWN = 5
TOO_LARGE = (
    "Column '{column}' of {name} has missing, infinite or too large values; fill them in or leave "
    "the column out."
)


@dataclass(frozen=True)
class Table:
    """Numbers in named columns."""

    values: Any
    """``[n, columns]``, perhaps a sparse array of SciPy; or of signals ``[n, channels, time]``."""
    columns: tuple[str, ...]
    content: str
    note: str = ""
    space: Space | None = None
    """Labels of the rows, where they came along."""

    @property
    def rows(self) -> int:
        """How many there are."""
        return int(self.values.shape[0])


def read_table(
    path: Path, key: str, limit: int | None, labels: Sequence[str] = ()
) -> tuple[Table, Mapping[str, Any]]:
    """The table of a file, and columns of labels, which are no part of it.

    Args:
        path: A CSV, TSV, Parquet, npy, npz or HDF5 file.
        key: Which array of several.
        limit: How many rows to take; all when None.
        labels: Names of columns, or of other arrays of the file.

    Raises:
        DataError: It cannot be read, or holds no numbers.
    """
    ending = path.suffix.lower()
    if ending in ARRAYS:
        with open_array(path, key, labels) as opened:
            columns = {name: column[:limit] for name, column in opened.columns.items()}
            return table_of(np.asarray(opened.array[:limit]), f"'{path}'"), columns
    frame, columns = take_labels(read_frame(path).iloc[:limit], labels, f"'{path}'")
    return table_of(frame, f"'{path}'"), columns


def take_labels(frame: Any, labels: Sequence[str], name: str) -> tuple[Any, dict[str, Any]]:
    """A data frame without its columns of labels, and these."""
    there = [str(column) for column in frame.columns]
    if missing := [label for label in labels if label not in there]:
        raise DataError(f"{name} has no label '{missing[0]}'{nearest(missing[0], there)}")
    return frame.drop(columns=[*labels]), {label: [*frame[label]] for label in labels}


def label_table(table: Table, labels: FactorTable, notes: Sequence[str | None] = ()) -> Table:
    """A table with labels of its rows, in the order of the grid if they fill one exactly once."""
    note = "; ".join(filter(None, [table.note, f"labels: {labels.summary}", *notes]))
    content = make_key(table.content, labels.key)
    if (grid := fill_grid(labels)) is None:
        return replace(table, content=content, note=note, space=labels)
    space, order = grid
    values = table.values[order.numpy()]
    return replace(table, values=values, content=content, note=note, space=space)


def table_of(source: Any, name: str, columns: tuple[str, ...] = ()) -> Table:
    """An array ``[n, d]``, a sparse one or a data frame as a table; columns of text are left out.

    Args:
        source: The numbers.
        name: What they are called in messages.
        columns: Their names; those of a data frame are its own.

    Raises:
        DataError: There are no numbers, or some are missing.
    """
    note = ""
    if hasattr(source, "select_dtypes"):
        numbers = source.select_dtypes(include=["number", "bool"])
        if 0 in numbers.shape:
            names = ", ".join(map(str, source.columns[:NAMES_SHOWN])) or "none"
            what = "no rows" if len(source.columns) and not len(source) else "no columns of numbers"
            raise DataError(f"There are {what} in {name}; its columns are: {names}.")
        _check_numbers(source.drop(columns=numbers.columns), name)
        texts = [str(column) for column in source.columns if column not in numbers.columns]
        if texts:
            first = ", ".join(texts[:NAMES_SHOWN]) + (", ..." if len(texts) > NAMES_SHOWN else "")
            note = f"left out as no numbers: {first}"
        if any(kind.kind == "c" for kind in numbers.dtypes):
            raise DataError(f"{name} has complex numbers, which are no columns of a table.")
        columns = tuple(str(column) for column in numbers.columns)
        if all(isinstance(c, str) and NUMBER.fullmatch(c) for c in numbers.columns):
            first = ", ".join(columns[:NAMES_SHOWN]) + (", ..." * (len(columns) > NAMES_SHOWN))
            note = "; ".join(filter(None, (note, f"columns are called {first}")))
        source = numbers.to_numpy(np.float64, na_value=np.nan)
    if source.ndim != 2 or 0 in source.shape or source.dtype.kind not in "buif":
        raise DataError(
            f"Expected numbers [rows, columns] in {name}; got {source.dtype} {source.shape}."
        )
    columns, changes = clean_names(columns or [f"column_{i}" for i in range(source.shape[1])])
    note = "; ".join(filter(None, (note, changes)))
    if len(columns) != source.shape[1]:
        raise DataError(f"{name} has {source.shape[1]} columns and {len(columns)} names of them.")
    if is_sparse(source):
        values = sparse_rows(source)
        fine = np.ones(values.shape[1], bool)
        fine[values.indices[~np.isfinite(values.data)]] = False
    else:
        with np.errstate(over="ignore"):  # too large values are refused by their column
            values = np.ascontiguousarray(source, np.float32)
        fine = np.isfinite(values).all(0)
    if not fine.all():
        column = columns[int(np.argmin(fine))]
        raise DataError(TOO_LARGE.format(column=column, name=name))
    return Table(values, columns, _hash(values, columns), note)


def _check_numbers(texts: Any, name: str) -> None:
    """Refuse a column of numbers that a few cells of text would leave out as a whole."""
    import pandas as pd

    for column in texts.select_dtypes(include=["object", "string"]).columns:
        try:
            numbers = pd.to_numeric(texts[column], errors="coerce").notna()
        except OverflowError as error:  # of whole numbers with hundreds of digits
            raise DataError(TOO_LARGE.format(column=column, name=name)) from error
        cells = texts[column][~numbers & texts[column].notna()]
        if len(cells) and int(numbers.sum()) > len(cells):
            raise DataError(
                f"Column '{column}' of {name} holds numbers and also text, such as "
                f"{shown(str(cells.iloc[0]))}; mend these cells, or remove the column."
            )


def signals_of(source: Any, name: str) -> Table:
    """An array ``[n, channels, time]`` or ``[n, time]`` as a table without columns.

    Raises:
        DataError: It has another shape, or some numbers are missing.
    """
    source = np.asarray(source)
    if source.ndim not in (2, 3) or 0 in source.shape or source.dtype.kind not in "buif":
        raise DataError(
            f"Expected signals [n, channels, time] or [n, time] in {name}; got {source.dtype} "
            f"{source.shape}."
        )
    with np.errstate(over="ignore"):  # too large values are refused by their column
        values = np.ascontiguousarray(source, np.float32)
    values = values[:, None] if values.ndim == 2 else values
    if not (fine := np.isfinite(values).all((1, 2))).all():
        raise DataError(
            f"Signal {int(np.argmin(fine))} of {name} has missing, infinite or too large values; "
            "fill them in or leave the signal out."
        )
    return Table(values, (), _hash(values, ()))


def _hash(values: Any, columns: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr((columns, values.shape)).encode())
    if is_sparse(values):
        for part in (values.indptr.astype(np.int64), values.indices.astype(np.int64)):
            digest.update(part.data)
    digest.update(values.data)
    return digest.hexdigest()[:32]


def table_dataset(table: Table, name: str, *, standardize: bool = True) -> FactorDataset:
    """A dataset of the rows of a table.

    Args:
        table: The numbers.
        name: What people call it.
        standardize: Subtract the mean of each column and divide by its standard deviation; a
            column of one value is not divided.
    """
    images: Values | SparseValues
    if is_sparse(table.values):
        images, numbers = sparse_values(table.values), table.values.data
    else:
        images, numbers = Values(as_tensor(table.values)[..., None, None]), table.values
    dataset = _dataset(table, name, images, numbers, standardize=standardize)
    return replace(dataset, columns=table.columns)


def signal_dataset(table: Table, name: str, *, standardize: bool = True) -> FactorDataset:
    """A dataset of signals, as images of height 1.

    Args:
        table: The numbers.
        name: What people call it.
        standardize: Subtract the mean of each channel and divide by its standard deviation.
    """
    values = table.values[:, :, None]
    return _dataset(table, name, Values(as_tensor(values)), values, standardize=standardize)


def _dataset(
    table: Table,
    name: str,
    images: Values | SparseValues,
    numbers: np.ndarray,
    *,
    standardize: bool,
) -> FactorDataset:
    """A dataset of numbers, standardised by their moments if that is asked for."""
    width = images.shape[0]
    mean, std = measure_moments(images) if standardize else ((0.0,) * width, (1.0,) * width)
    hint = HINT if look_like_counts(numbers) else ""
    standardized = STANDARDIZED if standardize else ""
    return FactorDataset(
        name,
        table.space or without_factors(table.rows),
        images,
        mean,
        std,
        note=", ".join(filter(None, (standardized, hint, table.note))),
        measured=standardize,
    )


def _with_names(frame: Any) -> Any:
    """The table of a text, unless fractions stand where its first line has names of columns.

    Whole numbers may be names: years, or those that pandas gives.
    """
    try:
        numbers = [float(column) for column in frame.columns]
    except ValueError:
        return frame
    if all(number.is_integer() for number in numbers):
        return frame
    raise ValueError("its first line has numbers, and should have names of columns.")


def _check_width(path: Path, separator: str) -> None:
    """Refuse rows of one cell more than the first line, if that is a number.

    pandas takes first cells without a name as names of the rows, which R writes; numbers may as
    well be the first column, and every other would move by one.
    """
    with open_file(path) as file:
        lines = csv.reader(io.TextIOWrapper(file, "utf-8", errors="replace"), delimiter=separator)
        try:
            head, row = [*islice((line for line in lines if line), 2)]
        except (ValueError, csv.Error):  # there are no rows, or pandas says what is wrong with them
            return
    if len(row) == len(head) + 1 and NUMBER.fullmatch(row[0].strip()):
        hint = "; separate cells by commas, and write 1.5 for 1,5" if ";" in head[0] else ""
        raise ValueError(f"its rows are longer than its first line; name each column there{hint}.")


def read_frame(path: Path) -> Any:
    """A text or Parquet file as a data frame."""
    import pandas as pd

    try:
        if path.suffix.lower() in TEXTS:
            separator = "\t" if path.suffix.lower() == ".tsv" else ","
            _check_width(path, separator)
            return _with_names(pd.read_csv(path, sep=separator))
        arrow, parquet = parquet_modules()
    except OSError as error:
        raise DataError(f"Cannot read '{path}': {os_reason(error)}.") from error
    except ValueError as error:  # pandas' errors of parsing, and of the encoding
        raise DataError(
            f"'{path}' is no table that can be read: {error}".splitlines()[0]
        ) from error
    try:
        return parquet.read_table(path).to_pandas()
    except (OSError, arrow.ArrowException) as error:
        raise DataError(f"'{path}' is damaged or no Parquet file.") from error
