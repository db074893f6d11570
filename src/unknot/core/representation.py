"""Representation: a factor grid and the code of each of its points."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.errors import DataError, ShapeError
from unknot.core.factors import FactorSpace


@dataclass(frozen=True)
class Representation:
    """Codes of a grid's points, by row number; made by `whole` or `lazy`.

    A score asks for the rows it needs and cannot tell whether they were there already. Codes are
    posterior means.
    """

    space: FactorSpace
    latents: int
    rows: Callable[[Tensor], Tensor]

    @classmethod
    def whole(cls, space: FactorSpace, codes: Float[Tensor, "size z"]) -> "Representation":
        """All codes at once, in grid order.

        Raises:
            ShapeError: There is not one row per grid point.
            DataError: A code is not finite.
        """
        if codes.ndim != 2 or len(codes) != space.size:
            raise ShapeError(
                f"Expected {space.size} rows of codes, one per grid point; "
                f"got shape {tuple(codes.shape)}."
            )
        if not bool(codes.isfinite().all()):
            raise DataError("Some codes are NaN or infinite; a diverged model cannot be scored.")
        return cls(space, codes.shape[1], lambda index: codes[index])

    @classmethod
    def lazy(
        cls, space: FactorSpace, latents: int, encode: Callable[[Tensor], Tensor]
    ) -> "Representation":
        """Codes on request: ``encode`` gets row numbers, each row at most once."""
        return cls(space, latents, Once(encode, space.size))

    def codes(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n z"]:
        """Codes of the given rows.

        Raises:
            DataError: A row is outside the grid, or its code is not finite.
        """
        if bool(((index < 0) | (index >= self.space.size)).any()):
            raise DataError(f"Row numbers must lie in 0 .. {self.space.size - 1}.")
        codes = self.rows(index.flatten()).reshape(*index.shape, self.latents)
        if not bool(codes.isfinite().all()):
            raise DataError("Some codes are NaN or infinite; a diverged model cannot be scored.")
        return codes

    def factors(self, index: Int[Tensor, "*n"]) -> Int[Tensor, "*n f"]:
        """Factor values of the given rows."""
        return self.space.factors(index)


class Once:
    """Codes by row number, each row encoded when it is first asked for and remembered.

    Of several models, all encode a row together, and each has its codes in one piece: who asks for
    those of one does not touch the others'.
    """

    def __init__(self, encode: Callable[[Tensor], Tensor], size: int) -> None:
        """Remember rows of a grid of some size."""
        self.encode = encode
        self.size, self.count = size, 0
        self.codes = torch.empty(0, 0)  # in the order in which they came, and room for more
        self.known = _Table(size) if size <= LARGEST else _Sorted()

    def __call__(self, index: Int[Tensor, " n"], model: int | None = None) -> Float[Tensor, "n z"]:
        """Codes of the given rows; of one of the models, where ``encode`` gives ``[p, n, z]``."""
        place = self.known.place(index)
        if bool((place < 0).any()):
            new = index[place < 0].unique()
            self._add(self.encode(new))
            self.known.add(new, self.count - len(new))
            place = self.known.place(index)
        return (self.codes if model is None else self.codes[model])[place]

    def _add(self, codes: Tensor) -> None:
        """Put codes behind those that are there, with room for twice as many where it is short.

        Rows come in dozens of portions, and codes of many models are gigabytes: not to be copied
        each time.
        """
        before, self.count = self.count, self.count + codes.shape[-2]
        if self.count > self.codes.shape[-2]:
            room = min(max(2 * before, self.count), self.size)
            wider = codes.new_empty(*codes.shape[:-2], room, codes.shape[-1])
            if before:
                wider[..., :before, :] = self.codes[..., :before, :]
            self.codes = wider
        self.codes[..., before : self.count, :] = codes


LARGEST = 20_000_000
"""Rows of a grid that has a place for each of them in memory. Votes ask for a million rows, and a
table finds them many times faster than a search."""


class _Table:
    """Where rows stand, by row number."""

    def __init__(self, size: int) -> None:
        self.places = torch.full((size,), -1, dtype=torch.int32)

    def add(self, rows: Tensor, first: int) -> None:
        self.places[rows] = torch.arange(first, first + len(rows), dtype=torch.int32)

    def place(self, index: Tensor) -> Tensor:
        """The place of each row, or -1."""
        return self.places[index].long()


class _Sorted:
    """Where rows stand, by search; memory for those that are known alone."""

    def __init__(self) -> None:
        self.rows = self.places = torch.empty(0, dtype=torch.int64)

    def add(self, rows: Tensor, first: int) -> None:
        self.rows, order = torch.cat([self.rows, rows]).sort()
        self.places = torch.cat([self.places, torch.arange(first, first + len(rows))])[order]

    def place(self, index: Tensor) -> Tensor:
        """The place of each row, or -1."""
        if not len(self.rows):
            return torch.full_like(index, -1)
        at = torch.searchsorted(self.rows, index).clamp(max=len(self.rows) - 1)
        return torch.where(self.rows[at] == index, self.places[at], -1)
