"""The usual convolutional network for 64 x 64 images."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_image, check_latents, conv_decoder, conv_encoder

CHANNELS, HIDDEN = (32, 32, 64, 64), (256,)


@dataclass(frozen=True)
class Conv64:
    """Four convolutions (32, 32, 64, 64 channels) and a hidden layer of 256; 64 x 64 images.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", Table A.1, after Higgins et al. 2017. The thesis uses 9 or 25 latents.

    Differs: The thesis gives no paddings; 1 is the only one that fits its shapes. It does not say
    how weights start either; we take PyTorch's default rule, since PyTorch is what it used.

    Example: `unknot.train("dsprites", net=nets.Conv64(latents=6))`
    """

    sides: ClassVar[tuple[int, ...]] = (64,)
    latents: int = 10
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, 64, 64]`` to ``[n, 2 * latents]``."""
        check_image("conv64", image, self.sides)
        return conv_encoder(image, self.latents, channels=CHANNELS, hidden=HIDDEN)

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        check_image("conv64", image, self.sides)
        return conv_decoder(image, self.latents, channels=CHANNELS, hidden=HIDDEN)
