"""Stored numbers that are no images: rows of a table, and signals."""

from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int
from torch import Tensor

from unknot.data.parts.images import Stored, Streamed


@dataclass(frozen=True)
class Values(Stored):
    """Numbers of any size as they are: of a table one pixel with a channel for each column."""

    def scale(self, stored: Float32[Tensor, "*n c h w"]) -> Float32[Tensor, "*n c h w"]:
        """As they are."""
        return stored


@dataclass(frozen=True)
class SparseValues:
    """Rows of a table of which most numbers are 0: the others are stored, by rows."""

    starts: Int[Tensor, " rows"]
    """Where each row begins among the numbers, and where the last one ends."""
    columns: Int[Tensor, " k"]
    numbers: Float32[Tensor, " k"]
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """One channel for each column, one pixel."""
        return self.width, 1, 1

    def pixels(self, index: Int[Tensor, "*n"]) -> Float32[Tensor, "*n d 1 1"]:
        """Numbers of the given rows, with their zeros."""
        flat = index.reshape(-1)
        first, counts = self.starts[flat], self.starts[flat + 1] - self.starts[flat]
        row = torch.repeat_interleave(counts)
        place = torch.arange(len(row)) - (counts.cumsum(0) - counts - first)[row]
        dense = torch.zeros(len(flat), self.width)
        dense[row, self.columns[place].long()] = self.numbers[place]
        return dense.reshape(*index.shape, *self.shape)

    def to(self, device: torch.device) -> "SparseValues | Stored | Streamed":
        """The same numbers on another device, where they are stored with their zeros."""
        if device.type == "cpu":
            return self
        return Values(self.pixels(torch.arange(len(self)))).to(device)
