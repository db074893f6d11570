"""The L-VAE."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.objective import ExtraState, Net, Note, Stateful, Step, Term, Terms
from unknot.losses import Likelihood, kl_normal, reconstruction
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class LVAE(Stateful):
    r"""L-VAE: VAE whose two loss weights are learnt with the network.

    $$\mathcal L = \frac{R}{\sigma_0^2} + \frac{\mathrm{KL}(q(z|x) \| p(z))}{\sigma_1^2} +
    \sigma_0^2 + \sigma_1^2, \qquad \hat\beta = \sigma_0^2 / \sigma_1^2$$

    For constant $R$ and KL the sigmas settle at $\sigma_0^2 = \sqrt R$ and $\sigma_1^2 =
    \sqrt{\mathrm{KL}}$, so what is minimised is $2 \sqrt R + 2 \sqrt{\mathrm{KL}}$ and
    $\hat\beta = \sqrt{R / \mathrm{KL}}$, which grows with the number of pixels.

    Paper: Moğultay Özcan 2024, "On disentangled representation learning", chapter 6.
    Equation: 6.2 and 6.3.

    Differs: 6.2 as printed maximises one part and minimises the other; this is the form that has
    a minimum.

    `parametrization` says what the optimiser moves: sigma, from 1, or $\ln \sigma^2$, from 0.
    `penalty` log is that of Kendall et al. 2018, $\ln \sigma_0 + \ln \sigma_1$: then
    $\sigma^2 = 2 R$ and $2\,\mathrm{KL}$, and the loss falls without end as KL goes to 0.
    To freeze what was learnt (Table 6.2), train `beta_vae` with the same likelihood and the last
    `beta_hat` of the curves as its beta.

    Example: `unknot.train("dsprites", objectives.LVAE(penalty="square"))`
    """

    parametrization: Literal["sigma", "logvar"] = "sigma"
    penalty: Literal["square", "log"] = "square"
    likelihood: Likelihood = "sigmoid_gaussian"
    family: ClassVar[Family] = "weights"

    def __post_init__(self) -> None:
        check_choices(self, "parametrization", "penalty")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """Of reconstruction and divergence: sigma or its ln sigma^2."""
        start = 1.0 if self.parametrization == "sigma" else 0.0
        return ExtraState({self.parametrization: torch.full((*seed.shape, 2), start)})

    def terms(self, net: Net, step: Step) -> Terms:
        """Both parts under their learnt weights, and what the weights cost."""
        q = net.encode(step.x)
        z = step.sample(q)
        if self.parametrization == "sigma":
            variance = net.extra["sigma"].square()
        else:
            variance = net.extra["logvar"].exp()
        of_recon, of_kl = variance.unbind(-1)
        penalty = variance if self.penalty == "square" else 0.5 * variance.log()
        return {
            "recon": Term(reconstruction(self.likelihood, net.decode(z), step.x), 1 / of_recon),
            "kl": Term(kl_normal(q).sum(-1), 1 / of_kl),
            "penalty": Term(penalty.sum(-1)),
            "beta_hat": Note(of_recon / of_kl),
            "sigma0": Note(of_recon.sqrt()),
            "sigma1": Note(of_kl.sqrt()),
        }


PRESETS = {
    "logvar": LVAE(parametrization="logvar"),
    "kendall": LVAE(parametrization="logvar", penalty="log"),
}
