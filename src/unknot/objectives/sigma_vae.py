"""The sigma-VAE."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.objective import Calibrated, ExtraState, Net, Note, Stateful, Step, Term, Terms
from unknot.losses import kl_normal, reconstruction
from unknot.objectives.parts.families import Family

LOWEST = -6.0
"""The floor of ln sigma: 0.0025, two thirds of a grey level of 8-bit images."""


@dataclass(frozen=True)
class SigmaVAE(Stateful, Calibrated):
    r"""sigma-VAE: VAE with a Gaussian decoder whose variance is learnt or computed.

    $$\mathcal L = D \ln \sigma + \frac{1}{2 \sigma^2} R + \mathrm{KL}(q(z|x) \| p(z)), \qquad
    R = \mathbb E_{q(z|x)} \lVert x - \hat x(z) \rVert^2$$

    with $D$ pixels and one $\sigma$ for all of them. At its best $\sigma^2 = R / D$, and the model
    is a beta-VAE on $R$ with $\beta = 2 \sigma^2$, which is logged.

    Paper: Rybkin, Daniilidis and Levine 2021, "Simple and effective VAE training with calibrated
    decoders".
    Equation: The Gaussian log density and its best variance; 2.9 in Moğultay Özcan 2024.

    Differs: The constant $\frac D2 \ln 2 \pi$ is left out. Moğultay Özcan prints $\ln \sigma$
    without $D$, which makes $\sigma^2 = R$ and beta $2 R$: too much to reach the $R$ reported
    there.

    `sigma` is learnt by the same optimiser as the net, or analytic: the best one for each batch.
    `form` is that of the density, with $D$, or the literal one without. The floor of $\ln \sigma$
    is -6. The learnt one bends to it, as in the authors' code; the analytic one ends there, as to
    bend what is best already would make it larger than the best.

    Example: `unknot.train("dsprites", objectives.SigmaVAE(sigma="analytic"))`
    """

    sigma: Literal["learnt", "analytic"] = "learnt"
    form: Literal["density", "literal"] = "density"
    likelihood: Literal["gaussian", "sigmoid_gaussian"] = "sigmoid_gaussian"
    family: ClassVar[Family] = "weights"

    def __post_init__(self) -> None:
        check_choices(self, "sigma", "form", "likelihood")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """The learnt ln sigma, before its floor."""
        return ExtraState(
            {"log_sigma": torch.zeros(*seed.shape, 1)} if self.sigma == "learnt" else {}
        )

    def terms(self, net: Net, step: Step) -> Terms:
        """Weighted squared error, ln sigma and divergence."""
        q = net.encode(step.x)
        z = step.sample(q)
        error = reconstruction(self.likelihood, net.decode(z), step.x)
        count = step.x.shape[-3:].numel() if self.form == "density" else 1
        log_sigma = self._log_sigma(net.extra, error, count)
        variance = (2 * log_sigma).exp()
        return {
            "recon": Term(error, 0.5 / variance),
            "log_sigma": Term(log_sigma, float(count)),
            "kl": Term(kl_normal(q).sum(-1)),
            "sigma": Note(log_sigma.exp()),
            "beta": Note(2 * variance),
        }

    def decoder_variance(
        self, extra: Mapping[str, Tensor], error: Float[Tensor, "*p"], count: int
    ) -> Float[Tensor, "*p"]:
        r"""$\sigma^2$ of the decoder.

        Args:
            extra: What the objective has learnt.
            error: $R$, of which the analytic one is the best.
            count: $D$.

        Raises:
            ConfigError: The form is literal: no density has such a sigma.
        """
        if self.form == "literal":
            raise ConfigError(
                "the literal form of sigma_vae is no likelihood; train with form=density."
            )
        return (2 * self._log_sigma(extra, error, count)).exp()

    def _log_sigma(
        self, extra: Mapping[str, Tensor], error: Float[Tensor, "*p"], count: int
    ) -> Float[Tensor, "*p"]:
        if self.sigma == "learnt":
            return soft_floor(extra["log_sigma"].squeeze(-1))
        return best_log_sigma(error, count).clamp(min=LOWEST)


def best_log_sigma(error: Float[Tensor, "*p"], count: int) -> Float[Tensor, "*p"]:
    r"""The minimum of $n \ln \sigma + R / (2 \sigma^2)$: $\sigma^2 = R / n$."""
    # An error of 0 would give -inf here, and no gradient after the floor.
    return 0.5 * (error / count).clamp(min=torch.finfo(error.dtype).tiny).log()


def soft_floor(log_sigma: Float[Tensor, "*p"]) -> Float[Tensor, "*p"]:
    r"""Numbers bent softly to stay above -6.

    Example:
        >>> [round(y, 3) for y in soft_floor(torch.tensor([-50.0, -6.0, 0.0])).tolist()]
        [-6.0, -5.307, 0.002]
    """
    return LOWEST + F.softplus(log_sigma - LOWEST)


PRESETS = {
    "optimal": SigmaVAE(sigma="analytic"),
    "ozcan_literal": SigmaVAE(form="literal"),
}
