"""FactorSpace: a named grid of factor values, and the row number of each of its points."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core.errors import DataError, ShapeError
from unknot.core.typed import check_fields

Kind: TypeAlias = Literal["ordered", "cyclic", "nominal", "continuous"]
KINDS: tuple[Kind, ...] = ("ordered", "cyclic", "nominal", "continuous")
GRID_KINDS = KINDS[:3]
"""A grid has few values of each factor."""


@dataclass(frozen=True)
class FactorSpace:
    """The full product of factor values, in mixed-radix order with the last factor fastest.

    Args:
        names: One name per factor.
        sizes: Number of values per factor.
        kinds: ``ordered`` (scale), ``cyclic`` (orientation) or ``nominal`` (shape).

    Example:
        >>> space = FactorSpace(("shape", "x"), (3, 4), ("nominal", "ordered"))
        >>> space.size
        12
        >>> space.index(torch.tensor([2, 1])).item()
        9
        >>> space.factors(torch.tensor([9, 0])).tolist()
        [[2, 1], [0, 0]]
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    kinds: tuple[Kind, ...]
    is_grid: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self, "names", "sizes", "kinds")
        lengths = {len(self.names), len(self.sizes), len(self.kinds)}
        if len(lengths) != 1 or 0 in lengths:
            raise DataError(
                "A factor space needs one name, size and kind per factor and at least one factor; "
                f"got names {self.names}, sizes {self.sizes}, kinds {self.kinds}."
            )
        if len(set(self.names)) != len(self.names):
            raise DataError(f"Factor names must differ from each other; got {self.names}.")
        if min(self.sizes) < 1:
            raise DataError(f"Each factor needs at least one value; got sizes {self.sizes}.")
        if unknown := set(self.kinds) - set(GRID_KINDS):
            raise DataError(f"Factor kinds are {GRID_KINDS}; got {sorted(unknown)}.")
        if self.size > torch.iinfo(torch.int64).max:
            raise DataError(f"The grid {self.sizes} has more points than a 64-bit row number.")

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def stands_in(self) -> bool:
        """Whether row numbers stand in for factors that nobody has given."""
        return self.names == ("index",) and self.kinds == ("nominal",)

    @cached_property
    def size(self) -> int:
        """Number of grid points."""
        return math.prod(self.sizes)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """How far apart two neighbours along each factor lie in row numbers."""
        return tuple(math.prod(self.sizes[i + 1 :]) for i in range(len(self.sizes)))

    def index(self, factors: Int[Tensor, "*n f"]) -> Int[Tensor, "*n"]:
        """Row numbers of factor tuples of any leading shape.

        Raises:
            ShapeError: The last axis is not one column per factor.
            DataError: A value lies outside its factor's range.
        """
        if factors.shape[-1:] != (len(self),):
            raise ShapeError(
                f"Expected {len(self)} factors {self.names} on the last axis; "
                f"got shape {tuple(factors.shape)}."
            )
        if factors.is_floating_point():
            raise DataError(f"Factor values are whole numbers; got {factors.dtype}.")
        factors = factors.long()
        sizes = torch.tensor(self.sizes, device=factors.device)
        if bool(((factors < 0) | (factors >= sizes)).any()):
            raise DataError(f"Factor values must lie in 0 .. size - 1 of the sizes {self.sizes}.")
        return (factors * torch.tensor(self.strides, device=factors.device)).sum(-1)

    def factors(self, index: Int[Tensor, "*n"]) -> Int[Tensor, "*n f"]:
        """Factor tuples of row numbers of any shape.

        Raises:
            DataError: A row number lies outside the grid, or is no whole number.
        """
        if index.is_floating_point():
            raise DataError(f"Row numbers are whole numbers; got {index.dtype}.")
        index = index.long()
        self.check_rows(index)
        sizes = torch.tensor(self.sizes, device=index.device)
        strides = torch.tensor(self.strides, device=index.device)
        return (index.unsqueeze(-1) // strides) % sizes

    def check_rows(self, index: Int[Tensor, "*n"]) -> None:
        """Refuse row numbers outside the grid."""
        if bool(((index < 0) | (index >= self.size)).any()):
            raise DataError(f"Row numbers must lie in 0 .. {self.size - 1}.")

    def require_grid(self, who: str) -> "FactorSpace":  # noqa: ARG002
        """Itself; a table of labels refuses here."""
        return self

    def traversal(self, index: Int[Tensor, "*n"], factor: int) -> Int[Tensor, "*n values"]:
        """Row numbers of all values of one factor, the other factors held as in ``index``.

        Example:
            >>> space = FactorSpace(("a", "b"), (3, 4), ("ordered", "ordered"))
            >>> space.traversal(torch.tensor(5), 0).tolist()
            [1, 5, 9]

        Raises:
            DataError: A row number lies outside the grid.
        """
        self.check_rows(index)
        stride, size = self.strides[factor], self.sizes[factor]
        start = index - (index // stride) % size * stride
        return start.unsqueeze(-1) + torch.arange(size, device=index.device) * stride
