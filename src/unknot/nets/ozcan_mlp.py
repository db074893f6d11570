"""Ozcan's fully connected network."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_image, check_latents, with_relus


@dataclass(frozen=True)
class OzcanMLP:
    """Fully connected, two hidden layers of 1,200 units in each direction; images of any size.

    Paper: Moğultay Özcan 2024, "On disentangled representation learning", Table 3.1: the network
    for dSprites, with 5 latents, one for each factor.

    Differs: The thesis does not say how weights start; we draw them Kaiming normal with zero
    biases, as public code of the models it compares does.

    Example: `unknot.train("dsprites", net=nets.OzcanMLP(latents=8))`
    """

    sides: ClassVar[tuple[int, ...]] = ()
    latents: int = 10
    init: Init = "kaiming"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``."""
        check_image("ozcan_mlp", image, self.sides)
        return with_relus(
            nn.Flatten(),
            nn.Linear(math.prod(image), 1200),
            nn.Linear(1200, 1200),
            nn.Linear(1200, 2 * self.latents),
        )

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, h, w]``."""
        check_image("ozcan_mlp", image, self.sides)
        return with_relus(
            nn.Linear(self.latents, 1200),
            nn.Linear(1200, 1200),
            nn.Linear(1200, math.prod(image)),
            nn.Unflatten(1, image),
        )
