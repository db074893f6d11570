"""Stored images of which each row has variants: the same factors, another nuisance."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import Images


@dataclass(frozen=True)
class StoredVariants:
    """All rows of variant 0, then all of variant 1 and so on: an index is the place itself."""

    images: Images
    variants: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return self.images.shape

    @property
    def streamed(self) -> bool:
        """Whether they stay in the host's memory."""
        return bool(getattr(self.images, "streamed", False))

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows and variants."""
        return self.images.pixels(index)

    def to(self, device: torch.device) -> "StoredVariants":
        """The same images held by another device."""
        return StoredVariants(self.images.to(device), self.variants)
