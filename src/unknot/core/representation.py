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
        if codes.shape[0] != space.size:
            raise ShapeError(f"Expected {space.size} rows, one per grid point; got {len(codes)}.")
        if not bool(codes.isfinite().all()):
            raise DataError("Some codes are NaN or infinite; a diverged model cannot be scored.")
        return cls(space, codes.shape[1], lambda index: codes[index])

    @classmethod
    def lazy(
        cls, space: FactorSpace, latents: int, encode: Callable[[Tensor], Tensor]
    ) -> "Representation":
        """Codes on request: ``encode`` gets row numbers, each row at most once."""
        return cls(space, latents, Once(encode))

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
    """Codes by row number, each row encoded when it is first asked for and remembered."""

    def __init__(self, encode: Callable[[Tensor], Tensor]) -> None:
        self.encode = encode
        self.known = torch.empty(0, dtype=torch.int64)  # sorted
        self.codes = torch.empty(0, 0)

    def __call__(self, index: Int[Tensor, " n"]) -> Float[Tensor, "n z"]:
        """Codes of the given rows."""
        wanted = index.unique()
        new = wanted[~torch.isin(wanted, self.known)]
        if len(new):
            codes = self.encode(new)
            known, order = torch.cat([self.known, new]).sort()
            self.codes = torch.cat([self.codes, codes])[order] if len(self.codes) else codes
            self.known = known
        return self.codes[torch.searchsorted(self.known, index)]
