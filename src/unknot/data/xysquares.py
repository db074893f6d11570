"""XYSquares: three squares on grids, by formula."""

import math
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.choices import Creatable
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace

SIDE = 64


@dataclass(frozen=True)
class XYSquares(Creatable):
    """XYSquares: a red, a green and a blue square, each on its own grid of places.

    At spacing 8 any two places along a factor are equally far apart pixel by pixel, so pixels say
    nothing about the order of the factors; smaller spacings bring overlap and with it an order.
    Images are computed on request, nothing is stored.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", sections 3.3.1 (spacing) and 6.1.3 (square size).

    Args:
        spacing: Pixels between neighbouring places: 1 to 8 for squares of 8 pixels, and the size
            of the square for smaller ones; files and commands may leave it out.
        square: Side of the squares: 8, 4, 2 or 1 pixels on grids of 8, 16, 32 or 64 places.
        standardize: Subtract the mean and divide by the deviation of the paper's table A.2; for
            squares below 8, which the table leaves out, by the closed form behind it.

    Example: `unknot.train(data.XYSquares(spacing=4))`
    """

    spacing: int = 8
    square: int = 8
    standardize: bool = False

    def __post_init__(self) -> None:
        if self.square not in (8, 4, 2, 1):
            raise ConfigError(f"XYSquares.square must be 8, 4, 2 or 1; got {self.square}.")
        if self.square == 8 and not 1 <= self.spacing <= 8:
            raise ConfigError(f"XYSquares.spacing must lie in 1 .. 8; got {self.spacing}.")
        if self.square < 8 and self.spacing != self.square:
            raise ConfigError(
                f"XYSquares with squares of {self.square} needs spacing {self.square}; "
                f"got {self.spacing}. Set spacing={self.square}."
            )

    @classmethod
    def create(
        cls, spacing: int | None = None, square: int = 8, standardize: bool = False
    ) -> "XYSquares":
        """Squares side by side unless a spacing is given.

        Example:
            >>> XYSquares.create(square=4)
            XYSquares(spacing=4, square=4, standardize=False)
        """
        return cls(square if spacing is None else spacing, square, standardize)

    def load(self) -> FactorDataset:
        """The formula and its factor grid."""
        places = SIDE // self.square
        names = tuple(f"{axis}_{color}" for color in "rgb" for axis in "xy")
        space = FactorSpace(names, (places,) * 6, ("ordered",) * 6)
        mean, std = _constants(self.square) if self.standardize else ((), ())
        images = Squares(places, self.spacing, self.square, torch.device("cpu"))
        return FactorDataset("xysquares", space, images, mean, std)


def _constants(square: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    r"""Mean $p = (q / 64)^2$ and deviation $\sqrt{p (1 - p) \cdot 4096 / 4095}$ of each channel.

    Each channel of each image has $q^2$ pixels of 1, so all images agree. The table's deviation is
    the mean over images of the deviation within an image, with Bessel's correction.
    """
    pixels = SIDE * SIDE
    mean = square**2 / pixels
    return (mean,) * 3, (math.sqrt(mean * (1 - mean) * pixels / (pixels - 1)),) * 3


@dataclass(frozen=True)
class Squares:
    """Three squares, each alone in its channel, on a centred grid of ``places`` by ``places``."""

    places: int
    spacing: int
    square: int
    device: torch.device

    @property
    def shape(self) -> tuple[int, int, int]:
        """Channels, height and width."""
        return 3, SIDE, SIDE

    def pixels(self, index: Int[Tensor, "*n"]) -> Float[Tensor, "*n c h w"]:
        """Images of the given rows, computed."""
        offset = (SIDE - self.square - self.spacing * (self.places - 1)) // 2
        # Row numbers are not checked: that would make a GPU wait at every batch.
        rest, digits = index.to(self.device), []
        for _ in range(6):
            digits.append(rest % self.places)
            rest = rest // self.places
        corner = offset + self.spacing * torch.stack(digits[::-1], dim=-1).unflatten(-1, (3, 2))
        pixel = torch.arange(SIDE, device=self.device)
        reach = pixel - corner.unsqueeze(-1)
        covered = (reach >= 0) & (reach < self.square)
        x, y = covered[..., 0, None, :], covered[..., 1, :, None]
        return torch.logical_and(x, y).float()

    def to(self, device: torch.device) -> "Squares":
        """The same formula on another device."""
        return replace(self, device=device)
