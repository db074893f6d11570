"""Adam with one learning rate per member."""

from collections.abc import Sequence

import torch
from torch import Tensor

from unknot.core.hyper import lift
from unknot.core.objective import Adam


@torch.no_grad()
def adam(
    weights: Sequence[Tensor],
    m: Sequence[Tensor],
    v: Sequence[Tensor],
    gradients: Sequence[Tensor],
    settings: Adam,
    t: Tensor,
) -> None:
    """One step of Adam (Kingma and Ba 2015, algorithm 1) in place; members on the first axis.

    Args:
        weights: Each ``[p, ...]``.
        m: First moments.
        v: Second moments.
        gradients: Gradients of the loss.
        settings: With ``lr`` a number or ``[p]``.
        t: Steps done before this one.
    """
    steps = t.double() + 1
    first, second = 1 - settings.beta1**steps, 1 - settings.beta2**steps
    for w, mean, square, g in zip(weights, m, v, gradients, strict=True):
        mean.lerp_(g, 1 - settings.beta1)
        square.mul_(settings.beta2).addcmul_(g, g, value=1 - settings.beta2)
        lr = lift(torch.as_tensor(settings.lr, device=w.device), w.ndim - 1) / first
        w.addcdiv_(mean * lr, (square / second).sqrt_().add_(settings.eps), value=-1)
