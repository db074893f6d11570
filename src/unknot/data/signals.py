"""The user's own signals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.core.places import NeededPlace, Place
from unknot.data.parts.array_files import ARRAYS, open_array
from unknot.data.parts.number_file import NumberFile
from unknot.data.parts.tables import Table, signal_dataset, signals_of


@dataclass(frozen=True)
class Signals(NumberFile):
    """Your own signals, such as recordings of sensors: an npy, npz or HDF5 file.

    The file holds an array ``[n, channels, time]``, or ``[n, time]`` for one channel. A signal is
    an image of height 1; unless others are named, the net is `conv1d` and the likelihood Gaussian.

    Args:
        path: The file; ``file.npz::name`` for one of several arrays.
        standardize: Subtract each channel's mean and divide by its standard deviation; not done
            under a likelihood of counts.
        limit: Take the first so many signals only.
        channels: How many there are; written down by a run.
        length: Points in time; written down by a run.
        labels: Names of other arrays in the npz or HDF5 file, ``patient,side``; or a CSV file with
            one row of labels for each signal.
        kinds: Of labels, where they are not to be inferred: ``["side=nominal"]``.
        content: A hash of the numbers; written down by a run, whose signals are then checked,
            wherever they lie.

    Example: `unknot.dataset("waves.npz", signals=True)`
    """

    path: NeededPlace
    standardize: bool = True
    limit: int | None = None
    channels: int | None = None
    length: int | None = None
    labels: Place = None
    kinds: tuple[str, ...] | None = None
    content: str | None = None

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height 1, and points in time; once they are known."""
        if self.channels is None or self.length is None:
            return None
        return self.channels, 1, self.length

    def sizes(self, table: Table) -> Mapping[str, Any]:
        """How many channels and points in time there are."""
        _, channels, length = table.values.shape
        return {"channels": channels, "length": length}

    def read(
        self, path: Path, key: str, labels: Sequence[str] = ()
    ) -> tuple[Table, Mapping[str, Any]]:
        """The signals of a file, and labels that are arrays of it."""
        if path.suffix.lower() not in ARRAYS:
            raise DataError(f"Signals are read from an npy, npz or HDF5 file; got '{path}'.")
        with open_array(path, key, labels) as opened:
            columns = {name: column[: self.limit] for name, column in opened.columns.items()}
            return signals_of(np.asarray(opened.array[: self.limit]), f"'{path}'"), columns

    def assemble(self, table: Table) -> FactorDataset:
        """A dataset of the signals."""
        return signal_dataset(table, self.title, standardize=self.standardize)
