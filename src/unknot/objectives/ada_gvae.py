"""The adaptive group VAE."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch

from unknot.core.choices import check_choices
from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import MultiView, Net, Step, Terms
from unknot.core.posterior import Posterior
from unknot.losses import Likelihood, beta_of_means
from unknot.objectives.parts.families import Family
from unknot.objectives.parts.sharing import Delta, check_unit, pair_terms

Average: TypeAlias = Literal["variance", "std"]


@dataclass(frozen=True)
class AdaGVAE(MultiView):
    r"""Ada-GVAE: beta-VAE on image pairs; posteriors are averaged in latents where they are close.

    $$\mathcal L = \tfrac12 \textstyle\sum_{x \in \{x_a, x_b\}} \mathcal L_{\beta\text{-VAE}}(x;
    \tilde q), \qquad \tilde q_i = \begin{cases} \mathcal N\big(\frac{\mu_a + \mu_b}2,
    \frac{\sigma_a^2 + \sigma_b^2}2\big)_i & \delta_i < \tfrac12 (\min \delta + \max \delta)
    \\ q_i & \text{otherwise} \end{cases}$$

    The two images of a pair differ in a few factors. Which ones is not told: latents whose
    posteriors are close, by delta, count as shared. Divergence and samples are both those of
    $\tilde q$. The code of an image is the encoder's own.

    Paper: Locatello et al. 2020, "Weakly-supervised disentanglement without compromises".
    Equation: 2.9 to 2.16 of Michlo 2022, who restates it; `eta` is that of its 5.16.
    Differs: None in the default, where `delta` is $\mathrm{KL}(q_a \| q_b)$ and so depends on which
    image comes first; Michlo takes `symmetric_kl`, or `absolute` differences of means.
    The threshold is $(1 - \eta) \min \delta + \eta \max \delta$, the paper's at `eta` 0.5; at 0
    nothing is shared. `average` "std" averages deviations in place of variances, as Michlo's 2.16
    can be read. Michlo's beta is that of means over pixels and latents: `losses.beta_of_means`
    translates it.

    `shared` in the log is the number of latents that a pair shares.

    Example: `unknot.train("dsprites", objectives.AdaGVAE(beta=2))`
    """

    beta: Hyper = 1.0
    delta: Delta = "kl"
    eta: Hyper = 0.5
    average: Average = "variance"
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "pairs"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta")
        check_unit(self, "eta")
        check_choices(self, "delta", "average")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and weighted divergence, of both views."""
        return pair_terms(self, net, step, lambda a, b: average_posteriors(a, b, self.average))


def average_posteriors(a: Posterior, b: Posterior, average: Average) -> Posterior:
    """Mean of the means, and of the variances or of the deviations.

    Example:
        >>> wide = Posterior(torch.tensor([[4.0]]), torch.tensor([[9.0]]).log())
        >>> slim = Posterior(torch.tensor([[0.0]]), torch.tensor([[1.0]]).log())
        >>> average_posteriors(wide, slim, "variance").logvar.exp().item()
        5.0...
        >>> average_posteriors(wide, slim, "std").logvar.exp().item()
        4.0...
    """
    power = 1.0 if average == "variance" else 2.0
    total = torch.logaddexp(a.logvar / power, b.logvar / power)
    return Posterior((a.mean + b.mean) / 2, power * (total - math.log(2)))


PRESETS = {
    # Michlo 2022, section 3.3.4, on XYSquares: beta 0.001 of means over 3 x 64 x 64 standardised
    # pixels and 9 latents.
    "michlo": AdaGVAE(
        beta=beta_of_means(0.001, pixels=3 * 64 * 64, latents=9),
        delta="symmetric_kl",
        likelihood="gaussian",
    ),
}
