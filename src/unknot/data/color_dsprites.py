"""dSprites in colours."""

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
class ColorDSprites:
    r"""Color-dSprites: each sprite in a random colour, on black.

    With the sprite $m \in \{0, 1\}$ and a colour $c \sim U[0.5, 1]^3$ for each image, $x = m c$.
    The colour is a nuisance: it says nothing about any factor and is sampled again whenever
    training comes to a row.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: the paper samples them again for scores. Here scores, codes and pictures use the same
    nuisance of a row every time.

    Args:
        seed: Of the colours.

    Example: `unknot.train(data.ColorDSprites(seed=1))`
    """

    space: ClassVar[FactorSpace] = SPACE
    shape: ClassVar[tuple[int, int, int]] = (3, SIDE, SIDE)

    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self)

    def load(self) -> FactorDataset:
        """The sprites of `DSprites`; they are coloured on request."""
        return paint_dataset("color_dsprites", DSprites().load(), SpriteColor(self.seed))


@dataclass(frozen=True)
class SpriteColor:
    """Sprites of one colour before black."""

    seed: int

    def color(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n 3"]:
        """The colour of each image: a pure function of seed, row and variant."""
        seed = seed_on_device(index, self.seed)
        return 0.5 + 0.5 * noise.uniform(seed, "data/color_dsprites", index, 3)

    def images(
        self, sprite: Bool[Tensor, "*n 1 h w"], index: Int[Tensor, "*n"]
    ) -> Float[Tensor, "*n 3 h w"]:
        """Coloured where the sprite is."""
        return torch.where(sprite, self.color(index)[..., None, None], 0.0)

    def to(self, device: torch.device) -> "SpriteColor":  # noqa: ARG002 - the protocol's
        """A formula, the same everywhere."""
        return self
