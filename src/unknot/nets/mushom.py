"""Mushom's convolutional network."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_image, check_latents, conv_decoder, conv_encoder

CHANNELS, HIDDEN = (32, 32, 32, 32), (256, 256)


@dataclass(frozen=True)
class Mushom:
    """Four convolutions of 32 channels and two hidden layers of 256; 64 x 64 images.

    Paper: Mushom 2020, "Disentangled representations in variational autoencoders", Tables 5.1 and
    5.2, with one channel and 10 latents.

    Differs: Table 5.2 mixes the inputs and outputs of layers; of its readings this one has exactly
    the 502,005 parameters of the text. The table's ReLU on the encoder's outputs is left out, since
    it would forbid negative means. The text draws biases from a normal distribution whose variance
    is 2 over the fan-in, and a bias has no fan-in (PyTorch's own function refuses one); ours start
    at zero, as in He et al. 2015.

    Example: `unknot.train("dsprites", net=nets.Mushom(latents=8))`
    """

    sides: ClassVar[tuple[int, ...]] = (64,)
    latents: int = 10
    init: Init = "kaiming"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, 64, 64]`` to ``[n, 2 * latents]``."""
        check_image("mushom", image, self.sides)
        return conv_encoder(image, self.latents, channels=CHANNELS, hidden=HIDDEN)

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, 64, 64]``."""
        check_image("mushom", image, self.sides)
        return conv_decoder(image, self.latents, channels=CHANNELS, hidden=HIDDEN)
