"""The Wasserstein autoencoder with the maximum mean discrepancy."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Batchwise, Net, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.mmd import Kernel, Scales, check_kernel, prior_mmd


@dataclass(frozen=True)
class WAEMMD(Recoding, Batchwise):
    r"""WAE-MMD: autoencoder that pulls the distribution of its codes towards the prior (MMD).

    $$\mathcal L = \mathbb E_{q(z|x)} \lVert x - G(z) \rVert^2
    + \lambda\, \mathrm{MMD}^2(q(z), p(z))$$

    Nothing pulls a single code to the prior, so codes need not overlap.

    Paper: Tolstikhin, Bousquet, Gelly and Schölkopf 2018, "Wasserstein auto-encoders".
    Equation: 4, Algorithm 2; the kernel and lambda of section 4, for MNIST.

    Differs: Decoder outputs are the means as they are, without a sigmoid before them.

    `stochastic` samples codes from the encoder's Gaussian; without it, as in the paper's
    experiments, the code is the mean, the variances are not trained and scores see none. `kernel`,
    `scales` and `exact_prior` (expectations over the prior in closed form instead of over draws,
    for rbf) are those of `unknot.objectives.parts.mmd`. Images in [-1, 1] have four times the
    squared error, so a lambda that was chosen for those is a quarter here.

    Example: `unknot.train("dsprites", objectives.WAEMMD(lambda_mmd=20))`
    """

    lambda_mmd: Hyper = 10.0
    stochastic: bool = False
    kernel: Kernel = "imq"
    scales: Scales = (1.0,)
    exact_prior: bool = False
    likelihood: Likelihood = "gaussian"
    family: ClassVar[Family] = "aggregate"

    def __post_init__(self) -> None:
        at_least(self, 0, "lambda_mmd")
        check_kernel(self)

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, and discrepancy of all codes."""
        q = net.encode(step.x)
        z = step.sample(q) if self.stochastic else q.mean
        mmd = prior_mmd(self, z, step)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "mmd": Term(mmd, self.lambda_mmd),
        }

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """Without the variances where none are trained."""
        return q if self.stochastic else q.point()


# The authors' code sums seven kernels where the paper has one.
PRESETS = {"released": WAEMMD(scales=(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0))}
