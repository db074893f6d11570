"""Ozcan's convolutional network."""

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.nets.parts.layers import check_image, check_latents, down, up, with_relus


@dataclass(frozen=True)
class OzcanCNN:
    """Five convolutions, six transposed convolutions, no hidden layer; 64 or 128 pixels.

    Paper: Moğultay Özcan 2024, "On disentangled representation learning", Table 3.1: the network
    for MPI3D, Falcor3D (7 latents), Isaac3D (9) and CelebA.

    Differs: The thesis gives no paddings; 1 at stride 2 and 0 at stride 1 fit its layers. It gives
    no shape for the decoder's 256 features; 1 and 2 pixels a side lead to 64 and 128. The last
    hidden layer has three channels whatever the image has, as printed. The thesis does not say how
    weights start; we draw them Kaiming normal with zero biases, as public code of the models it
    compares does.

    Example: `unknot.train("dsprites", net=nets.OzcanCNN(latents=8))`
    """

    sides: ClassVar[tuple[int, ...]] = (64, 128)
    latents: int = 10
    init: Init = "kaiming"

    def __post_init__(self) -> None:
        check_latents(self.latents)

    def encoder(self, image: Shape) -> nn.Module:
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``."""
        check_image("ozcan_cnn", image, self.sides)
        side = image[1] // 16 - 3  # halved four times, then a kernel of 4 without padding
        return with_relus(
            down(image[0], 32),
            down(32, 32),
            down(32, 64),
            down(64, 64),
            nn.Conv2d(64, 32, 4),
            nn.Flatten(),
            nn.Linear(32 * side**2, 2 * self.latents),
        )

    def decoder(self, image: Shape) -> nn.Module:
        """Codes ``[n, latents]`` to logits ``[n, c, h, w]``."""
        check_image("ozcan_cnn", image, self.sides)
        side = image[1] // 64  # doubled six times
        channels = 256 // side**2
        return with_relus(
            nn.Linear(self.latents, 256),
            nn.Unflatten(1, (channels, side, side)),
            up(channels, 64),
            up(64, 64),
            up(64, 32),
            up(32, 32),
            up(32, 3),
            up(3, image[0]),
        )
