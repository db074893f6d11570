"""dSprites on pieces of a painting."""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.errors import DataError
from unknot.data.dsprites import SPACE, DSprites
from unknot.data.parts.backgrounds import read_picture
from unknot.data.parts.images import unit_interval
from unknot.data.parts.nuisances import check_seed, paint_dataset, seed_on_device
from unknot.data.parts.published import Published, PublishedDataset, locate
from unknot.data.parts.sources import Source
from unknot.data.parts.sprites import SIDE

FIT = (350, 274)
"""Width and height that the painting is shrunk to fit."""
FILE = Source(
    "scream.jpg",
    ("https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg",),
    page="https://commons.wikimedia.org/wiki/File:The_Scream.jpg",
    note="The address of the public code; what lies there may have changed since the paper.",
)


@dataclass(frozen=True)
class ScreamDSprites(PublishedDataset):
    r"""Scream-dSprites: sprites that invert patches of a painting (small download).

    With the sprite $m \in \{0, 1\}$, a random piece $P$ of the painting and a colour
    $c \sim U[0, 1]^3$ for each image, the background is $b = (P + c) / 2$ and
    $$x = (1 - m) b + m (1 - b).$$
    Piece and colour are nuisances: they say nothing about any factor and are sampled again
    whenever training comes to a row.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: the paper samples them again for scores. Here scores, codes and pictures use the same
    nuisance of a row every time. Munch's painting does not come with us; another scan of it than
    the paper's gives other backgrounds. The public code never takes the lowest and the rightmost
    pieces; here all are equally likely.

    Args:
        path: The painting, a PNG or JPEG file, shrunk to fit 350 x 274 pixels; where
            `unknot data get` put it unless set. It takes part in the ids of runs, since any picture
            will do.
        seed: Of pieces and colours.

    Example: `unknot.train(data.ScreamDSprites("scream.jpg"))`
    """

    path: str | None = None
    seed: int = 0

    published: ClassVar[Published] = Published(
        "scream_dsprites",
        (FILE,),
        "public domain",
        (3, SIDE, SIDE),
        ("JPEG", "PNG"),
        SPACE,
        resize="the painting to fit 350 x 274 by Pillow's bicubic filter",
    )

    def __post_init__(self) -> None:
        check_seed(self)

    def load(self) -> FactorDataset:
        """The sprites of `DSprites` and the painting; images are mixed on request.

        Raises:
            DataError: The painting is missing, cannot be read or is too small.
        """
        place = self.path or str(locate(self)[0])
        stored = torch.from_numpy(read_picture(place, FIT))
        height, width = stored.shape[1:]
        if min(height, width) < SIDE:
            raise DataError(
                f"Expected a painting of {SIDE} x {SIDE} pixels or more; '{place}', shrunk to "
                f"fit {FIT[0]} x {FIT[1]}, has {width} x {height}. Give a larger one."
            )
        painting = unit_interval(stored.float())
        return paint_dataset("scream_dsprites", DSprites().load(), OnPainting(painting, self.seed))


@dataclass(frozen=True)
class OnPainting:
    """Sprites as the negative of what is behind them."""

    painting: Float[Tensor, "3 height width"]
    seed: int

    def corner(self, index: Int[Tensor, "*n"]) -> tuple[Int[Tensor, "*n"], Int[Tensor, "*n"]]:
        """Row and column of the painting at which each piece begins."""
        seed, (height, width) = seed_on_device(index, self.seed), self.painting.shape[1:]
        top = noise.integers(seed, "data/scream_dsprites/top", index, high=height - SIDE + 1)
        left = noise.integers(seed, "data/scream_dsprites/left", index, high=width - SIDE + 1)
        return top, left

    def background(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n 3 h w"]:
        """What is behind each sprite: a pure function of seed, row and variant."""
        top, left = self.corner(index)
        pixel = torch.arange(SIDE, device=index.device)
        rows, columns = (first.unsqueeze(-1) + pixel for first in (top, left))
        piece = self.painting[:, rows.unsqueeze(-1), columns.unsqueeze(-2)].movedim(0, -3)
        color = noise.uniform(
            seed_on_device(index, self.seed), "data/scream_dsprites/colour", index, 3
        )
        return (piece + color[..., None, None]) * 0.5

    def images(
        self, sprite: Bool[Tensor, "*n 1 h w"], index: Int[Tensor, "*n"]
    ) -> Float[Tensor, "*n 3 h w"]:
        """The negative of the background where the sprite is."""
        behind = self.background(index)
        return torch.where(sprite, 1 - behind, behind)

    def to(self, device: torch.device) -> "OnPainting":
        """The same with the painting on another device."""
        return replace(self, painting=self.painting.to(device))
