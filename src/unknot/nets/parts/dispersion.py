"""Dispersion: what a decoder of negative binomial counts learns beside their means."""

import torch
from torch import Tensor, nn

from unknot.core.architecture import Shape

PACE = 10.0
"""Adam moves a weight by its learning rate at most, and dispersions range over powers of ten."""


class Dispersion(nn.Module):
    """Adds the logarithm of each count's dispersion, the same for all rows, as further channels."""

    def __init__(self, image: Shape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(image[0] * image[1] * image[2]))
        self.image = image

    @property
    def log_dispersion(self) -> Tensor:
        """The logarithm of each count's dispersion; 0 before the first step."""
        return (PACE * self.weight).reshape(self.image)

    def forward(self, y: Tensor) -> Tensor:
        """Outputs ``[n, c, h, w]`` to ``[n, 2 c, h, w]``."""
        return torch.cat([y, self.log_dispersion.expand(len(y), *self.image)], dim=1)


def with_dispersion(decoder: nn.Module, image: Shape) -> nn.Sequential:
    """A decoder of means with the dispersions behind it; its own weights keep their names."""
    layers = [*decoder] if type(decoder) is nn.Sequential else [decoder]
    return nn.Sequential(*layers, Dispersion(image))
