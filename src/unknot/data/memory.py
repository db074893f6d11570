"""Images that were given as an object in Python."""

from collections.abc import Callable
from dataclasses import dataclass

from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.data.parts.objects import find_dataset


@dataclass(frozen=True)
class Memory:
    """Images given in Python, as an array, a tensor or a dataset; not for the command line.

    A run writes down what it needs to know them again. They are not written anywhere: to use the
    run later, pass them again, `unknot.load(path, data=...)`.

    Args:
        content: A hash of the pixels and factors.
        size: Height and width.
        channels: Of each image.
        standardize: Whether values lie outside [0, 1].
        title: What people call them.
    """

    content: str | None
    size: tuple[int, ...]
    channels: int
    standardize: bool = False
    title: str = "data"

    @property
    def unbounded(self) -> bool:
        """Whether values lie outside [0, 1]."""
        return self.standardize

    @property
    def shape(self) -> tuple[int, int, int] | None:
        """Channels, height and width."""
        return self.channels, self.size[0], self.size[-1]

    def pin(self, on_progress: Callable[[int, int], None] = lambda *_: None) -> "Memory":  # noqa: ARG002
        """The same settings: all is known."""
        return self

    def load(self) -> FactorDataset:
        """What was given in this process, if it is held.

        Raises:
            DataError: It is not; the message says what to do.
        """
        if (dataset := find_dataset(self.content)) is not None:
            return dataset
        raise DataError(
            "The data of this run was given in Python and is not stored; "
            "pass it again: unknot.load(path, data=...)."
        )
