"""Stored numbers that are no images: rows of a table, and signals."""

from dataclasses import dataclass

import torch
from jaxtyping import Float32, Int
from torch import Tensor


@dataclass(frozen=True)
class Values:
    """Numbers of any size as they are: of a table one pixel with a channel for each column."""

    stored: Float32[Tensor, "n c h w"]

    def __len__(self) -> int:
        return len(self.stored)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        c, h, w = self.stored.shape[1:]
        return c, h, w

    def pixels(self, index: Int[Tensor, "*n"]) -> Float32[Tensor, "*n c h w"]:
        """Numbers of the given rows."""
        return self.stored[index]

    def to(self, device: torch.device) -> "Values":
        """The same numbers on another device."""
        return Values(self.stored.to(device))


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

    def to(self, device: torch.device) -> "Values | SparseValues":
        """The same numbers on another device, where they are stored with their zeros."""
        if device.type == "cpu":
            return self
        return Values(self.pixels(torch.arange(len(self))).to(device))
