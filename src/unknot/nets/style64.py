"""The network of QLAE: a decoder whose features a code scales, layer by layer."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_image, check_latents
from unknot.nets.parts.styles import LearntImage, instance_norm, restyled

WIDTHS, HIDDEN = (32, 64, 128, 256), 256
SLOPE, EPS = 0.2, 1e-6
START = 0.1
"""Of the learnt image."""
LAYERS = (3, 1), (3, 1), (4, 2)
"""Kernel and stride of the three convolutions of a width."""


@dataclass(frozen=True)
class Style64:
    """Twelve convolutions; a decoder that scales a learnt 4 x 4 image by the code; 64 x 64 images.

    The encoder has convolutions without bias (three of 32, 64, 128 and 256 channels each), instance
    normalisation, leaky ReLU, and two hidden layers of 256. The decoder makes a style w of the code
    (two layers of 256). Twelve transposed convolutions, mirrored, start from an image that is
    learnt; behind each, leaky ReLU, instance normalisation and a scale and a shift for each
    channel, which a linear layer and a ReLU make of w. With 10 latents it has 3,686,004 parameters
    for the encoder and 3,966,048 for the decoder, at one channel.

    Paper: Hsu et al. 2023, "Disentanglement via latent quantization", and its public code.

    Differs: The code gives no log-variances, so its last layer is half as wide. Transposed
    convolutions start by PyTorch's rule, whose fan-in counts the output's channels; theirs by the
    input's. Weight decay leaves the learnt image alone, where theirs draws it to zero.

    Example: `unknot.train("dsprites", objective="qlae", net=nets.Style64(latents=10))`
    """

    sides: ClassVar[tuple[int, ...]] = (64,)
    latents: int = 10
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, 64, 64]`` to ``[n, 2 * latents]``."""
        check_image("style64", image, self.sides)
        layers: list[nn.Module] = []
        for before, width in pairwise((image[0], *WIDTHS)):
            for i, (kernel, stride) in enumerate(LAYERS):
                inputs = width if i else before
                layers += [
                    nn.Conv2d(inputs, width, kernel, stride, padding=1, bias=False),
                    instance_norm(width, EPS, affine=True),
                    nn.LeakyReLU(SLOPE),
                ]
        dense = [nn.Linear(WIDTHS[-1] * 16, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN)]
        head = nn.Linear(HIDDEN, 2 * self.latents)
        return nn.Sequential(*layers, nn.Flatten(), *dense, nn.ReLU(), head)

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        check_image("style64", image, self.sides)
        return StyleDecoder(self.latents, image[0])


class StyledUp(nn.Module):
    """A transposed convolution, and its features in a style."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.up = nn.ConvTranspose2d(inputs, outputs, kernel, stride, padding=1, bias=False)
        self.norm = instance_norm(outputs, EPS, affine=False)
        self.style = nn.Linear(HIDDEN, 2 * outputs)

    def forward(self, x: Tensor, w: Tensor) -> Tensor:
        """Features ``[n, c, h, w]`` and styles ``[n, 256]`` to the next features."""
        x = self.norm(F.leaky_relu(self.up(x), SLOPE))
        return restyled(x, F.relu(self.style(w)), around=0.0)


class StyleDecoder(nn.Module):
    """Codes to logits."""

    def __init__(self, latents: int, channels: int) -> None:
        super().__init__()
        self.dense = nn.Sequential(
            nn.Linear(latents, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU()
        )
        self.first = LearntImage(WIDTHS[-1], 4, START)
        self.ups = nn.ModuleList(
            StyledUp(width if i else before, width, kernel, stride)
            for before, width in pairwise((WIDTHS[-1], *WIDTHS[::-1]))
            for i, (kernel, stride) in enumerate(LAYERS)
        )
        self.last = nn.Conv2d(WIDTHS[0], channels, 3, padding=1, bias=False)

    def forward(self, z: Tensor) -> Tensor:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        logits: Tensor = self.last(self.features(z)[-1])
        return logits

    def features(self, z: Tensor) -> list[Tensor]:
        """The style, and the features behind each transposed convolution."""
        w = self.dense(z)
        found = [w]
        x = self.first(len(z))
        for up in self.ups:
            x = up(x, w)
            found.append(x)
        return found
