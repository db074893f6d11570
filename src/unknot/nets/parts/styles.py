"""What style-based decoders share: a learnt image to begin with, and features scaled by a code."""

import torch
from torch import Tensor, nn


class LearntImage(nn.Module):
    """The same features for every code, learnt: all of them ``start`` at first.

    The parameter is what they differ by, so that it begins at zero whatever the rule for weights.
    """

    def __init__(self, channels: int, side: int, start: float) -> None:
        super().__init__()
        self.size, self.start = (channels, side, side), start
        self.change = nn.Parameter(torch.zeros(channels * side * side))

    def forward(self, n: int) -> Tensor:
        """Features ``[n, c, h, w]``."""
        return (self.start + self.change).reshape(1, *self.size).expand(n, *self.size)


def instance_norm(channels: int, eps: float, *, affine: bool) -> nn.GroupNorm:
    """Each channel of each image by itself; as groups of one channel, which keep no statistics."""
    return nn.GroupNorm(channels, channels, eps=eps, affine=affine)


def restyled(x: Tensor, style: Tensor, *, around: float) -> Tensor:
    """Features times a scale for each channel, plus a shift (Huang and Belongie 2017, AdaIN).

    Args:
        x: ``[n, c, h, w]``.
        style: Scales and then shifts ``[n, 2 * c]``.
        around: Added to the scales.
    """
    scale, shift = style[:, :, None, None].chunk(2, 1)
    return x * (around + scale) + shift
