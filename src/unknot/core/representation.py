"""Representation: a factor grid and the code of each of its points."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from unknot.core.errors import DataError, ShapeError
from unknot.core.factor_table import Space


@dataclass(frozen=True)
class Representation:
    """Codes of a grid's points, by row number; made by `whole` or `lazy`.

    A score asks for the rows it needs and cannot tell whether they were there already. Codes are
    posterior means.
    """

    space: Space
    latents: int
    rows: Callable[[Tensor], Tensor]

    @classmethod
    def whole(cls, space: Space, codes: Float[Tensor, "size z"]) -> "Representation":
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
        _check_finite(codes)
        return cls(space, codes.shape[1], lambda index: codes[index])

    @classmethod
    def lazy(
        cls, space: Space, latents: int, encode: Callable[[Tensor], Tensor]
    ) -> "Representation":
        """Codes on request: ``encode`` gets row numbers, each row at most once."""
        return cls(space, latents, CodeCache(encode, space.size))

    def codes(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n z"]:
        """Codes of the given rows.

        Raises:
            DataError: A row is outside the grid, or its code is not finite.
        """
        self.space.check_rows(index)
        codes = self.rows(index.flatten()).reshape(*index.shape, self.latents)
        _check_finite(codes)
        return codes

    def factors(self, index: Int[Tensor, "*n"]) -> Int[Tensor, "*n f"]:
        """Factor values of the given rows."""
        return self.space.factors(index)


def _check_finite(codes: Tensor) -> None:
    if not bool(codes.isfinite().all()):
        raise DataError("Some codes are NaN or infinite; a diverged model cannot be scored.")


class CodeCache:
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
        rows = index.cpu().numpy()
        place = self.known.place(rows)
        if (place < 0).any():
            new = np.unique(rows[place < 0])
            self._add(self.encode(torch.from_numpy(new)))
            self.known.add(new, self.count - len(new))
            place = self.known.place(rows)
        codes = self.codes if model is None else self.codes[model]
        if codes.device.type != "cpu":
            return codes[torch.from_numpy(place)]
        # Five times as fast as torch, and it wakes no threads where all cores are busy with scores.
        return torch.from_numpy(codes.numpy().take(place, axis=0))

    def _add(self, codes: Tensor) -> None:
        """Put codes behind those that are there.

        Rows come in dozens of portions, and codes of many models are gigabytes: not to be copied
        each time. There is room for all of them, where that is not too much to ask for, or for
        twice as many as there are.
        """
        before, self.count = self.count, self.count + codes.shape[-2]
        if self.count > self.codes.shape[-2]:
            lazy = codes.device.type == "cpu"  # the system gives memory to what is written
            fits = lazy and codes[..., :1, :].nbytes * self.size <= ROOM
            room = self.size if fits else min(max(2 * before, self.count), self.size)
            wider = codes.new_empty(*codes.shape[:-2], room, codes.shape[-1])
            if before:
                wider[..., :before, :] = self.codes[..., :before, :]
            self.codes = wider
        self.codes[..., before : self.count, :] = codes


ROOM = 2**32
"""Bytes that are asked for at once."""
Numbers: TypeAlias = NDArray[np.int64]
LARGEST = 20_000_000
"""Rows of a grid that has a place for each of them in memory. Votes ask for a million rows, and a
table finds them many times faster than a search."""


class _Table:
    """Where rows stand, by row number."""

    def __init__(self, size: int) -> None:
        self.places = np.full(size, -1, dtype=np.int32)

    def add(self, rows: Numbers, first: int) -> None:
        self.places[rows] = np.arange(first, first + len(rows))

    def place(self, rows: Numbers) -> Numbers:
        """The place of each row, or -1."""
        return self.places.take(rows).astype(np.int64)


class _Sorted:
    """Where rows stand, by search; memory for those that are known alone."""

    def __init__(self) -> None:
        self.rows = self.places = np.empty(0, dtype=np.int64)

    def add(self, rows: Numbers, first: int) -> None:
        both = np.concatenate([self.rows, rows])
        order = both.argsort()
        self.rows = both[order]
        self.places = np.append(self.places, np.arange(first, first + len(rows)))[order]

    def place(self, rows: Numbers) -> Numbers:
        """The place of each row, or -1."""
        if not len(self.rows):
            return np.full(len(rows), -1)
        place = np.searchsorted(self.rows, rows).clip(max=len(self.rows) - 1)
        return np.where(self.rows[place] == rows, self.places[place], -1)
