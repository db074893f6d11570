"""The plain autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.objective import Net, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class AE(Recoding):
    r"""Autoencoder: reconstruction only, with a deterministic code.

    $$\mathcal L = -\ln p(x \mid z = \mu(x))$$

    The limit of the VAE as its variances go to 0 and its divergence is left out.

    Paper: Hinton and Salakhutdinov 2006, "Reducing the dimensionality of data with neural
    networks".
    Equation: The cross-entropy of its third page, not numbered; `gaussian` is the squared error.
    Differs: The encoder's log-variances take no part and are never trained; whoever asks for the
    posterior gets the mean with a log-variance of -20.

    Example: `unknot.train("dsprites", objectives.AE())`
    """

    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "reconstruction"

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The mean, as good as exact."""
        return q.point()

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction."""
        decoded = net.decode(net.encode(step.x).mean)
        return {"recon": Term(reconstruction(self.likelihood, decoded, step.x))}
