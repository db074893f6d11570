"""FactorTable: labels that fill no grid, one row for each image."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NoReturn, TypeAlias

import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factors import KINDS, FactorSpace, Kind

Level: TypeAlias = str | int | float
"""What a user calls a value of a factor."""
MISSING = -1
"""The number of a level that nobody has given."""


@dataclass(frozen=True, eq=False)
class FactorTable:
    """Labels of rows: points may be missing or repeated, and single labels may be unknown.

    Args:
        names: One name per factor.
        kinds: As of `FactorSpace`, or ``continuous``: real numbers, each value a level.
        levels: The values of each factor, in order.
        values: The number of its level for each row and factor, -1 where it is missing.
        parts: For each row, whether its authors put it into the training (0), validation (1) or
            test part (2); None where they made no parts.

    Example:
        >>> table = FactorTable(
        ...     ("person", "age"), ("nominal", "ordered"), (("Ada", "Max"), (20, 30, 50)),
        ...     torch.tensor([[0, 2], [0, -1], [1, 0]]),
        ... )
        >>> table.size, table.sizes, table.factors(torch.tensor([2, 0])).tolist()
        (3, (2, 3), [[1, 0], [0, 2]])
        >>> table.numbers(1).tolist()
        [50.0, nan, 20.0]
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    levels: tuple[tuple[Level, ...], ...]
    values: Int[Tensor, "n f"]
    parts: Int[Tensor, " n"] | None = None
    is_grid: ClassVar[bool] = False
    stands_in: ClassVar[bool] = False

    def __post_init__(self) -> None:
        lengths = {len(self.names), len(self.kinds), len(self.levels)}
        if len(lengths) != 1 or 0 in lengths:
            raise DataError(
                "A table of labels needs a name, a kind and levels for each factor, and at least "
                f"one factor; got names {self.names} and kinds {self.kinds}."
            )
        if len(set(self.names)) != len(self.names):
            raise DataError(f"Labels must have different names; got {self.names}.")
        if unknown := set(self.kinds) - set(KINDS):
            raise DataError(f"Kinds of labels are {KINDS}; got {sorted(unknown)}.")
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise ShapeError(
                f"Expected labels [rows, {len(self.names)}]; got {tuple(self.values.shape)}."
            )
        sizes = torch.tensor(self.sizes)
        if bool(((self.values < MISSING) | (self.values >= sizes)).any()):
            raise DataError(f"Numbers of levels must lie in -1 .. size - 1 of {self.sizes}.")

    def __len__(self) -> int:
        return len(self.names)

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.values)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of levels of each factor."""
        return tuple(len(levels) for levels in self.levels)

    @cached_property
    def has_gaps(self) -> Bool[Tensor, " n"]:
        """Whether a row lacks a label."""
        return (self.values < 0).any(1)

    @cached_property
    def key(self) -> str:
        """A hash of names, kinds, levels and rows."""
        digest = hashlib.sha256(repr((self.names, self.kinds, self.levels)).encode())
        digest.update(self.values.long().contiguous().numpy().data)
        return digest.hexdigest()[:32]

    @property
    def summary(self) -> str:
        """Names, kinds and numbers of values, in a line."""
        texts = []
        for name, kind, column, size in zip(
            self.names, self.kinds, self.values.T, self.sizes, strict=True
        ):
            gaps = int((column < 0).sum())
            missing = f", {gaps:,} missing" if gaps else ""
            texts.append(f"{name} ({kind}, {size:,}{missing})")
        return ", ".join(texts)

    def factors(self, index: Int[Tensor, "*n"]) -> Int[Tensor, "*n f"]:
        """Numbers of levels of rows, -1 where a label is missing.

        Raises:
            DataError: A row number lies outside the table, or is no whole number.
        """
        if index.is_floating_point():
            raise DataError(f"Row numbers are whole numbers; got {index.dtype}.")
        self.check_rows(index)
        return self.values[index.long().cpu()].to(index.device)

    def check_rows(self, index: Int[Tensor, "*n"]) -> None:
        """Refuse row numbers outside the table."""
        if bool(((index < 0) | (index >= self.size)).any()):
            raise DataError(f"Row numbers must lie in 0 .. {self.size - 1}.")

    def numbers(self, factor: int) -> Float64[Tensor, " n"]:
        """A factor as real numbers, NaN where missing; of text, the numbers of its levels."""
        levels = self.levels[factor]
        texts = any(isinstance(level, str) for level in levels)
        scale = torch.tensor(
            [*(range(len(levels)) if texts else levels), torch.nan], dtype=torch.float64
        )
        return scale[self.values[:, factor]]

    def take(self, index: Int[Tensor, " n"]) -> "FactorTable":
        """Some rows, their levels numbered as here."""
        parts = None if self.parts is None else self.parts[index.long().cpu()]
        return FactorTable(self.names, self.kinds, self.levels, self.factors(index), parts)

    def require_grid(self, who: str) -> NoReturn:
        """Refuse: there is none.

        Args:
            who: What needs a full grid, in the plural, for the message.

        Raises:
            ConfigError: Always.
        """
        raise ConfigError(
            f"{who} need images for every combination of labels, each once; "
            f"these {self.size:,} rows of {', '.join(self.names)} do not fill such a grid."
        )


Space: TypeAlias = FactorSpace | FactorTable
"""The factors of a dataset: a full grid, or a table of labels."""


def as_table(space: Space, index: Int[Tensor, " n"]) -> FactorTable:
    """The labels of some rows."""
    if isinstance(space, FactorTable):
        return space.take(index)
    levels = tuple(tuple(range(size)) for size in space.sizes)
    return FactorTable(space.names, space.kinds, levels, space.factors(index))


def fill_grid(table: FactorTable) -> tuple[FactorSpace, Int[Tensor, " n"]] | None:
    """The grid that labels fill exactly once, and the row at each of its points; None if not.

    Example:
        >>> rows = torch.tensor([[1, 0], [0, 0], [0, 1], [1, 1]])
        >>> table = FactorTable(("a", "b"), ("ordered", "nominal"), ((1, 2), ("x", "y")), rows)
        >>> space, order = fill_grid(table)
        >>> space.sizes, order.tolist()
        ((2, 2), [1, 2, 0, 3])
    """
    if "continuous" in table.kinds or bool(table.has_gaps.any()) or not _fits(table):
        return None
    space = FactorSpace(table.names, table.sizes, table.kinds)
    order = space.index(table.values).argsort()
    filled = torch.equal(space.index(table.values)[order], torch.arange(space.size))
    return (space, order) if filled else None


def _fits(table: FactorTable) -> bool:
    points = 1
    for size in table.sizes:
        points *= size
    return points == table.size


def text_levels(levels: Sequence[Level]) -> tuple[str, ...]:
    """Levels as people read them."""
    return tuple(f"{level:g}" if isinstance(level, float) else str(level) for level in levels)
