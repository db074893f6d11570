"""The group VAE, which is told what the images of a pair share."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import MultiView, Net, Step, Terms
from unknot.losses import Likelihood
from unknot.objectives.ada_gvae import average_posteriors
from unknot.objectives.ada_mlvae import product
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.labels import LatentPerFactor
from unknot.objectives.parts.sharing import averaged_terms

Average: TypeAlias = Literal["mean", "product"]


@dataclass(frozen=True)
class GroupVAE(MultiView, LatentPerFactor):
    r"""GVAE: beta-VAE on image pairs that is told which factors they share, a latent for each.

    $$\mathcal L = \tfrac12 \textstyle\sum_{x \in \{x_a, x_b\}} \mathcal L_{\beta\text{-VAE}}(x;
    \tilde q), \qquad \tilde q_i = \begin{cases} \mathcal N\big(\frac{\mu_a + \mu_b}2,
    \frac{\sigma_a^2 + \sigma_b^2}2\big)_i & v_i(x_a) = v_i(x_b)
    \\ q_i & \text{otherwise} \end{cases}$$

    As the Ada-GVAE, but nothing has to be guessed: latent i is for factor i, and is averaged where
    both images have the same value of it. Latents beyond the factors are always averaged, so that
    they can tell nothing that differs within a pair. Which value a factor has is not told, only
    whether it is the same. `average` "product" is the ML-VAE, which averages posteriors by their
    product, as the Ada-ML-VAE. The code of an image is the encoder's own.

    Paper: Hosoya 2019, "Group-based learning of disentangled representations with generalizability
    for novel contents"; the product is Bouchacourt, Tomioka and Nowozin 2018, "Multi-level
    variational autoencoder: learning disentangled representations from grouped observations".
    Equation: The averages of the Ada-GVAE and the Ada-ML-VAE, with the set of Locatello et al. 2020
    for models that know which factors changed.
    Differs: Second hand. A latent for each factor, all others averaged: so the public code of 2020
    is remembered; it was not read. The older papers have groups of more than two images, and one
    set of latents that is shared for all pairs. Of a factor that an image does not tell, the latent
    is not averaged.

    `shared` in the log is the number of latents that a pair shares.

    Example: `unknot.train("dsprites", objectives.GroupVAE(beta=2))`
    """

    beta: Hyper = 1.0
    average: Average = "mean"
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "pairs"
    told: ClassVar[str] = "labels"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta")
        check_choices(self, "average")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and weighted divergence, of both views."""
        assert step.factors is not None  # noqa: S101 - the hook asks for them
        a, b = net.encode(step.x).views(2)
        shared = same_factors(step.factors, a.mean.shape[-1])
        if self.average == "mean":
            both = average_posteriors(a, b, "variance")
        else:
            both = product(a, b, "mean")
        return averaged_terms(self, net, step, (a, b), both, shared)


def same_factors(factors: Float[Tensor, "*p n f"], latents: int) -> Bool[Tensor, "*p b z"]:
    """The latents that each pair shares: those of factors that are equal, and those of none.

    Example:
        >>> factors = torch.tensor([[0.5, 1.0], [0.5, 0.0]])  # one pair, first and second image
        >>> same_factors(factors, 3).tolist()
        [[True, False, True]]
    """
    first, second = factors.unflatten(-2, (2, -1)).unbind(-3)
    same = first == second  # what is not told is NaN, which equals nothing
    others = torch.ones_like(same[..., :1]).expand(*same.shape[:-1], latents - same.shape[-1])
    return torch.cat([same, others], dim=-1)


PRESETS = {
    # Bouchacourt, Tomioka and Nowozin 2018, on pairs as above.
    "ml_vae": GroupVAE(average="product"),
}
