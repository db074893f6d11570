"""The adaptive autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.hyper import Hyper
from unknot.core.objective import MultiView, Net, Note, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.sharing import check_unit, count, deltas, share, shared_latents


@dataclass(frozen=True)
class AdaAE(MultiView, Recoding):
    r"""Ada-AE: autoencoder on image pairs; codes are averaged in latents where they are close.

    $$\mathcal L = -\tfrac12 \textstyle\sum_{x \in \{x_a, x_b\}} \ln p(x \mid \tilde z), \qquad
    \tilde z_i = \begin{cases} \frac12 (z_a + z_b)_i & \delta_i < (1 - \eta) \min \delta
    + \eta \max \delta \\ z_i & \text{otherwise} \end{cases}, \qquad \delta = |z_a - z_b|$$

    The Ada-GVAE without noise and divergence. At `eta` 0 nothing is shared and it is the
    autoencoder; 0 to 0.5 is what the paper recommends.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.16 and Table 5.1.
    Differs: The encoder's log-variances are never trained, as in the autoencoder.

    `shared` in the log is the number of latents that a pair shares.

    Example: `unknot.train("dsprites", objectives.AdaAE(eta=0.5))`
    """

    eta: Hyper = 0.5
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "pairs"
    family: ClassVar[Family] = "reconstruction"

    def __post_init__(self) -> None:
        check_unit(self, "eta")

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The mean, as good as exact."""
        return q.point()

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction of both views."""
        a, b = net.encode(step.x).views(2)
        shared = shared_latents(deltas(a, b, "absolute"), self.eta)
        z = share(shared, (a.mean + b.mean) / 2, a.mean, b.mean)
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x)),
            "shared": Note(count(shared, z)),
        }
