"""A fully connected network."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_hidden, check_image, check_latents, with_relus


@dataclass(frozen=True)
class MLP:
    """Fully connected, hidden layers of any widths; images of any size, and vectors.

    Example: `unknot.train(table, net=nets.MLP(latents=4, hidden=(64,)))`
    """

    sides: ClassVar[tuple[int, ...]] = ()
    latents: int = 10
    hidden: tuple[int, ...] = (256, 256)
    """Widths from the image to the code; the decoder has them in reverse."""
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)
        check_hidden(self.hidden)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``."""
        check_image("mlp", image, self.sides)
        widths = (math.prod(image), *self.hidden, 2 * self.latents)
        return with_relus(nn.Flatten(), *(nn.Linear(*w) for w in pairwise(widths)))

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, h, w]``."""
        check_image("mlp", image, self.sides)
        widths = (self.latents, *self.hidden[::-1], math.prod(image))
        layers = (nn.Linear(*w) for w in pairwise(widths))
        return with_relus(*layers, nn.Unflatten(1, image))
