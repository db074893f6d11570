"""Modules that were given as objects in Python."""

import copy
from dataclasses import dataclass

from torch import nn

from unknot.core.architecture import Init, Shape
from unknot.core.errors import ConfigError
from unknot.nets.parts import given_modules


@dataclass(frozen=True)
class Modules:
    """An encoder and a decoder given in Python, as modules of PyTorch; not for the command line.

    A run writes down what it needs to know them again. Their code is not written anywhere: to use
    the run later, pass them again, `unknot.load(path, net=(encoder, decoder))`.

    Args:
        latents: Number of latents, as the encoder gives them.
        structure: A hash of their layers, and of the source of the user's own classes.
        weights: A hash of the weights and buffers before the first step.
        init: How the weights of a critic are drawn.
    """

    latents: int
    structure: str
    weights: str
    init: Init = "torch"

    def encoder(self, image: Shape) -> nn.Module:  # noqa: ARG002 - they are for one shape
        """Images ``[n, c, h, w]`` to ``[n, 2 * latents]``."""
        return copy.deepcopy(given_modules.find(self.structure).encoder)

    def decoder(self, image: Shape) -> nn.Module:  # noqa: ARG002
        """Codes ``[n, latents]`` to logits ``[n, c, h, w]``."""
        return copy.deepcopy(given_modules.find(self.structure).decoder)

    def start(self, seed: int) -> tuple[nn.Module, nn.Module]:
        """Encoder and decoder of a member before its first step.

        Raises:
            ConfigError: The modules begin with other weights than those of the run.
        """
        pair = given_modules.find(self.structure, self.weights)
        if pair.weights_hash != self.weights:
            raise ConfigError(
                "The modules begin with other weights than those of the run; make them as they "
                "were, for example after torch.manual_seed."
            )
        pair = pair.of_seed(seed)
        return copy.deepcopy(pair.encoder), copy.deepcopy(pair.decoder)
