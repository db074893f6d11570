"""A convolutional network for signals of any length."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_hidden, check_image, check_latents, with_relus

CHANNELS = (32, 32, 64, 64, 128, 128, 128, 128, 128, 128)
"""Of the convolutions, as many of them as the length asks for."""


@dataclass(frozen=True)
class Conv1d:
    """Convolutions along time that halve a signal until about 4 points are left; 8 to 4,096 points.

    Paper: Higgins et al. 2017, "beta-VAE: learning basic visual concepts with a constrained
    variational framework", whose network for images this is with one dimension less.

    Differs: Kernels of 4 points in place of 4 x 4, and a depth that follows the length. Other
    lengths are padded with zeros to a multiple of 2^depth, and the decoder's signal is cropped.

    Example: `unknot.train(signals, net=nets.Conv1d(latents=4))`
    """

    sides: ClassVar[tuple[range, range]] = (range(1, 2), range(8, 4097))
    latents: int = 10
    hidden: tuple[int, ...] = (256,)
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)
        check_hidden(self.hidden)

    def encoder(self, image: Shape) -> nn.Module:
        """Signals ``[n, c, 1, t]`` to ``[n, 2 * latents]``."""
        check_image("conv1d", image, self.sides)
        channels, points, pads = _plan(image)
        layers = with_relus(
            *(_halve(*sizes) for sizes in pairwise((image[0], *channels))),
            nn.Flatten(),
            *_linears((channels[-1] * points, *self.hidden, 2 * self.latents)),
        )
        return nn.Sequential(nn.ZeroPad2d(pads), *layers) if any(pads) else layers

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, 1, t]``."""
        check_image("conv1d", image, self.sides)
        channels, points, (left, right, *_) = _plan(image)
        layers = with_relus(
            *_linears((self.latents, *self.hidden[::-1], channels[-1] * points)),
            nn.Unflatten(1, (channels[-1], 1, points)),
            *(_double(*sizes) for sizes in pairwise((*channels[::-1], image[0]))),
        )
        crop = nn.ZeroPad2d((-left, -right, 0, 0))
        return nn.Sequential(*layers, crop) if left or right else layers


def _halve(channels: int, out: int) -> nn.Module:
    return nn.Conv2d(channels, out, (1, 4), stride=(1, 2), padding=(0, 1))


def _double(channels: int, out: int) -> nn.Module:
    return nn.ConvTranspose2d(channels, out, (1, 4), stride=(1, 2), padding=(0, 1))


def _linears(widths: tuple[int, ...]) -> list[nn.Module]:
    return [nn.Linear(*sizes) for sizes in pairwise(widths)]


def _plan(image: Shape) -> tuple[tuple[int, ...], int, tuple[int, int, int, int]]:
    """Channels of the convolutions, points that they leave, and zeros on the left and right."""
    length = image[-1]
    depth = max(1, round(math.log2(length / 4)))
    more = -length % 2**depth
    return CHANNELS[:depth], (length + more) >> depth, (more // 2, more - more // 2, 0, 0)
