"""Objectives that are told factors, with a latent for each."""

from jaxtyping import Int
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.objective import Labelled


class LatentPerFactor(Labelled):
    """The hook of an objective whose latent i is for factor i."""

    def label_state(self, z: int, factors: int, seed: Int[Tensor, "*p"]) -> dict[str, Tensor]:
        """None; it needs a latent for each factor."""
        if factors > z:
            raise ConfigError(
                f"{type(self).__name__} gives each factor a latent: {factors} factors need as many "
                f"latents or more; the net has {z}. Set net.latents."
            )
        return {}
