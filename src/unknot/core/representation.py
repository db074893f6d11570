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
        return cls(space, latents, _Once(encode, latents))

    def codes(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n z"]:
        """Codes of the given rows."""
        return self.rows(index.flatten()).reshape(*index.shape, self.latents)

    def factors(self, index: Int[Tensor, "*n"]) -> Int[Tensor, "*n f"]:
        """Factor values of the given rows."""
        return self.space.factors(index)


class _Once:
    """Remembers the rows it has encoded, sorted by row number."""

    def __init__(self, encode: Callable[[Tensor], Tensor], latents: int) -> None:
        self.encode = encode
        self.known = torch.empty(0, dtype=torch.int64)
        self.codes = torch.empty(0, latents)

    def __call__(self, index: Tensor) -> Tensor:
        wanted = index.unique()
        new = wanted[~torch.isin(wanted, self.known)]
        if len(new):
            known, codes = torch.cat([self.known, new]), self.encode(new)
            order = known.argsort()
            self.codes = torch.cat([self.codes.to(codes), codes])[order]
            self.known = known[order]
        return self.codes[torch.searchsorted(self.known, index)]
