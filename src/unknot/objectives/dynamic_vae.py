"""DynamicVAE."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core.hyper import Hyper, at_least
from unknot.core.objective import Carry, ExtraState, Net, Stateful, Step, Terms
from unknot.losses import Likelihood, kl_normal
from unknot.objectives.parts.control import controlled_terms, gains, incremental, target_at
from unknot.objectives.parts.families import Family


@dataclass(frozen=True)
class DynamicVAE(Stateful):
    r"""DynamicVAE: beta-VAE whose beta falls from a large value, towards a target KL divergence.

    $$\mathcal L = -\mathbb E_{q(z|x)}[\ln p(x|z)] + \beta(t)\, \mathrm{KL}(t), \qquad
    \beta(t) = \beta(t-1) + K_p [\varsigma(-e(t)) - \varsigma(-e(t-1))] - K_i\, e(t)$$
    $$e(t) = v^* - \frac1T \sum_{i=t-T+1}^t \mathrm{KL}(i), \qquad
    \varsigma(a) = \frac{1}{1 + \exp(-a)}$$

    clipped to $[\beta_{\min}, \beta_{\max}]$. No gradient goes through beta.

    Paper: Shao et al. 2020, "DynamicVAE: decoupling reconstruction error and disentangled
    representation learning"; Shao et al. 2022, "Rethinking controllable variational autoencoders".
    Equation: The incremental PI controller; Moğultay Özcan 2024, equation 2.8.

    Differs: The integral part is left out while beta is beyond a bound *and* the error would push
    it further; the authors' code leaves it out whatever the error, and beta may then stay at its
    least for good. Their first `window - 1` averages count steps that never were as 0; these here
    are of the steps so far. Their code has no upper bound.

    `target` is $v^*$ in nats and `window` is $T$. With `ramp` the target starts at `ramp_start`
    and rises by `ramp_step` in every `ramp_every` steps, over the first `ramp_over` of them: 7.85
    after 300,000. `ki` is positive: the minus is in the formula. Target and error are logged; beta
    is the weight of `kl`.

    Example: `unknot.train("dsprites", objectives.DynamicVAE(target=20))`
    """

    target: Hyper = 20.0
    kp: Hyper = 0.01
    ki: Hyper = 0.005
    window: int = 5
    beta_start: Hyper = 150.0
    beta_min: float = 0.1
    beta_max: float = 1000.0
    ramp: bool = True
    ramp_start: Hyper = 0.5
    ramp_step: Hyper = 0.15
    ramp_every: int = 6_000
    ramp_over: int = 1_000
    likelihood: Likelihood = "bernoulli"
    family: ClassVar[Family] = "weights"

    def __post_init__(self) -> None:
        at_least(self, 0, "target", "kp", "ki", "beta_start", "beta_min", "ramp_start", "ramp_step")
        at_least(self, self.beta_min, "beta_max")
        at_least(self, 1, "window", "ramp_over")
        at_least(self, self.ramp_over, "ramp_every")

    def extra_state(self, z: int, seed: Int[Tensor, "*p"]) -> ExtraState:
        """Beta before it was clipped, the last error, and the last divergences."""
        zero = torch.zeros(seed.shape, dtype=torch.float64, device=seed.device)
        recent = zero.unsqueeze(-1).expand(*seed.shape, self.window)
        output = zero + self.beta_start
        return ExtraState(carried={"output": output, "before": zero, "recent": recent})

    def terms(self, net: Net, step: Step) -> Terms:
        """Reconstruction and controlled divergence."""
        q = net.encode(step.x)
        z = step.sample(q)
        kl = kl_normal(q).sum(-1)
        recent = torch.cat([net.extra["recent"][..., 1:], kl.detach().unsqueeze(-1)], -1)
        average = recent.sum(-1) / (step.t + 1).clamp(max=self.window)
        target = target_at(self, step.t, over=self.ramp_over).to(kl.dtype).expand_as(kl)
        error = target - average
        beta, output = incremental(
            net.extra["output"],
            net.extra["before"],
            error,
            **gains(self),
        )
        return {
            **controlled_terms(self, net, step, z, kl=kl, beta=beta, target=target, error=error),
            "output": Carry(output),
            "before": Carry(error),
            "recent": Carry(recent),
        }


PRESETS = {
    "shao_code": DynamicVAE(beta_start=50.0),
    "ozcan": DynamicVAE(target=18.0, likelihood="sigmoid_gaussian"),
}
