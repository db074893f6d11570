"""The user's own tables of numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unknot.core.dataset import FactorDataset
from unknot.core.places import NeededPlace, Place
from unknot.data.parts.cells import H5AD, read_cells
from unknot.data.parts.number_file import NumberFile
from unknot.data.parts.tables import Table, read_table, table_dataset


@dataclass(frozen=True)
class Vectors(NumberFile):
    """Your own table of numbers, one row each: a CSV, TSV, Parquet, npy, npz, HDF5 or h5ad file.

    ``--data cells.csv`` is short for ``--data vectors --set data.path=cells.csv``. Columns that are
    no numbers are left out. A row is an image of one pixel with a channel for each column, for nets
    without convolutions; unless others are named, the net is `mlp` and the likelihood Gaussian.

    Args:
        path: The file; ``file.npz::name`` for one of several arrays, ``cells.h5ad::layers/counts``
            for other numbers than ``X``.
        standardize: Subtract each column's mean and divide by its standard deviation; not done
            under a likelihood of counts.
        limit: Take the first so many rows only.
        columns: How many there are; written down by a run.
        labels: Names of columns that are labels and no numbers to learn from, ``batch,dose``, of an
            h5ad file those of ``obs``; or a CSV file with one row of labels for each row.
        kinds: Of labels, where they are not to be inferred: ``["dose=nominal"]``.
        content: A hash of the numbers; written down by a run, whose rows are then checked,
            wherever they lie.

    Example: `unknot.dataset("cells.csv", labels=["dose"])`
    """

    path: NeededPlace
    standardize: bool = True
    limit: int | None = None
    columns: int | None = None
    labels: Place = None
    kinds: tuple[str, ...] | None = None
    content: str | None = None

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """A channel for each column, one pixel; once that is known."""
        return None if self.columns is None else (self.columns, 1, 1)

    def sizes(self, table: Table) -> Mapping[str, Any]:
        """How many columns there are."""
        return {"columns": len(table.columns)}

    def read(
        self, path: Path, key: str, labels: Sequence[str] = ()
    ) -> tuple[Table, Mapping[str, Any]]:
        """The table of a file, and columns of labels, which are no part of it."""
        read = read_cells if path.suffix.lower() == H5AD else read_table
        return read(path, key, self.limit, labels)

    def assemble(self, table: Table) -> FactorDataset:
        """A dataset of the rows."""
        return table_dataset(table, self.title, standardize=self.standardize)
