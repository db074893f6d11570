"""Soft squares: one coloured square with soft edges on black, by formula."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace

SIDE = 32
HUES, SIZES, PLACES = 6, 5, 12
SPACE = FactorSpace(("hue", "size", "x", "y"), (HUES, SIZES, PLACES, PLACES), ("ordered",) * 4)
MEAN = (0.034750002154, 0.052125002355, 0.034750003877)
STD = (0.167411952524, 0.204146627614, 0.167411956019)
FIRST, LAST = 7.0, 25.0
"""Where centres begin and end, in pixels."""


@dataclass(frozen=True)
class SoftSquares:
    """A square in 6 hues and 5 sizes at 12 x 12 places; 32 x 32 pixels, small enough for a laptop.

    The data of `unknot demo`: 4,320 images on which models of pairs disentangle within seconds.
    Hues go from red to blue, 0 to 240 degrees, and do not wrap around. Sizes go from 4 to 13.6
    pixels and places from 7 to 25; edges are soft, so that neighbouring places overlap. Images are
    computed on request, nothing is stored.

    Paper: None has it. Michlo 2022, "Disentanglement using VAEs resembles distance learning and
    requires overlapping data", section 7.2, has larger squares with hard edges: ``xyobject``.

    Args:
        standardize: Subtract the mean and divide by the deviation of each channel.

    Example: `unknot.train(data.SoftSquares())`
    """

    standardize: bool = False

    @property
    def image(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, SIDE, SIDE

    def load(self) -> FactorDataset:
        """The formula and its factor grid."""
        mean, std = (MEAN, STD) if self.standardize else ((), ())
        return FactorDataset("soft_squares", SPACE, SoftSquare(torch.device("cpu")), mean, std)


@dataclass(frozen=True)
class SoftSquare:
    """A square that covers each pixel in part, in a colour of full saturation."""

    device: torch.device

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, SIDE, SIDE

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, computed."""
        rest, digits = index.to(self.device), []
        for count in (PLACES, PLACES, SIZES, HUES):
            digits.append(rest % count)
            rest = rest // count
        y, x, size, hue = digits

        middle = torch.arange(SIDE, device=self.device) + 0.5
        centre = FIRST + (LAST - FIRST) * torch.stack([x, y], dim=-1) / (PLACES - 1)
        half = 2.0 + 1.2 * size
        inside = half[..., None, None] - (middle - centre.unsqueeze(-1)).abs()
        covered = (inside + 0.5).clamp(0, 1)
        square = covered[..., 0, None, :] * covered[..., 1, :, None]

        # Sixths of the colour circle: a channel is full within one of its own hue, and gone at two.
        sixth = 4 * hue / (HUES - 1)
        own = torch.tensor([0, 2, 4], device=self.device)
        color = (2 - (sixth.unsqueeze(-1) - own).abs()).clamp(0, 1)
        return color[..., None, None] * square.unsqueeze(-3)

    def to(self, device: torch.device) -> "SoftSquare":
        """The same formula on another device."""
        return SoftSquare(device)
