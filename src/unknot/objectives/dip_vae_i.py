"""The DIP-VAE-I."""

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int
from torch import Tensor

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Batchwise, ExtraState, Net, Note, Stateful, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.moments import (
    check_decay,
    covariance,
    covariance_terms,
    running_mean_start,
    variances_of,
)


@dataclass(frozen=True)
class DIPVAEI(Stateful, Batchwise):
    r"""DIP-VAE-I: VAE that pulls the covariance of the posterior means towards the identity.

    $$\mathcal L = \mathcal L_{\mathrm{VAE}} + \lambda_{od} \textstyle\sum_{i \ne j} S_{ij}^2
    + \lambda_d \textstyle\sum_i (S_{ii} - 1)^2, \quad S = \mathrm{Cov}_{p(x)}[\mu(x)]$$

    Every latent is to vary with the image, so none is left unused; the sum goes over ordered pairs.

    Paper: Kumar, Sattigeri and Balakrishnan 2018, "Variational inference of disentangled latent
    concepts from unlabeled observations".
    Equation: 6.
    Differs: With `decay` above 0 the covariance is a running mean over batches, which the paper
    tried (its footnote 4) and does not spell out; the gradient is that of the present batch.

    Example: `unknot.train("dsprites", objectives.DIPVAEI(lambda_od=5, lambda_d=50))`
    """

    lambda_od: Hyper = 10.0
    lambda_d: Hyper = 100.0
    decay: float = 0.0
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "lambda_od", "lambda_d")
        check_decay(self)

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """The running covariance."""
        return running_mean_start(self.decay, z, seed)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, divergence, and the covariance's distance from the identity."""
        q = net.encode(step.x)
        z = step.sample(q)
        cov = covariance(q.mean)
        penalties = covariance_terms(self, cov, net, step)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1)),
            **penalties,
            "variance.means": Note(variances_of(cov).mean(-1)),
            "variance.noise": Note(q.logvar.exp().mean((-2, -1))),
        }


PRESETS = {
    "kumar_celeba": DIPVAEI(lambda_od=2.0, lambda_d=100.0, likelihood="gaussian"),
    "kumar_shapes": DIPVAEI(lambda_od=10.0, lambda_d=100.0),
    "study2019": DIPVAEI(lambda_od=10.0, lambda_d=100.0),
}
