"""dSprites on noise."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.data.dsprites import SPACE, DSprites
from unknot.data.parts.nuisances import check_seed, paint_dataset, seed_on_device
from unknot.data.parts.sprites import SIDE


@dataclass(frozen=True)
class NoisyDSprites:
    r"""Noisy-dSprites: white sprites on coloured noise.

    With the sprite $m \in \{0, 1\}$ and $u \sim U[0, 1]$ for each pixel and channel,
    $x = \min(m + u, 1)$. The noise is a nuisance: it says nothing about any factor and is
    sampled again whenever training comes to a row.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: the paper samples them again for scores. Here scores, codes and pictures use the same
    nuisance of a row every time.

    Args:
        seed: Of the noise.

    Example: `unknot.train(data.NoisyDSprites(seed=1))`
    """

    space: ClassVar[FactorSpace] = SPACE
    shape: ClassVar[tuple[int, int, int]] = (3, SIDE, SIDE)

    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self)

    def load(self) -> FactorDataset:
        """The sprites of `DSprites`; noise is added on request."""
        return paint_dataset("noisy_dsprites", DSprites().load(), OnNoise(self.seed))


@dataclass(frozen=True)
class OnNoise:
    """White sprites before uniform noise."""

    seed: int

    def background(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n 3 h w"]:
        """The noise of each image: a pure function of seed, row and variant."""
        seed = seed_on_device(index, self.seed)
        return noise.uniform(seed, "data/noisy_dsprites", index, 3, SIDE, SIDE)

    def images(
        self, sprite: Bool[Tensor, "*n 1 h w"], index: Int[Tensor, "*n"]
    ) -> Float[Tensor, "*n 3 h w"]:
        """White where the sprite is."""
        return torch.where(sprite, 1.0, self.background(index))

    def to(self, device: torch.device) -> "OnNoise":  # noqa: ARG002 - the protocol's
        """A formula, the same everywhere."""
        return self
