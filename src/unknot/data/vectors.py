"""The user's own tables of numbers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError
from unknot.core.places import NeededPlace, Place
from unknot.data.parts.array_files import split_key
from unknot.data.parts.labels import read_labels
from unknot.data.parts.tables import Table, label_table, read_table, table_dataset


@dataclass(frozen=True)
class Vectors:
    """Your own table of numbers, one row each: a CSV, TSV, Parquet, npy, npz or HDF5 file.

    ``--data cells.csv`` is short for ``--data vectors --set data.path=cells.csv``. Columns that are
    no numbers are left out. A row is an image of one pixel with a channel for each column, for nets
    without convolutions; unless others are named, the net is `mlp` and the likelihood Gaussian.

    Args:
        path: The file; ``file.npz::name`` for one of several arrays.
        standardize: Subtract each column's mean and divide by its standard deviation.
        limit: Take the first so many rows only.
        columns: How many there are; written down by a run.
        labels: Names of columns that are labels and no numbers to learn from, ``batch,dose``; or a
            CSV file with one row of labels for each row.
        kinds: Of labels, where they are not to be inferred: ``["dose=nominal"]``.
        content: A hash of the numbers; written down by a run, whose rows are then checked,
            wherever they lie.
    """

    path: NeededPlace
    standardize: bool = True
    limit: int | None = None
    columns: int | None = None
    labels: Place = None
    kinds: tuple[str, ...] | None = None
    content: str | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"data.limit must be 1 or more; got {self.limit}.")

    @property
    def title(self) -> str:
        """What people call it: the name of the file."""
        return split_key(self.path)[0].stem

    @property
    def unbounded(self) -> bool:
        """Values may be any number."""
        return True

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """A channel for each column, one pixel; once that is known."""
        return None if self.columns is None else (self.columns, 1, 1)

    def pin(self, on_progress: Callable[[int, int], None] = lambda *_: None) -> "Vectors":  # noqa: ARG002
        """The same settings with what the file decides written down."""
        if self.content is not None and self.columns is not None:
            return self
        table = self._read()
        return replace(self, columns=len(table.columns), content=table.content)

    def load(self) -> FactorDataset:
        """All rows.

        Raises:
            DataError: The file cannot be read, or is not as described.
        """
        table = self._read()
        if self.content not in (None, table.content):
            raise DataError(
                f"The numbers in '{self.path}' are no longer those of the run; put those back, or "
                "leave out data.content to take these."
            )
        return table_dataset(table, self.title, standardize=self.standardize)

    def _read(self) -> Table:
        path, key = split_key(self.path)
        if not path.is_file():
            raise DataError(
                f"There is no file '{path}'; if it was moved, say where it is with --data PATH "
                "(in Python: data=PATH)."
            )
        kinds = self.kinds or ()
        if self.labels is None:
            return read_table(path, key, self.limit)[0]
        if Path(self.labels).expanduser().is_file():
            table, _ = read_table(path, key, self.limit)
            rows, short = len(table.values), self.limit is not None
            return label_table(table, *read_labels(self.labels, kinds, count=rows, partial=short))
        names = [name for part in self.labels.split(",") if (name := part.strip())]
        table, columns = read_table(path, key, self.limit, names)
        return label_table(table, *read_labels(columns, kinds, count=len(table.values)))
