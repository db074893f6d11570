"""The DIP-VAE-II."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Batchwise, ExtraState, Net, Note, Stateful, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.moments import (
    check_decay,
    covariance,
    covariance_terms,
    diagonal_of,
    running_mean_start,
    third_moments,
    third_moments_of_mixture,
    variances_of,
)

Third: TypeAlias = Literal["analytic", "sampled", "norm"]


@dataclass(frozen=True)
class DIPVAEII(Stateful, Batchwise):
    r"""DIP-VAE-II: VAE that pulls the covariance of the sampled codes towards the identity.

    $$\mathcal L = \mathcal L_{\mathrm{VAE}} + \lambda_{od} \textstyle\sum_{i \ne j} S_{ij}^2
    + \lambda_d \textstyle\sum_i (S_{ii} - 1)^2 + \lambda_3 \textstyle\sum_{ijk} T_{ijk}^2, \quad
    S = \mathrm{Cov}_{p(x)}[\mu(x)] + \mathbb E_{p(x)}[\Sigma(x)]$$

    Mean and noise of a latent share its variance of 1, so some may be left to noise; S is the
    covariance of the aggregate posterior, T its central third moments. Sums go over ordered tuples.

    Paper: Kumar, Sattigeri and Balakrishnan 2018, "Variational inference of disentangled latent
    concepts from unlabeled observations".
    Equation: 7; the third moments are in the text after it and have no number.
    Differs: The paper gives no estimator of the third moments; `third` takes those of the batch's
    mixture of posteriors ("analytic") or of one sample of z each ("sampled"), and their squares as
    for the covariance. The paper penalises their l2 norm, without a square: "norm" is that of the
    mixture. At a norm of 0.1 and $\lambda_3 = 200$ it costs 20, the square 2. With
    `decay` above 0 the covariance is a running mean over batches, which the paper tried (its
    footnote 4) and does not spell out; the gradient is that of the present batch.

    Example: `unknot.train("dsprites", objectives.DIPVAEII(lambda_od=5, lambda_d=5))`
    """

    lambda_od: Hyper = 10.0
    lambda_d: Hyper = 10.0
    lambda_3: Hyper = 0.0
    third: Third = "analytic"
    decay: float = 0.0
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "lambda_od", "lambda_d", "lambda_3")
        check_decay(self)
        check_choices(self, "third")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """The running covariance."""
        return running_mean_start(self.decay, z, seed)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, divergence, and how far second and third moments are from the prior's."""
        q = net.encode(step.x)
        z = step.sample(q)
        means, noise = covariance(q.mean), q.logvar.exp().mean(-2)
        penalties = covariance_terms(self, means + diagonal_of(noise), net, step)
        third = third_moments(z) if self.third == "sampled" else third_moments_of_mixture(q)
        size = third.square().sum((-3, -2, -1))
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1)),
            **penalties,
            "third": Term(_root(size) if self.third == "norm" else size, self.lambda_3),
            "variance.means": Note(variances_of(means).mean(-1)),
            "variance.noise": Note(noise.mean(-1)),
        }


def _root(square: Float[Tensor, "*p"]) -> Float[Tensor, "*p"]:
    """The square root, with the slope 0 at 0 where its own is infinite."""
    tiny = torch.finfo(square.dtype).tiny
    return torch.where(square > tiny, square.clamp_min(tiny).sqrt(), 0.0)


PRESETS = {
    "kumar_celeba": DIPVAEII(lambda_od=80.0, lambda_d=40.0, likelihood="gaussian"),
    "kumar_shapes": DIPVAEII(lambda_od=500.0, lambda_d=500.0, lambda_3=200.0),
    "kumar_shapes_norm": DIPVAEII(lambda_od=500.0, lambda_d=500.0, lambda_3=200.0, third="norm"),
    "mushom": DIPVAEII(lambda_od=10.0, lambda_d=10.0),
    "study2019": DIPVAEII(lambda_od=10.0, lambda_d=10.0),
}
