"""Architecture: what a net file defines."""

from typing import Literal, Protocol, TypeAlias

from torch import nn

Shape: TypeAlias = tuple[int, int, int]
Init: TypeAlias = Literal["torch", "glorot", "kaiming"]


class Architecture(Protocol):
    """A frozen dataclass that builds an encoder and a decoder for a shape of image.

    Layers in an ``nn.Sequential`` of convolutions, linear layers and activations train stacked on a
    GPU at full speed; any other module trains too, slower.
    """

    latents: int
    init: Init

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``: means, then log-variances."""
        ...

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits or means ``[n, c, h, w]``, never activated."""
        ...
