"""The triplet VAE."""

from dataclasses import dataclass
from typing import ClassVar

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import MultiView, Net, Step, Term, Terms
from unknot.losses import Likelihood, beta_of_means, kl_normal, reconstruction
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.triplets import Margin, Norm, triplet_terms


@dataclass(frozen=True)
class TVAE(MultiView):
    r"""TVAE: beta-VAE on triplets whose posterior means should keep the order of their distances.

    $$\mathcal L = \tfrac13 \textstyle\sum_{x \in \{x_a, x_p, x_n\}} \mathcal
    L_{\beta\text{-VAE}}(x) + \alpha \max(0, \psi + \|\mu_a - \mu_p\| - \|\mu_a - \mu_n\|)$$

    The positive $x_p$ is no farther from the anchor $x_a$ than the negative $x_n$, by a distance
    that the sampler of triplets chooses, such as that of the factors.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.12, with 5.1 or 5.2.
    Differs: Sums for means. The paper's loss takes means over N pixels and D latents; N times it is
    ours with $\beta N / D$ (`losses.beta_of_means`) and $\alpha N$, and Adam does not mind the
    factor. The margin psi is a length in the space of codes and stays as it is. The default alpha
    is the paper's 1 for 64 x 64 pixels.

    The `margin` "soft" is $\ln(1 + e^{\|\mu_a - \mu_p\| - \|\mu_a - \mu_n\|})$, without psi.
    Without `decoder_gradient` the reconstruction trains the decoder alone, and the encoder learns
    from triplets and divergence. `violations` in the log is the share of triplets that lack the
    margin, or, if it is soft, whose order is wrong.

    Example: `unknot.train("dsprites", objectives.TVAE(beta=0.5))`
    """

    beta: Hyper = 1.0
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
        at_least(self, 0, "beta", "alpha", "psi")
        check_choices(self, "margin", "norm")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and divergence of all views, and the triplet loss of their means."""
        q = net.encode(step.x)
        z = step.sample(q)
        triplets = triplet_terms(self, *q.views(3))
        decoded = net.decode(z if self.decoder_gradient else z.detach())
        return {
            "recon": Term(reconstruction(self.likelihood, decoded, step.x)),
            "kl": Term(kl_normal(q).sum(-1), self.beta),
            **triplets,
        }


PIXELS = 3 * 64 * 64
# Michlo 2022 (dissertation), Table A.5, on XYSquares: beta 0.01 and alpha 1 for a loss averaged
# over 3 x 64 x 64 standardised pixels and 25 latents.
PRESETS = {
    "michlo": TVAE(
        beta=beta_of_means(0.01, pixels=PIXELS, latents=25),
        alpha=1.0 * PIXELS,
        likelihood="gaussian",
    ),
}
