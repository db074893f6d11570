"""The adaptive triplet autoencoder."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import MultiView, Net, Recoding, Step, Term, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.sharing import check_unit
from unknot.objectives.parts.triplets import Margin, Norm, adaptive_triplet_terms
from unknot.schedules import linear


@dataclass(frozen=True)
class AdaTAE(MultiView, Recoding):
    r"""Ada-TAE: TAE that pushes anchor and negative apart less in latents that they share.

    $$\mathcal L = \tfrac13 \textstyle\sum_{x \in \{x_a, x_p, x_n\}} \mathcal L_{\mathrm{AE}}(x)
    + \alpha \max(0, \psi + \|z_a - z_p\| - \|w \odot (z_a - z_n)\|), \qquad
    w_i = \begin{cases} \omega & \delta_i < (1 - \eta) \min \delta + \eta \max \delta
    \\ 1 & \text{otherwise} \end{cases}, \qquad \delta = |z_a - z_n|$$

    The Ada-TVAE without noise and divergence; settings mean the same.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.22, with z for the mean and without the divergence; 5.16 to 5.21.
    Differs: alpha is N times the paper's for N pixels, as in the TAE. The encoder's log-variances
    are never trained, as in the autoencoder.

    Example: `unknot.train("dsprites", objectives.AdaTAE(alpha=1024))`
    """

    alpha: Hyper = 4096.0
    psi: Hyper = 10.0
    margin: Margin = "hard"
    norm: Norm = "l1"
    eta: Hyper = 0.5
    omega: Hyper = linear(1.0, 0.5)
    decoder_gradient: bool = True
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 3
    sampler: ClassVar[str] = "triplets"
    family: ClassVar[Family] = "distances"

    def __post_init__(self) -> None:
        at_least(self, 0, "alpha", "psi")
        check_unit(self, "eta", "omega")
        check_choices(self, "margin", "norm")

    def recode(self, net: Net, q: Posterior) -> Posterior:
        """The mean, as good as exact."""
        return q.point()

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction of all views, and the adaptive triplet loss of their codes."""
        q = net.encode(step.x)
        z = q.mean
        triplets = adaptive_triplet_terms(self, *q.views(3), delta="absolute")
        decoded = net.decode(z if self.decoder_gradient else z.detach())
        return {
            "recon": Term(reconstruction(self.likelihood, decoded, step.x)),
            **triplets,
        }


# Michlo 2022 (dissertation), Table A.5, on XYSquares: alpha 1 for a loss averaged over 3 x 64 x 64
# standardised pixels.
PRESETS = {"michlo": AdaTAE(alpha=1.0 * 3 * 64 * 64, likelihood="gaussian")}
