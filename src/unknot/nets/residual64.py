"""The network of Tripod: residual blocks, in the decoder scaled by the code."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_image, check_latents
from unknot.nets.parts.styles import LearntImage, instance_norm, restyled

WIDTHS, STYLE = (32, 64, 128, 256, 512), 256
EPS = 1e-5
START = 1.0
"""Of the learnt image."""


@dataclass(frozen=True)
class Residual64:
    """Residual blocks down to 4 x 4 and up from a learnt image; for 64 x 64 images.

    The encoder has two residual blocks of 32, 64, 128 and 256 channels each, with instance
    normalisation and GELU; behind each pair, blocks of 2 x 2 pixels become channels. The mean over
    pixels goes through a layer of 512. The decoder makes a style of the code (two layers of 256).
    Two residual blocks of 512, 256, 128 and 64 channels each, which the style scales and shifts,
    and pixels that are doubled, lead from a learnt image to logits. With 10 latents it has
    4,099,636 parameters for the encoder and 16,134,657 for the decoder, at one channel.

    Paper: Hsu et al. 2024, "Tripod: three complementary inductive biases for disentangled
    representation learning", and its public code.

    Differs: The code gives no log-variances, so its last layer is half as wide. Its convolutions
    before a normalisation have biases, 5,760 in all, which the normalisation takes out again; ours
    have none. Weight decay, which it does not use, leaves the learnt image alone.

    Example: `unknot.train("dsprites", objective="tripod", net=nets.Residual64(latents=10))`
    """

    sides: ClassVar[tuple[int, ...]] = (64,)
    latents: int = 10
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, 64, 64]`` to ``[n, 2 * latents]``."""
        check_image("residual64", image, self.sides)
        layers: list[nn.Module] = [Residual(image[0], WIDTHS[0]), Residual(WIDTHS[0], WIDTHS[0])]
        for width, wider in pairwise(WIDTHS):
            layers += [nn.PixelUnshuffle(2), nn.Conv2d(4 * width, wider, 1)]
            if wider != WIDTHS[-1]:
                layers += [Residual(wider, wider), Residual(wider, wider)]
        widest = WIDTHS[-1]
        layers += [nn.AvgPool2d(4), nn.Flatten(), *_dense(widest, widest)]
        return nn.Sequential(*layers, nn.Linear(widest, 2 * self.latents))

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        check_image("residual64", image, self.sides)
        return ResidualDecoder(self.latents, image[0])


class Residual(nn.Module):
    """Two convolutions with instance normalisation and GELU, added to what comes in."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            instance_norm(outputs, EPS, affine=True),
            nn.GELU("tanh"),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            instance_norm(outputs, EPS, affine=True),
            nn.GELU("tanh"),
        )
        self.past = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features to features of the same height and width."""
        out: Tensor = self.past(x) + self.layers(x)
        return out


class Styled(nn.Module):
    """A convolution with instance normalisation, in a style, and GELU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = instance_norm(channels, EPS, affine=False)
        self.style = nn.Linear(STYLE, 2 * channels)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Features ``[n, c, h, w]`` and styles ``[n, 256]`` to features."""
        x = restyled(self.norm(self.convolution(x)), self.style(style), around=1.0)
        return F.gelu(x, approximate="tanh")


class StyledUp(nn.Module):
    """Two residual blocks in a style, twice the pixels, and a convolution."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Styled(inputs) for _ in range(4))
        self.convolution = nn.Conv2d(inputs, outputs, 3, padding=1)

    def forward(self, x: Tensor, style: Tensor) -> Tensor:
        """Features ``[n, c, h, w]`` and styles ``[n, 256]`` to ``[n, outputs, 2 h, 2 w]``."""
        for i in (0, 2):
            x = x + self.layers[i + 1](self.layers[i](x, style), style)
        doubled: Tensor = self.convolution(x.repeat_interleave(2, 2).repeat_interleave(2, 3))
        return doubled


class ResidualDecoder(nn.Module):
    """Codes to logits."""

    def __init__(self, latents: int, channels: int) -> None:
        super().__init__()
        self.style = nn.Sequential(*_dense(latents, STYLE), *_dense(STYLE, STYLE))
        self.first = LearntImage(WIDTHS[-1], 4, START)
        widths = (*WIDTHS[:0:-1], channels)
        self.ups = nn.ModuleList(StyledUp(*pair) for pair in pairwise(widths))

    def forward(self, z: Tensor) -> Tensor:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        style, *_, x = self.features(z)
        logits: Tensor = self.ups[-1](x, style)
        return logits

    def features(self, z: Tensor) -> list[Tensor]:
        """The style, and the features behind all blocks but the last."""
        style = self.style(z)
        found = [style]
        x = self.first(len(z))
        for up in self.ups[:-1]:
            x = up(x, style)
            found.append(x)
        return found


def _dense(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs), nn.LayerNorm(outputs), nn.GELU("tanh")]
