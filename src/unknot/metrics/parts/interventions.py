"""Codes of points that share a factor: by row number of a grid, or among given rows.

``hold`` gives batches in which a factor has one value, ``pairs`` batches of pairs that agree in it.
Row numbers are drawn on the CPU wherever the codes are: a lazy representation keeps count there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import ClassVar, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import DataError
from unknot.core.representation import Representation
from unknot.metrics.parts.information import discretize
from unknot.metrics.parts.rows import Rows

FEWEST_IN_GROUP = 10
"""A value of a factor with fewer rows cannot show how codes vary while it is fixed."""
CHUNK = 1_000
"""Votes computed at once; keeps memory flat whatever the protocol asks for."""


@dataclass(frozen=True)
class VoteNoise:
    """Random integers of votes; each vote has its own step, so chunks do not change them."""

    seed: int
    stream: str
    votes: Int[Tensor, " v"]

    def integers(self, name: str, n: int, high: int = 2**62) -> Int[Tensor, "v n"]:
        """Uniform integers ``[v, n]``; without ``high`` to be taken modulo something small."""
        return noise.integers(self.seed, f"{self.stream}/{name}", self.votes, n, high=high)


@dataclass(frozen=True)
class Grid:
    """Interventions on a grid: the other factors are drawn afresh, and every point has a code."""

    representation: Representation
    columns: tuple[int, ...]
    """Which factors of the grid vary."""
    remarks: ClassVar[tuple[str, ...]] = ()
    groups: ClassVar[list[int]] = []

    def hold(
        self, factor: Int[Tensor, " v"], batch: int, numbers: VoteNoise
    ) -> Float[Tensor, "v b z"]:
        """One value for the batch: that of its first point."""
        index = numbers.integers("rows", batch, self.representation.space.size)
        return self._codes(self._moved(index, index[:, :1], factor))

    def pairs(
        self, factor: Int[Tensor, " v"], batch: int, numbers: VoteNoise
    ) -> tuple[Float[Tensor, "v b z"], Float[Tensor, "v b z"]]:
        """Two points, the second moved to the value of the first."""
        size = self.representation.space.size
        first, second = (numbers.integers(name, batch, size) for name in ("rows", "partners"))
        return self._codes(first), self._codes(self._moved(second, first, factor))

    def _moved(self, index: Tensor, like: Tensor, factor: Tensor) -> Tensor:
        """Row numbers of the points whose factor takes the value it has in ``like``."""
        space = self.representation.space.require_grid("Votes")
        columns = torch.tensor(self.columns)[factor]
        stride = torch.tensor(space.strides)[columns][:, None]
        size = torch.tensor(space.sizes)[columns][:, None]
        return index + (like // stride % size - index // stride % size) * stride

    def _codes(self, index: Tensor) -> Tensor:
        return self.representation.codes(index).detach().double()


@dataclass(frozen=True)
class Groups:
    """Interventions on given rows: rows of equal factor value stand in for holding it."""

    codes: Float[Tensor, "n z"]
    order: Int[Tensor, "n f"]
    """Row numbers sorted by level, for each factor."""
    starts: Int[Tensor, "f l"]
    sizes: Int[Tensor, "f l"]
    """Where the rows of a usable level start in the order, and how many there are."""
    usable: Int[Tensor, " f"]
    """How many levels have rows enough."""
    remarks: tuple[str, ...] = ()
    """Which levels have not."""

    @classmethod
    def from_rows(cls, rows: Rows, levels: Int[Tensor, "n f"]) -> "Groups":
        """Sort rows by level."""
        levels = levels.cpu()
        starts, sizes, usable, remarks = [], [], [], []
        widest = int(levels.max()) + 1
        for name, level in zip(rows.names, levels.T, strict=True):
            size = torch.bincount(level, minlength=widest)
            keep = size >= FEWEST_IN_GROUP
            if int(keep.sum()) < 2:
                raise DataError(
                    f"Too few rows to hold {name}: at least two of its values need "
                    f"{FEWEST_IN_GROUP} rows each, the most frequent has {int(size.max())}. Give "
                    "more rows or a Representation of the whole grid."
                )
            if (count := int(keep.sum())) < (values := int((size > 0).sum())):
                remarks.append(
                    f"{name} held at {count} of {values} values, which have {FEWEST_IN_GROUP} rows"
                )
            # Usable levels first, so that a number below `usable` finds one.
            first = (~keep).long().argsort(stable=True)
            starts.append((size.cumsum(0) - size)[first])
            sizes.append(size[first])
            usable.append(keep.sum())
        order = levels.argsort(dim=0, stable=True)
        tables = (torch.stack(starts), torch.stack(sizes), torch.stack(usable))
        return cls(rows.codes, order, *tables, tuple(remarks))

    @property
    def groups(self) -> list[int]:
        """How many groups of rows stand in for holding each factor."""
        numbers: list[int] = self.usable.tolist()
        return numbers

    def hold(
        self, factor: Int[Tensor, " v"], batch: int, numbers: VoteNoise
    ) -> Float[Tensor, "v b z"]:
        """A value drawn uniformly, and rows that have it, drawn with replacement."""
        level = numbers.integers("values", 1) % self.usable[factor][:, None]
        place = numbers.integers("rows", batch) % self._size(factor, level)
        return self.codes[self._row(factor, level, place)]

    def pairs(
        self, factor: Int[Tensor, " v"], batch: int, numbers: VoteNoise
    ) -> tuple[Float[Tensor, "v b z"], Float[Tensor, "v b z"]]:
        """A value drawn for each pair, and two different rows that have it."""
        level = numbers.integers("values", batch) % self.usable[factor][:, None]
        size = self._size(factor, level)
        first = numbers.integers("rows", batch) % size
        second = (first + 1 + numbers.integers("partners", batch) % (size - 1)) % size
        return (
            self.codes[self._row(factor, level, first)],
            self.codes[self._row(factor, level, second)],
        )

    def _size(self, factor: Tensor, level: Tensor) -> Tensor:
        return self.sizes[factor[:, None], level]

    def _row(self, factor: Tensor, level: Tensor, place: Tensor) -> Tensor:
        return self.order[self.starts[factor[:, None], level] + place, factor[:, None]]


Source: TypeAlias = Grid | Groups
"""Where votes come from; ``factor`` numbers the factors of the rows, one per vote."""


def source(rows: Rows, factor_bins: int | None) -> Source:
    """A grid's points where there is a grid, else the given rows; binned factors need rows."""
    if rows.grid and factor_bins is None:
        names = rows.grid.space.names
        return Grid(rows.grid, tuple(names.index(name) for name in rows.names))
    levels = rows.levels
    if factor_bins is not None:
        levels = discretize(rows.values.double(), factor_bins, "width")
    return Groups.from_rows(rows, levels)


def batches(
    factors: int, votes: int, seed: int, stream: str, *, balanced: bool = False
) -> Iterator[tuple[Int[Tensor, " v"], VoteNoise]]:
    """Votes in chunks: the factor each vote holds, and its random numbers.

    Factors are drawn uniformly, or come in turn where they are ``balanced``.
    """
    for first in range(0, votes, CHUNK):
        numbers = VoteNoise(seed, stream, torch.arange(first, min(first + CHUNK, votes)))
        factor = numbers.integers("factors", 1, factors)[:, 0]
        yield numbers.votes % factors if balanced else factor, numbers


def accuracy_values(
    train: Float[Tensor, ""], test: Float[Tensor, ""], factors: int, *, rescaled: bool
) -> dict[str, Float[Tensor, ""]]:
    """Values of a metric that is the accuracy of naming one of the factors.

    ``rescaled`` counts from chance instead of from 0; it says which of the two is the score.
    """
    chance = 1 / factors
    above = (test - chance) / (1 - chance) if factors > 1 else test
    score = above if rescaled else test
    return {"": score, "accuracy": test, "rescaled": above, "train_accuracy": train}


def chance_remark(accuracy: Float[Tensor, ""], factors: int, count: int) -> tuple[str, ...]:
    """That an accuracy is what guessing would reach, if it is not above by two standard errors.

    Args:
        accuracy: Of naming one of the factors.
        factors: How many there are.
        count: Of points or votes whose factor was named.
    """
    chance = 1 / factors
    error = sqrt(chance * (1 - chance) / max(count, 1))
    if factors == 1 or not count or float(accuracy) > chance + 2 * error:
        return ()
    return (f"at chance level: guessing one of {factors} factors is right in {chance:.0%}",)
