"""The network of the 2019 study of 12,000 models."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.core.errors import ConfigError
from unknot.nets.parts.layers import check_image, check_latents, conv_decoder, conv_encoder

CHANNELS, HIDDEN = (32, 32, 64, 64), (256,)


@dataclass(frozen=True)
class Locatello:
    """Network of Locatello et al. 2019: 2 x 2 kernels in convolutions 3 and 4; 64 x 64 images.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations", Table 2.

    Differs: The paper's table prints 4 x 4 kernels throughout; its public code and its published
    models have 2 x 2 in convolutions three and four. ``conv3_kernel`` 2, the default, follows the
    models; 4 follows the table. Weights start by the defaults of TensorFlow 1, which the study left
    as they were: Glorot uniform, zero biases.

    Example: `unknot.train("cars3d", net=nets.Locatello(conv3_kernel=4))`
    """

    sides: ClassVar[tuple[int, ...]] = (64,)
    latents: int = 10
    conv3_kernel: Literal[2, 4] = 2
    init: Init = "glorot"

    def __post_init__(self) -> None:
        check_latents(self.latents)
        if self.conv3_kernel not in (2, 4):
            raise ConfigError(f"net.conv3_kernel must be 2 or 4; got {self.conv3_kernel}.")

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, 64, 64]`` to ``[n, 2 * latents]``."""
        check_image("locatello", image, self.sides)
        kernels = (4, 4, self.conv3_kernel, self.conv3_kernel)
        return conv_encoder(image, self.latents, channels=CHANNELS, hidden=HIDDEN, kernels=kernels)

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        check_image("locatello", image, self.sides)
        return conv_decoder(image, self.latents, channels=CHANNELS, hidden=HIDDEN)
