"""The adaptive triplet VAE."""

from dataclasses import dataclass, replace
from typing import ClassVar

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import MultiView, Net, Step, Term, Terms
from unknot.losses import Likelihood, beta_of_means, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.sharing import Delta, check_unit
from unknot.objectives.parts.triplets import Margin, Norm, adaptive_triplet_terms
from unknot.schedules import linear


@dataclass(frozen=True)
class AdaTVAE(MultiView):
    r"""Ada-TVAE: TVAE that pushes anchor and negative apart less in latents that they share.

    $$\mathcal L = \tfrac13 \textstyle\sum_{x \in \{x_a, x_p, x_n\}} \mathcal
    L_{\beta\text{-VAE}}(x) + \alpha \max(0, \psi + \|\mu_a - \mu_p\| - \|w \odot (\mu_a -
    \mu_n)\|), \qquad w_i = \begin{cases} \omega & \delta_i < (1 - \eta) \min \delta + \eta \max
    \delta \\ 1 & \text{otherwise} \end{cases}$$

    A distance is then to be made of few latents, which turns the axes to the factors; the TVAE
    learns distances at any rotation. The positive pulls on all latents alike. With omega 1 or eta 0
    it is the TVAE.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.22, with 5.16 to 5.21.
    Differs: beta and alpha are those of sums, as in the TVAE. The paper prints its first schedule,
    here the preset `michlo_threshold`, with an omega of 1, which does nothing; here it is 0.5.

    `delta` says by what anchor and negative are compared: differences of means or divergences of
    posteriors; the weights act on differences of means in any case. Distances should be learnt
    before they are weighted, so omega falls or eta rises over the run: a schedule without steps is
    one over the whole run. Strong ones (omega to 0) are apt to decay near the end, which shows in
    the reconstruction. `shared` in the log is the number of latents that anchor and negative share;
    the other settings and `violations` are those of the TVAE.

    Example: `unknot.train("dsprites", objectives.AdaTVAE(beta=0.5))`
    """

    beta: Hyper = 1.0
    alpha: Hyper = 4096.0
    psi: Hyper = 10.0
    margin: Margin = "hard"
    norm: Norm = "l1"
    delta: Delta = "absolute"
    eta: Hyper = 0.5
    omega: Hyper = linear(1.0, 0.5)
    decoder_gradient: bool = True
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 3
    sampler: ClassVar[str] = "triplets"
    family: ClassVar[Family] = "distances"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta", "alpha", "psi")
        check_unit(self, "eta", "omega")
        check_choices(self, "margin", "norm", "delta")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and divergence of all views, and the adaptive triplet loss of means."""
        q = net.encode(step.x)
        z = step.sample(q)
        triplets = adaptive_triplet_terms(self, *q.views(3), delta=self.delta)
        decoded = net.decode(z if self.decoder_gradient else z.detach())
        return {
            "recon": Term(reconstruction(self.likelihood, decoded, step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            **triplets,
        }


PIXELS = 3 * 64 * 64
MICHLO = AdaTVAE(
    beta=beta_of_means(0.01, pixels=PIXELS, latents=25),
    alpha=1.0 * PIXELS,
    likelihood="gaussian",
)
# Michlo 2022 (dissertation), Table A.5, on XYSquares: beta 0.01 and alpha 1 for a loss averaged
# over 3 x 64 x 64 standardised pixels and 25 latents. Of the schedules of Table 5.2 its choice is
# weight_weak.
PRESETS = {
    "michlo_threshold": replace(MICHLO, omega=0.5, eta=linear(0.0, 0.5)),
    "michlo_weight_weak": MICHLO,
    "michlo_weight_strong": replace(MICHLO, omega=linear(1.0, 0.0)),
    "michlo_both_weak": replace(MICHLO, eta=linear(0.0, 0.5)),
    "michlo_both_strong": replace(MICHLO, omega=linear(1.0, 0.0), eta=linear(0.0, 0.5)),
}
