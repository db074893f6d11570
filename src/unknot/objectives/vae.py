"""The variational autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.objective import Net, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class VAE:
    r"""VAE: reconstruction plus KL divergence of the posterior from a standard normal prior.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] + \mathrm{KL}(q(z|x) \| p(z))$$

    Paper: Kingma and Welling 2014, "Auto-encoding variational Bayes".
    Equation: 10, with one sample of z.

    Example: `unknot.train("dsprites", objectives.VAE(likelihood="gaussian"))`
    """

    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "posterior"

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and divergence."""
        q = net.encode(step.x)
        z = step.sample(q)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1)),
        }


PRESETS = {"ozcan": VAE(likelihood="sigmoid_gaussian")}
