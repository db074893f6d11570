"""dSprites on noise."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset, Images
from unknot.data.dsprites import SPACE, DSprites
from unknot.data.parts.images import VERSIONS, check_seed, seed_beside


@dataclass(frozen=True)
class NoisyDSprites:
    r"""Noisy-dSprites: white sprites on coloured noise.

    With the sprite $m \in \{0, 1\}$ and $u \sim U[0, 1]$ for each pixel and channel,
    $x = \min(m + u, 1)$. The noise is a nuisance: it says nothing about any factor and is drawn
    anew whenever training comes to a row.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: the paper draws anew for scores too. Here scores, codes and pictures take one draw for
    each row, always the same.

    Args:
        seed: Of the noise.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self)

    def load(self) -> FactorDataset:
        """The sprites of `DSprites`; noise is added on request."""
        images = OnNoise(DSprites().load().images, self.seed)
        return FactorDataset("noisy_dsprites", SPACE, images)


@dataclass(frozen=True)
class OnNoise:
    """White sprites before uniform noise."""

    sprites: Images
    seed: int
    versions: int = VERSIONS

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, *self.sprites.shape[1:]

    def background(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n 3 h w"]:
        """The noise of each image: a pure function of seed, row and version."""
        seed = seed_beside(index, self.seed)
        return noise.uniform(seed, "data/noisy_dsprites", index, *self.shape)

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows and versions."""
        sprite = self.sprites.pixels(index % SPACE.size) > 0
        return torch.where(sprite, 1.0, self.background(index.to(sprite.device)))

    def to(self, device: torch.device) -> "OnNoise":
        """The same images held by another device."""
        return replace(self, sprites=self.sprites.to(device))
