"""The adaptive multi-level VAE."""

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

Precision: TypeAlias = Literal["mean", "sum"]


@dataclass(frozen=True)
class AdaMLVAE(MultiView):
    r"""Ada-ML-VAE: Ada-GVAE that averages close posteriors by their product.

    $$\mathcal L = \tfrac12 \textstyle\sum_{x \in \{x_a, x_b\}} \mathcal L_{\beta\text{-VAE}}(x;
    \tilde q), \qquad \bar\sigma^{-2} = \tfrac12 (\sigma_a^{-2} + \sigma_b^{-2}), \quad
    \bar\mu = \tfrac12 \bar\sigma^2 (\mu_a \sigma_a^{-2} + \mu_b \sigma_b^{-2})$$

    Which latents are shared is decided as for the Ada-GVAE; the surer of two posteriors has more
    say in the mean.

    Paper: Locatello et al. 2020, "Weakly-supervised disentanglement without compromises".
    Equation: 2.9 to 2.15 of Michlo 2022, who restates it; the product is Bouchacourt, Tomioka and
    Nowozin 2018.
    Differs: None in the default, which is what the authors' code does: precisions are averaged, so
    equal posteriors stay as they are. The product of two Gaussians has the `precision` "sum", half
    that variance and the same mean. `delta`, `eta` and beta are as in the Ada-GVAE.

    Example: `unknot.train("dsprites", objectives.AdaMLVAE(beta=2))`
    """

    beta: Hyper = 1.0
    delta: Delta = "kl"
    eta: Hyper = 0.5
    precision: Precision = "mean"
    likelihood: Likelihood = "bernoulli"
    views: ClassVar[int] = 2
    sampler: ClassVar[str] = "pairs"
    family: ClassVar[Family] = "posterior"

    def __post_init__(self) -> None:
        at_least(self, 0, "beta")
        check_unit(self, "eta")
        check_choices(self, "delta", "precision")

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and weighted divergence, of both views."""
        return pair_terms(self, net, step, lambda a, b: product(a, b, self.precision))


def product(a: Posterior, b: Posterior, precision: Precision) -> Posterior:
    """Product of two Gaussians, with the sum of their precisions or with its half.

    Example:
        >>> a = Posterior(torch.tensor([[4.0]]), torch.tensor([[0.5]]).log())
        >>> b = Posterior(torch.tensor([[0.0]]), torch.tensor([[0.25]]).log())
        >>> both = product(a, b, "sum")
        >>> round(both.mean.item(), 4), round(both.logvar.exp().item(), 4)
        (1.3333, 0.1667)
    """
    trust = (b.logvar - a.logvar).sigmoid()  # of a: its share of the precision
    logvar = -torch.logaddexp(-a.logvar, -b.logvar)
    if precision == "mean":
        logvar = logvar + math.log(2)
    return Posterior(trust * a.mean + (1 - trust) * b.mean, logvar)


PRESETS = {
    # Michlo 2022, as the preset of the same name of the Ada-GVAE: beta 0.001 of means over
    # 3 x 64 x 64 standardised pixels and 9 latents.
    "michlo": AdaMLVAE(
        beta=beta_of_means(0.001, pixels=3 * 64 * 64, latents=9),
        delta="symmetric_kl",
        likelihood="gaussian",
    ),
}
