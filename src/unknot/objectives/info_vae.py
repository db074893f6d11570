"""The InfoVAE."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Batchwise, Net, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.mmd import Kernel, Scales, check_kernel, prior_mmd


@dataclass(frozen=True)
class InfoVAE(Batchwise):
    r"""InfoVAE: VAE that trades its KL divergence for one between all codes and the prior.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] + \beta\, \mathrm{KL}(q(z|x) \| p(z))
    + \lambda\, \mathrm{MMD}^2(q(z), p(z))$$

    Unlike the first divergence the second does not make codes forget their images.

    Paper: Zhao, Song and Ermon 2019, "InfoVAE: balancing learning and inference in variational
    autoencoders".
    Equation: its objective in the form weighted by $1 - \alpha$ and $\alpha + \lambda - 1$.

    Differs: The two weights are given as they act. In the paper's letters beta is $1 - \alpha$ and
    `lambda_mmd` is $\alpha + \lambda - 1$, and `InfoVAE.from_paper` takes those. The discrepancy is
    estimated without bias, so its value may be negative. The paper chooses weights for each
    experiment; the default is its MMD-VAE, $\alpha = 1$, with a $\lambda$ that brings the
    discrepancy to the size of a reconstruction.

    With `lambda_mmd` 0 it is the beta-VAE. Mushom 2020 writes the negative ELBO plus $\lambda$ KL
    plus $\lambda'$ MMD, printed with the signs of a maximised bound: beta is $1 + \lambda$ there.
    `kernel`, `scales` and `exact_prior` (expectations over the prior in closed form instead of
    over draws, for rbf) are those of `unknot.objectives.parts.mmd`.

    Example: `unknot.train("dsprites", objectives.InfoVAE(lambda_mmd=500))`
    """

    beta: Hyper = 0.0
    lambda_mmd: Hyper = 1000.0
    kernel: Kernel = "rbf"
    scales: Scales = (1.0,)
    exact_prior: bool = False
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "lambda_mmd")
        check_kernel(self)

    @classmethod
    def from_paper(cls, *, alpha: float, lambda_: float) -> "InfoVAE":
        """From the paper's own alpha and lambda.

        Example:
            >>> InfoVAE.from_paper(alpha=0.0, lambda_=1000.0).lambda_mmd
            999.0
        """
        return cls(beta=1 - alpha, lambda_mmd=alpha + lambda_ - 1)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, divergence of each posterior, and discrepancy of all codes."""
        q = net.encode(step.x)
        z = step.sample(q)
        mmd = prior_mmd(self, z, step)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            "mmd": Term(mmd, self.lambda_mmd),
        }


# Mushom 2020, section 4.3, whose formula comes without numbers: both of its weights at 1.
PRESETS = {"mushom": InfoVAE(beta=2.0, lambda_mmd=1.0)}
