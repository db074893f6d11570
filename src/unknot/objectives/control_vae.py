"""ControlVAE."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Carry, ExtraState, Net, Stateful, Step, Terms
from unknot.losses import Likelihood, kl_normal
from unknot.objectives.parts.control import controlled_terms, gains, position, target_at
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class ControlVAE(Stateful):
    r"""ControlVAE: beta-VAE whose beta a PI controller adjusts to reach a target KL divergence.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] + \beta(t)\, \mathrm{KL}(t), \qquad
    \beta(t) = \frac{K_p}{1 + \exp e(t)} - K_i \sum_{\tau \le t} e(\tau) + \beta_{\min}, \qquad
    e(t) = v^* - \mathrm{KL}(t)$$

    clipped to $[\beta_{\min}, \beta_{\max}]$. No gradient goes through beta.

    Paper: Shao et al. 2020, "ControlVAE: controllable variational autoencoder".
    Equation: The PI controller of algorithm 1; Moğultay Özcan 2024, equations 2.6 and 2.7.

    Differs: The sum stands still while beta is beyond a bound *and* the error would push it
    further; the authors' code waits for the proportional part to bring beta back, which it often
    cannot, and beta then never moves again. Their disentangling code has no upper bound.

    `target` is $v^*$ in nats. With `ramp` it starts at `ramp_start` and rises by `ramp_step` at
    every `ramp_every` steps, so that it is far from reached in a short run: 9.5 after 300,000.
    `ki` is positive: the minus is in the formula. Target and error are logged; beta is the weight
    of `kl`.

    Example: `unknot.train("dsprites", objectives.ControlVAE(target=16))`
    """

    target: Hyper = 18.0
    kp: Hyper = 0.01
    ki: Hyper = 0.001
    beta_min: float = 1.0
    beta_max: float = 1000.0
    ramp: bool = True
    ramp_start: Hyper = 0.5
    ramp_step: Hyper = 0.15
    ramp_every: int = 5_000
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "weights"

    def __post_init__(self) -> None:
        at_least(self, 0, "target", "kp", "ki", "beta_min", "ramp_start", "ramp_step")
        at_least(self, self.beta_min, "beta_max")
        at_least(self, 1, "ramp_every")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """The sum of errors so far times the gain, and beta before it was clipped."""
        zero = torch.zeros(seed.shape, dtype=torch.float64, device=seed.device)
        return ExtraState(carried={"integral": zero, "output": zero + self.beta_min})

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and controlled divergence."""
        q = net.encode(step.x)
        z = step.sample(q)
        kl = kl_normal(q).sum(-1)
        target = target_at(self, step.t).to(kl.dtype).expand_as(kl)
        error = target - kl.detach()
        beta, integral, output = position(
            net.extra["integral"],
            net.extra["output"],
            error,
            **gains(self),
        )
        return {
            **controlled_terms(self, net, step, z, kl=kl, beta=beta, target=target, error=error),
            "integral": Carry(integral),
            "output": Carry(output),
        }


PRESETS = {
    "shao16": ControlVAE(target=16.0),
    # The thesis gives no least beta; its beta of 0 at the start leaves only 0.
    "ozcan": ControlVAE(beta_min=0.0, likelihood="sigmoid_gaussian"),
    "ozcan_no_ramp": ControlVAE(beta_min=0.0, ramp=False, likelihood="sigmoid_gaussian"),
}
