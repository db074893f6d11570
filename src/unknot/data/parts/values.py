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
