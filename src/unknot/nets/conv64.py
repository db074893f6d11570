"""The usual convolutional network for 64 x 64 images."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.checks import check_image, check_latents
from unknot.nets.parts.layers import down, up, with_relus


@dataclass(frozen=True)
class Conv64:
    """Four convolutions (32, 32, 64, 64 channels) and a hidden layer of 256; 64 x 64 images.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", Table A.1, after Higgins et al. 2017. The thesis uses 9 or 25 latents.

    Differs: The thesis gives no paddings; 1 is the only one that fits its shapes. It does not say
    how weights start either; we take PyTorch's default rule, since PyTorch is what it used.
    """

    sides: ClassVar[tuple[int, ...]] = (64,)
    latents: int = 10
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, 64, 64]`` to ``[n, 2 * latents]``."""
        check_image("conv64", image, self.sides)
        return with_relus(
            down(image[0], 32),
            down(32, 32),
            down(32, 64),
            down(64, 64),
            nn.Flatten(),
            nn.Linear(64 * 4 * 4, 256),
            nn.Linear(256, 2 * self.latents),
        )

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        check_image("conv64", image, self.sides)
        return with_relus(
            nn.Linear(self.latents, 256),
            nn.Linear(256, 64 * 4 * 4),
            nn.Unflatten(1, (64, 4, 4)),
            up(64, 64),
            up(64, 32),
            up(32, 32),
            up(32, image[0]),
        )
