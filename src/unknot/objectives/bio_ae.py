"""The autoencoder with biological constraints."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Net, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, beta_of_means, reconstruction
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class BioAE(Recoding):
    r"""BioAE: autoencoder whose latents should be nonnegative and little active.

    $$\mathcal L = -\ln p(x \mid z = \mu(x)) + \nu \textstyle\sum_j \max(-z_j, 0)
    + \alpha \textstyle\sum_j z_j^2$$

    With linear mixing, nonnegative codes of least energy give each of several independent factors
    a latent of its own. The energy of the weights, which is a part of the method, is the
    optimiser's: `--set optim.name=adamw --set optim.weight_decay=1e-4`.

    Paper: Whittington, Dorrell, Ganguli and Behrens 2023, "Disentanglement with biological
    constraints: a theory of functional cell types".
    Equation: The loss of its autoencoder, as in the code of Hsu et al. 2023, who compare with it.
    Differs: Sums for means. That code takes means over N pixels and D latents, with weights 1 and
    0.01 (0.1 on Isaac3D); N times it is ours with $N / D$ and $0.01 N / D$
    (`losses.beta_of_means`), by default for 64 x 64 colour images and 12 latents. The encoder's
    log-variances take no part.

    Example: `unknot.train("dsprites", objectives.BioAE(activity=3.4))`
    """

    nonnegativity: Hyper = 1024.0
    activity: Hyper = 10.24
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "nonnegativity", "activity")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction, what is negative of the codes, and their energy."""
        z = net.encode(step.x).mean
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "negative": Term((-z).relu().sum(-1).mean(-1), self.nonnegativity),
            "activity": Term(z.square().sum(-1).mean(-1), self.activity),
        }

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The mean, as good as exact."""
        return q.point()


PRESETS = {
    # Hsu et al. 2023, for Isaac3D: 18 latents and an activity of 0.1.
    "hsu2023_isaac3d": BioAE(
        nonnegativity=beta_of_means(1.0, pixels=3 * 64 * 64, latents=18),
        activity=beta_of_means(0.1, pixels=3 * 64 * 64, latents=18),
    ),
}
