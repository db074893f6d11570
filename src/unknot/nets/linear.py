"""The linear baseline."""

import math
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_image, check_latents


@dataclass(frozen=True)
class Linear:
    """One linear layer each for encoder and decoder: close to PCA; images of any size.

    Paper: Lucas et al. 2019, "Don't blame the ELBO! A linear VAE perspective on posterior
    collapse": with a Gaussian likelihood the best decoder spans leading principal components.

    Differs: Their variances do not depend on the image; here both heads are linear in it.

    Example: `unknot.train("dsprites", net=nets.Linear(latents=6))`
    """

    sides: ClassVar[tuple[int, ...]] = ()
    latents: int = 10
    init: Init = "torch"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``."""
        check_image("linear", image, self.sides)
        return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(image), 2 * self.latents))

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, h, w]``."""
        check_image("linear", image, self.sides)
        return nn.Sequential(nn.Linear(self.latents, math.prod(image)), nn.Unflatten(1, image))
