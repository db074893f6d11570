"""What tables and signals of the user's own have in common: a file of numbers, perhaps labelled."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, DataError
from unknot.core.places import NeededPlace, Place
from unknot.data.parts.array_files import split_key
from unknot.data.parts.labels import read_labels
from unknot.data.parts.tables import Table, label_table

KEPT = 1 << 28
"""Bytes of a table that is kept from `pin` to `load`."""
_JUST_READ: dict[tuple[Any, ...], Table] = {}
"""The last table that was pinned, until it is loaded: 100,000 columns take seconds to read."""


class NumberFile(ABC):
    """Settings of a dataset that is read from a file of numbers; its fields are its own."""

    path: NeededPlace
    standardize: bool
    limit: int | None
    labels: Place
    kinds: tuple[str, ...] | None
    content: str | None

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
    @abstractmethod
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width of a row; once they are known."""

    @abstractmethod
    def sizes(self, table: Table) -> Mapping[str, Any]:
        """Fields that the numbers decide."""

    @abstractmethod
    def read(
        self, path: Path, key: str, labels: Sequence[str] = ()
    ) -> tuple[Table, Mapping[str, Any]]:
        """The numbers of a file, and columns of labels."""

    @abstractmethod
    def assemble(self, table: Table) -> FactorDataset:
        """A dataset of the numbers."""

    def pin(self, on_progress: Callable[[int, int], None] = lambda *_: None) -> "NumberFile":  # noqa: ARG002
        """The same settings with what the file decides written down."""
        if self.content is not None and self.shape is not None:
            return self
        table = self._read()
        pinned = self.change(content=table.content, **self.sizes(table))
        _JUST_READ.clear()
        if self.labels is None and getattr(table.values, "nbytes", KEPT) < KEPT:
            _JUST_READ[pinned._stamp()] = table
        return pinned

    def _stamp(self) -> tuple[Any, ...]:
        """What tells the file of these settings from any other, and from what it was before."""
        facts = split_key(self.path)[0].stat()
        return self, facts.st_mtime_ns, facts.st_size, facts.st_ino

    def change(self, **fields: Any) -> "NumberFile":
        """The same settings but for some of them."""
        settings: Any = self
        changed: NumberFile = replace(settings, **fields)
        return changed

    def load(self) -> FactorDataset:
        """All rows.

        Raises:
            DataError: The file cannot be read, or is not as described.
        """
        table = self._read(just_read=True)
        if self.content not in (None, table.content):
            raise DataError(
                f"The numbers in '{self.path}' are no longer those of the run; put those back, or "
                "leave out data.content to take these."
            )
        return self.assemble(table)

    def _read(self, *, just_read: bool = False) -> Table:
        path, key = split_key(self.path)
        if not path.is_file():
            raise DataError(
                f"There is no file '{path}'; if it was moved, say where it is with --data PATH "
                "(in Python: data=PATH)."
            )
        kinds = self.kinds or ()
        if just_read and _JUST_READ and (table := _JUST_READ.pop(self._stamp(), None)):
            return table
        if self.labels is None:
            return self.read(path, key)[0]
        if Path(self.labels).expanduser().is_file():
            table, _ = self.read(path, key)
            rows, short = table.rows, self.limit is not None
            return label_table(table, *read_labels(self.labels, kinds, count=rows, partial=short))
        names = [name for part in self.labels.split(",") if (name := part.strip())]
        table, columns = self.read(path, key, names)
        return label_table(table, *read_labels(columns, kinds, count=table.rows))
