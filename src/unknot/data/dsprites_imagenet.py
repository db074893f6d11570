"""dSprites with a picture in each sprite or behind it."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from unknot.core import noise
from unknot.core.choices import Creatable
from unknot.core.dataset import FactorDataset, Images
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.data.dsprites import SPACE, DSprites
from unknot.data.parts.backgrounds import BANK, read_folder, weave_textures
from unknot.data.parts.cache import load_cached
from unknot.data.parts.nuisances import check_seed, seed_on_device
from unknot.data.parts.sprites import SIDE
from unknot.data.tiny_imagenet import TinyImageNet

Mode: TypeAlias = Literal["foreground", "background"]
MODES: tuple[Mode, ...] = ("foreground", "background")
TEXTURES = "2cf7fd3701ff945522f0d201982188849d80eec64a2429b9d4f8cc6a235c3a87"
"""SHA-256 of the bank."""
SAMPLE = 4096
"""Images over which the standardisation is measured."""


@dataclass(frozen=True)
class DSpritesImageNet(Creatable):
    r"""dSprites with pictures in or behind the sprites: textures, Tiny ImageNet or your own images.

    With the sprite $m \in \{0, 1\}$, its picture $I$ and the visibility $v$,
    $$x = m (v I + 1 - v) \quad \text{or} \quad x = m + (1 - m) v I$$
    in the foreground or the background. Every image has its own picture, which says nothing about
    any factor; at visibility 0 it is dSprites in three channels.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", section 7.3.
    Differs: the paper takes the pictures from Tiny ImageNet, which does not come with us. By
    default they are 1,024 textures drawn by formula; with ``pictures = "tiny_imagenet"`` it is the
    paper's, but for which picture goes with which image.

    Args:
        mode: Where the pictures are: ``foreground`` or ``background``.
        visibility: From 0 to 1; the paper's are 0, 0.25, 0.5, 0.75 and 1.
        path: A folder of PNG and JPEG pictures of any size, read with its subfolders.
        pictures: ``tiny_imagenet`` for the pictures of that dataset (`unknot data get
            tiny_imagenet`); ``textures``, or what ``path`` has, unless set.
        seed: Of which picture goes with which image.
        standardize: Subtract the mean and divide by the mean deviation within an image, as
            Michlo 2022, table A.2 does, but measured over 4,096 images.

    Example: `unknot.train(data.DSpritesImageNet(mode="foreground", visibility=0.5))`
    """

    space: ClassVar[FactorSpace] = SPACE
    shape: ClassVar[tuple[int, int, int]] = (3, SIDE, SIDE)

    mode: Mode = "background"
    visibility: float = 1.0
    path: str | None = None
    seed: int = 0
    standardize: bool = False
    pictures: Literal["tiny_imagenet", "textures"] | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ConfigError(
                f"DSpritesImageNet.mode must be foreground or background; got '{self.mode}'."
            )
        if not 0 <= self.visibility <= 1:
            raise ConfigError(
                f"DSpritesImageNet.visibility must lie in 0 .. 1; got {self.visibility}."
            )
        if self.pictures not in (None, "tiny_imagenet", "textures"):
            raise ConfigError(
                f"DSpritesImageNet.pictures must be tiny_imagenet, textures or not set; got "
                f"'{self.pictures}'."
            )
        if self.pictures and self.path is not None:
            raise ConfigError("DSpritesImageNet takes pictures or a path; set one of them.")
        check_seed(self)

    @classmethod
    def create(cls, pictures: str | None = None, **settings: Any) -> "DSpritesImageNet":
        """The settings; textures, the default by its name, are left out, so that ids agree."""
        if pictures == "textures" and settings.get("path") is None:
            return cls(**settings)
        return cls(**settings, pictures=cast("Any", pictures))

    @property
    def ingredients(self) -> tuple[TinyImageNet, ...]:
        """Published datasets that the images are made of."""
        return (TinyImageNet(),) if self.pictures == "tiny_imagenet" else ()

    def load(self) -> FactorDataset:
        """The sprites of `DSprites` and the pictures; images are mixed on request.

        Raises:
            DataError: The folder of pictures is missing or empty, or a picture cannot be read.
        """
        if self.ingredients:
            pictures = self.ingredients[0].decode().stored
        else:
            folder = self.path
            arrays = read_folder(folder, SIDE) if folder is not None else _textures()
            pictures = torch.from_numpy(arrays)
        # Of each byte of a picture: a table gives the same bits on every device, products may not.
        level = self.visibility * torch.arange(256, dtype=torch.float64) / 255
        if self.mode == "foreground":
            level = level + (1 - self.visibility)
        images = Mixed(
            DSprites().load().images,
            pictures,
            level.float(),
            self.mode == "foreground",
            self.seed,
        )
        dataset = FactorDataset("dsprites_imagenet", SPACE, images)
        mean, std = _constants(dataset) if self.standardize else ((), ())
        return replace(dataset, mean=mean, std=std)


@dataclass(frozen=True)
class Mixed:
    """Sprites that are white before pictures, or filled with pictures before black."""

    sprites: Images
    pictures: UInt8[Tensor, "n 3 h w"]
    level: Float[Tensor, " 256"]
    """What a byte of a picture becomes."""
    inside: bool
    seed: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, *self.sprites.shape[1:]

    def picture(self, index: Int[Tensor, "*n"]) -> Int[Tensor, "*n"]:
        """Which picture goes with each image: a pure function of seed and row number."""
        seed = seed_on_device(index, self.seed)
        return noise.integers(seed, "data/dsprites_imagenet", index, high=len(self.pictures))

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, mixed."""
        sprite = self.sprites.pixels(index) > 0
        content = self.level[self.pictures[self.picture(index)].int()]
        if self.inside:
            return torch.where(sprite, content, 0.0)
        return torch.where(sprite, 1.0, content)

    def to(self, device: torch.device) -> "Mixed":
        """The same images held by another device."""
        return replace(
            self,
            sprites=self.sprites.to(device),
            pictures=self.pictures.to(device),
            level=self.level.to(device),
        )


def _textures() -> UInt8[np.ndarray, "n 3 side side"]:
    shape = (BANK, 3, SIDE, SIDE)
    return load_cached("textures", weave_textures, shape=shape, sha256=TEXTURES)


def _constants(dataset: FactorDataset) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Channel means and mean deviations within images, rounded beyond the order of summation."""
    rows = noise.integers(0, "data/constants", 0, SAMPLE, high=len(dataset))
    parts = [dataset.batch(part).double().flatten(2) for part in rows.split(256)]
    mean = torch.cat([x.mean(2) for x in parts]).mean(0)
    std = torch.cat([x.std(2) for x in parts]).mean(0)
    return tuple(round(v, 6) for v in mean.tolist()), tuple(round(v, 6) for v in std.tolist())
