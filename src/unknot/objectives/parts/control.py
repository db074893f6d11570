"""PI controllers of a divergence: the ramp of its target, and the weight that leads it there.

Both controllers hold their integral while their output is beyond a bound and the error would push
it further out. The authors' code holds it whatever the error's sign; once an integral is further
below the bound than ``kp`` can lift it, their weight stays at the bound for good, however high the
divergence: a first error of 18 without a ramp is enough.
"""

from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, sigmoid, where

from unknot.core.hyper import Number
from unknot.core.objective import Net, Note, Step, Term, Terms
from unknot.losses import reconstruction


def target_at(
    objective: Any,
    t: Int[Tensor, ""],
    *,
    over: int = 1,
) -> Float[Tensor, "*p"]:
    """The target of a step, in float64: ramped, or there from the start."""
    start = objective.ramp_start if objective.ramp else objective.target
    step, interval = objective.ramp_step, objective.ramp_every
    return ramp_target(t, objective.target, start=start, step=step, interval=interval, over=over)


def gains(objective: Any) -> dict[str, Any]:
    """What both controllers are told by an objective's fields."""
    low, high = objective.beta_min, objective.beta_max
    return {"kp": objective.kp, "ki": objective.ki, "low": low, "high": high}


def controlled_terms(
    objective: Any,
    net: Net,
    step: Step,
    z: Float[Tensor, "*p b z"],
    *,
    kl: Float[Tensor, "*p"],
    beta: Float[Tensor, "*p"],
    target: Float[Tensor, "*p"],
    error: Float[Tensor, "*p"],
) -> Terms:
    """Reconstruction, and divergence under the weight that a controller gives it."""
    return {
        "recon": Term(reconstruction(objective.likelihood, net.decode(z), step.x)),
        "kl": Term(kl, beta),
        "target": Note(target),
        "error": Note(error),
    }


def ramp_target(
    t: Int[Tensor, ""], target: Number, *, start: Number, step: Number, interval: int, over: int = 1
) -> Float[Tensor, "*p"]:
    """A target that starts low and rises by ``step`` every ``interval`` steps until it is reached.

    Each rise is spread over ``over`` steps. Steps count from 1, as in the authors' code, so the
    first rise is seen at ``t = interval - 1``.

    Example:
        >>> import torch
        >>> at = lambda t: ramp_target(torch.tensor(t), 18.0, start=0.5, step=0.15, interval=5000)
        >>> [round(at(t).item(), 2) for t in (0, 4998, 4999, 299_999, 10**6)]
        [0.5, 0.5, 0.65, 9.5, 18.0]
    """
    count = t.double() + 1
    share = ((count % interval + 1) / over).clamp(max=1)
    rises = ((count / interval).floor() - 1 + share).clamp(min=0)
    return (start + step * rises).clamp(max=target)


def position(
    integral: Float[Tensor, "*p"],
    output: Float[Tensor, "*p"],
    error: Float[Tensor, "*p"],
    *,
    kp: Number,
    ki: Number,
    low: float,
    high: float,
) -> tuple[Float[Tensor, "*p"], Float[Tensor, "*p"], Float[Tensor, "*p"]]:
    r"""A step of ControlVAE's controller, $K_p \varsigma(-e) - K_i \sum e$ above ``low``.

    Args:
        integral: Its second part after the last step; 0 at first.
        output: The weight of the last step before it was clipped; ``low`` at first.
        error: Target less divergence of this step.
        kp: Proportional gain.
        ki: Integral gain; the minus is in the formula.
        low: Least weight.
        high: Largest weight.

    Returns:
        The weight of this step, and integral and output to hand to the next.
    """
    integral = where(_winds_up(output, error, low, high), integral, integral - ki * error)
    output = low + kp * sigmoid(-error) + integral
    return output.clamp(low, high), integral, output


def incremental(
    output: Float[Tensor, "*p"],
    before: Float[Tensor, "*p"],
    error: Float[Tensor, "*p"],
    *,
    kp: Number,
    ki: Number,
    low: float,
    high: float,
) -> tuple[Float[Tensor, "*p"], Float[Tensor, "*p"]]:
    r"""A step of DynamicVAE's controller, $K_p [\varsigma(-e) - \varsigma(-e')] - K_i e$ further.

    Args:
        output: The weight of the last step before it was clipped.
        before: The error $e'$ of the last step; 0 at first.
        error: Target less averaged divergence of this step.
        kp: Proportional gain.
        ki: Integral gain; the minus is in the formula.
        low: Least weight.
        high: Largest weight.

    Returns:
        The weight of this step, and the output to hand to the next.
    """
    integral = where(_winds_up(output, error, low, high), 0.0, ki * error)
    output = output + kp * (sigmoid(-error) - sigmoid(-before)) - integral
    return output.clamp(low, high), output


def _winds_up(
    output: Float[Tensor, "*p"], error: Float[Tensor, "*p"], low: float, high: float
) -> Bool[Tensor, "*p"]:
    return ((output < low) & (error > 0)) | ((output > high) & (error < 0))
