"""XYObject: one coloured square, by formula."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.data.parts.images import unit_interval

SIDE = 64
PLACES, SIZES, LEVELS, HUES = 25, 5, 4, 6
SPACE = FactorSpace(
    ("x", "y", "scale", "colour"),
    (PLACES, PLACES, SIZES, LEVELS * HUES),
    ("ordered", "ordered", "ordered", "nominal"),
)
# Michlo 2022, table A.2.
MEAN, STD = (0.009818761549013,) * 3, (0.052632363725246,) * 3


@dataclass(frozen=True)
class XYObject:
    """XYObject: a square with 5 sizes and 24 colours at 25 x 25 places; colour is one factor.

    The same images in the same order as ``xyobject_shaded``; only the factors differ. Images are
    computed on request, nothing is stored.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", section 7.2. It leaves sizes and palette open: the sizes follow from the
    constants of its table A.2, the palette is that of the author's public code.

    Args:
        standardize: Subtract the mean and divide by the deviation of the paper's table A.2.

    Example: `unknot.train(data.XYObject())`
    """

    standardize: bool = False

    def load(self) -> FactorDataset:
        """The formula and its factor grid."""
        mean, std = (MEAN, STD) if self.standardize else ((), ())
        images = ColoredSquare(torch.device("cpu"))
        return FactorDataset("xyobject", SPACE, images, mean, std)


@dataclass(frozen=True)
class ColoredSquare:
    """A square of 7, 9, 11, 13 or 15 pixels, centred in a cell of 15 that moves by 2 pixels.

    Hues go red, yellow, green, cyan, blue, magenta; the four levels are 63, 127, 191 and 255.
    """

    device: torch.device

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, SIDE, SIDE

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, computed."""
        # Row numbers are not checked: that would make a GPU wait at every batch.
        rest, digits = index.to(self.device), []
        for size in (HUES, LEVELS, SIZES, PLACES, PLACES):
            digits.append(rest % size)
            rest = rest // size
        hue, level, scale, y, x = digits

        pixel = torch.arange(SIDE, device=self.device)
        margin = SIZES - 1 - scale
        reach = pixel - (2 * torch.stack([x, y], dim=-1) + margin.unsqueeze(-1)).unsqueeze(-1)
        covered = (reach >= 0) & (reach < (7 + 2 * scale)[..., None, None])
        square = covered[..., 0, None, :] & covered[..., 1, :, None]

        # Each channel is lit in the three hues around its own: 0 for red, 2 for green, 4 for blue.
        channel = torch.arange(3, device=self.device)
        lit = (hue.unsqueeze(-1) - 2 * channel + 1) % HUES < 3
        color = unit_interval(lit * (255 * (level + 1) // LEVELS).unsqueeze(-1).float())
        return color[..., None, None] * square.unsqueeze(-3)

    def to(self, device: torch.device) -> "ColoredSquare":
        """The same formula on another device."""
        return ColoredSquare(device)
