"""A convolutional network for images of any size."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import (
    check_hidden,
    check_image,
    check_latents,
    conv_decoder,
    conv_encoder,
)

CHANNELS = (32, 32, 64, 64, 128, 128)
"""Of the convolutions, as many of them as the size asks for."""


@dataclass(frozen=True)
class Conv:
    """Convolutions that halve the image until about 4 pixels are left; 8 to 256 pixels a side.

    Paper: Higgins et al. 2017, "beta-VAE: learning basic visual concepts with a constrained
    variational framework", whose network for 64 x 64 images this is at that size.

    Differs: Depth and channels follow the size: for 64 x 64 pixels it is `conv64`. Other sides are
    padded with zeros to a multiple of 2^depth, and the decoder's image is cropped to the size
    again. Height and width may differ.

    Example: `unknot.train("photos/", net=nets.Conv(latents=8))`
    """

    sides: ClassVar[range] = range(8, 257)
    latents: int = 10
    hidden: tuple[int, ...] = (256,)
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)
        check_hidden(self.hidden)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``."""
        check_image("conv", image, self.sides)
        padded, channels, pads = _plan(image)
        layers = conv_encoder(padded, self.latents, channels=channels, hidden=self.hidden)
        return nn.Sequential(nn.ZeroPad2d(pads), *layers) if any(pads) else layers

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, h, w]``."""
        check_image("conv", image, self.sides)
        padded, channels, pads = _plan(image)
        layers = conv_decoder(padded, self.latents, channels=channels, hidden=self.hidden)
        left, right, above, below = pads
        crop = nn.ZeroPad2d((-left, -right, -above, -below))
        return nn.Sequential(*layers, crop) if any(pads) else layers


def _plan(image: Shape) -> tuple[Shape, tuple[int, ...], tuple[int, int, int, int]]:
    """Padded shape, channels of the convolutions, and zeros left, right, above and below."""
    c, h, w = image
    depth = max(1, round(math.log2(min(h, w) / 4)))
    down, across = (-side % 2**depth for side in (h, w))
    pads = across // 2, across - across // 2, down // 2, down - down // 2
    return (c, h + down, w + across), CHANNELS[:depth], pads
