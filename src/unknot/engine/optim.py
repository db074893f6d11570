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
    used: Sequence[Tensor] | None = None,
) -> None:
    """One step of Adam (Kingma and Ba 2015, algorithm 1) in place; members on the first axis.

    Args:
        weights: Each ``[p, ...]``.
        m: First moments.
        v: Second moments.
        gradients: Gradients of the loss, in any precision.
        settings: With ``lr`` a number or ``[p]``.
        t: Steps done before this one.
        used: Copies of the weights in another precision, to be renewed; or the weights themselves.
    """
    steps = t.double() + 1
    first, second = 1 - settings.beta1**steps, 1 - settings.beta2**steps
    columns = weights, m, v, gradients, used or weights
    for w, mean, square, gradient, copy in zip(*columns, strict=True):
        g = gradient.to(w.dtype)
        mean.lerp_(g, 1 - settings.beta1)
        square.mul_(settings.beta2).addcmul_(g, g, value=1 - settings.beta2)
        lr = lift(torch.as_tensor(settings.lr, device=w.device), w.ndim - 1) / first
        w.addcdiv_(mean * lr, (square / second).sqrt_().add_(settings.eps), value=-1)
        if copy is not w:
            copy.copy_(w)
