"""dSprites in colours."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset, Images
from unknot.data.dsprites import SPACE, DSprites
from unknot.data.parts.images import VERSIONS, check_seed, seed_beside


@dataclass(frozen=True)
class ColorDSprites:
    r"""Color-dSprites: each sprite in a random colour, on black.

    With the sprite $m \in \{0, 1\}$ and a colour $c \sim U[0.5, 1]^3$ for each image, $x = m c$.
    The colour is a nuisance: it says nothing about any factor and is drawn anew whenever training
    comes to a row.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: the paper draws anew for scores too. Here scores, codes and pictures take one draw for
    each row, always the same.

    Args:
        seed: Of the colours.
    """

    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self)

    def load(self) -> FactorDataset:
        """The sprites of `DSprites`; they are coloured on request."""
        images = Coloured(DSprites().load().images, self.seed)
        return FactorDataset("color_dsprites", SPACE, images)


@dataclass(frozen=True)
class Coloured:
    """Sprites of one colour before black."""

    sprites: Images
    seed: int
    versions: int = VERSIONS

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, *self.sprites.shape[1:]

    def colour(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n 3"]:
        """The colour of each image: a pure function of seed, row and version."""
        seed = seed_beside(index, self.seed)
        return 0.5 + 0.5 * noise.uniform(seed, "data/color_dsprites", index, 3)

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows and versions."""
        sprite = self.sprites.pixels(index % SPACE.size) > 0
        colour = self.colour(index.to(sprite.device))
        return torch.where(sprite, colour[..., None, None], 0.0)

    def to(self, device: torch.device) -> "Coloured":
        """The same images held by another device."""
        return replace(self, sprites=self.sprites.to(device))
