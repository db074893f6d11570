"""Nuisances: what differs between images of the same factors, sampled for each variant."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError

VARIANTS = 2**32
"""Of images by formula: so many that training hardly sees one twice."""


def check_seed(settings: Any) -> None:
    """Check the seed of a dataset; for ``__post_init__``."""
    if not 0 <= settings.seed < 2**63:
        raise ConfigError(
            f"{type(settings).__name__}.seed must be a whole number from 0 to 2**63 - 1; "
            f"got {settings.seed}."
        )


def seed_on_device(index: Int[Tensor, "*n"], seed: int) -> Int[Tensor, ""]:
    """A seed where row numbers are, filled in: a copy could not be in a CUDA graph."""
    return torch.full((), seed, device=index.device)


@runtime_checkable
class Paint(Protocol):
    """How sprites and what is behind them look, as a pure function of row and variant."""

    def images(
        self, sprite: Bool[Tensor, "*n 1 h w"], index: Int[Tensor, "*n"]
    ) -> Float[Tensor, "*n 3 h w"]:
        """Images of sprites, which are True where they cover what is behind them."""
        ...

    def to(self, device: torch.device) -> "Paint":
        """The same on another device."""
        ...


@dataclass(frozen=True)
class PaintedSprites:
    """Sprites in three channels, with nuisances that tell nothing about any factor."""

    sprites: FactorDataset
    paint: Paint
    variants: int = VARIANTS

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, *self.sprites.shape[1:]

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows and variants."""
        sprite = self.sprites.images.pixels(index % len(self.sprites)) > 0
        return self.paint.images(sprite, index.to(sprite.device))

    def to(self, device: torch.device) -> "PaintedSprites":
        """The same images held by another device."""
        return replace(self, sprites=self.sprites.to(device), paint=self.paint.to(device))


def paint_dataset(name: str, sprites: FactorDataset, paint: Paint) -> FactorDataset:
    """A dataset of the factors of some sprites, painted on request."""
    return FactorDataset(name, sprites.space, PaintedSprites(sprites, paint))
