"""The VAE with a capacity that grows as it trains."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Net, Note, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.schedules import linear


@dataclass(frozen=True)
class AnnealedVAE:
    r"""AnnealedVAE: VAE whose KL divergence follows a capacity, in nats, that grows in training.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)]
    + \gamma\, |\mathrm{KL}(q(z|x) \| p(z)) - C(t)|$$

    The absolute value is that of the batch's mean divergence, not a mean of absolute values. At
    capacity 0 this is the beta-VAE with beta = gamma.

    Paper: Burgess et al. 2018, "Understanding disentangling in beta-VAE".
    Equation: 8.

    Example: `unknot.train("dsprites", objectives.AnnealedVAE(c=schedules.linear(0, 20)))`
    """

    gamma: Hyper = 1000.0
    c: Hyper = linear(0.0, 25.0, 100_000.0)
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "weights"

    def __post_init__(self) -> None:
        at_least(self, 0, "gamma", "c")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and distance from the capacity; divergence and capacity are noted."""
        q = net.encode(step.x)
        z = step.sample(q)
        kl = kl_normal(q).sum(-1)
        above = kl - self.c
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl_off_capacity": Term(above.abs(), self.gamma),
            "kl": Note(kl),
            "capacity": Note(kl - above),
        }


PRESETS = {
    "burgess": AnnealedVAE(c=linear(0.5, 25.0, 100_000.0)),
    "study2019": AnnealedVAE(c=linear(0.0, 25.0, 100_000.0)),
}
