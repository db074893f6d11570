"""The triplet autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import MultiView, Net, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.triplets import Margin, Norm, triplet_terms


@dataclass(frozen=True)
class TAE(MultiView, Recoding):
    r"""TAE: autoencoder on triplets whose codes should keep the order of their distances.

    $$\mathcal L = \tfrac13 \textstyle\sum_{x \in \{x_a, x_p, x_n\}} \mathcal L_{\mathrm{AE}}(x)
    + \alpha \max(0, \psi + \|z_a - z_p\| - \|z_a - z_n\|)$$

    The TVAE without noise and divergence; settings mean the same.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.12, with z for the mean and without the divergence.
    Differs: alpha is N times the paper's for N pixels, as our reconstruction is a sum and its is a
    mean; the default is its 1 for 64 x 64 pixels. The encoder's log-variances are never trained,
    as in the autoencoder.

    Example: `unknot.train("dsprites", objectives.TAE(alpha=1024))`
    """

    alpha: Hyper = 4096.0
    psi: Hyper = 10.0
    margin: Margin = "hard"
    norm: Norm = "l1"
    decoder_gradient: bool = True
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 3
    sampler: ClassVar[str] = "triplets"
    family: ClassVar[Family] = "distances"

    def __post_init__(self) -> None:
        at_least(self, 0, "alpha", "psi")
        check_choices(self, "margin", "norm")

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The mean, as good as exact."""
        return q.point()

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction of all views, and the triplet loss of their codes."""
        q = net.encode(step.x)
        z = q.mean
        triplets = triplet_terms(self, *q.views(3))
        decoded = net.decode(z if self.decoder_gradient else z.detach())
        return {
            "recon": Term(reconstruction(self.likelihood, decoded, step.x)),
            **triplets,
        }


# Michlo 2022 (dissertation), Table A.5, on XYSquares: alpha 1 for a loss averaged over 3 x 64 x 64
# standardised pixels.
PRESETS = {"michlo": TAE(alpha=1.0 * 3 * 64 * 64, likelihood="gaussian")}
