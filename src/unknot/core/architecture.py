"""Architecture: what a net file defines."""

from typing import Literal, Protocol, TypeAlias, runtime_checkable

from torch import nn

Shape: TypeAlias = tuple[int, int, int]
Init: TypeAlias = Literal["torch", "glorot", "kaiming"]


@runtime_checkable
class Architecture(Protocol):
    """A frozen dataclass that builds an encoder and a decoder for a shape of image.

    Layers in an ``nn.Sequential`` of convolutions, linear layers and activations train stacked on a
    GPU at full speed; any other module trains too, slower.
    """

    @property
    def latents(self) -> int:
        """Number of latent dimensions."""
        ...

    @property
    def init(self) -> Init:
        """How initial weights are drawn; see `unknot.nets.parts.weights`."""
        ...

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``: means, then log-variances."""
        ...

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits or means ``[n, c, h, w]``, never activated."""
        ...


@runtime_checkable
class Premade(Architecture, Protocol):
    """Modules that come with weights of their own, and may draw at random or keep buffers.

    They train one after the other, unless they can be stacked.
    """

    def start(self, seed: int) -> tuple[nn.Module, nn.Module]:
        """Encoder and decoder of a member before its first step."""
        ...
