"""Adam by its kernel, for a buffer of `engine/flat.py`."""

import torch
from torch import Tensor

from unknot.core.optim import Adam, AdamW
from unknot.engine.flat import BLOCK, Buffer
from unknot.engine.kernels.adam import adam_kernel


def factors(settings: Adam | AdamW, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What a step multiplies with: rates by member, the second correction, and AdamW's factor."""
    steps, rates = t.double() + 1, torch.as_tensor(settings.lr, device=t.device)
    first, second = 1 - settings.beta1**steps, 1 - settings.beta2**steps
    shrinks = 1 - rates.double() * getattr(settings, "weight_decay", 0.0)
    return rates / first, second.float(), shrinks


def run_adam(buffer: Buffer, settings: Adam | AdamW, t: Tensor) -> None:
    """One step in place."""
    rates, second, shrinks = factors(settings, t)
    adam_kernel[(len(buffer.places),)](
        buffer.weights, buffer.used, *buffer.moments, buffer.gradient, buffer.places,
        rates, shrinks, second,
        1 - settings.beta1, settings.beta2, 1 - settings.beta2, settings.eps,
        next(iter(buffer.shapes.values()))[0], isinstance(settings, AdamW),
        buffer.used is not buffer.weights, BLOCK, num_warps=4,
    )  # fmt: skip
