"""The beta-VAE."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Net, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class BetaVAE:
    r"""beta-VAE: VAE whose KL divergence has weight beta; beta 1 is the VAE.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] + \beta\, \mathrm{KL}(q(z|x) \| p(z))$$

    Paper: Higgins et al. 2017, "beta-VAE: learning basic visual concepts with a constrained
    variational framework".
    Equation: 4.

    Example: `unknot.train("dsprites", objectives.BetaVAE(beta=4))`
    """

    beta: Hyper = 4.0
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and weighted divergence."""
        q = net.encode(step.x)
        z = step.sample(q)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
        }


PRESETS = {
    "study2019": BetaVAE(beta=4.0),
    "ozcan_2": BetaVAE(beta=2.0, likelihood="sigmoid_gaussian"),
    "ozcan_4": BetaVAE(beta=4.0, likelihood="sigmoid_gaussian"),
}
