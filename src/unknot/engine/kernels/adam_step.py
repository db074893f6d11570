"""Adam by its kernel, for a buffer of `engine/flat.py`."""

import math

import torch
from torch import Tensor

from unknot.core.optim import Adam, AdamW
from unknot.engine.flat import BLOCK, Buffer
from unknot.engine.kernels.adam import adam_kernel


def run_adam(buffer: Buffer, settings: Adam | AdamW, t: Tensor) -> None:
    """One step in place."""
    betas, lr = (settings.beta1, settings.beta2), torch.as_tensor(settings.lr, device=t.device)
    decays = torch.as_tensor(getattr(settings, "weight_decay", lr), device=t.device)
    adam_kernel[(len(buffer.places),)](
        buffer.weights, buffer.used, *buffer.moments, buffer.gradient, buffer.places,
        lr, decays, t,
        1 - settings.beta1, settings.beta2, 1 - settings.beta2, settings.eps,
        # Of a beta of 0, a power that is as good as none.
        *(math.log2(beta) if beta else -1e6 for beta in betas),
        isinstance(settings, AdamW), buffer.members, buffer.used is not buffer.weights,
        BLOCK, num_warps=4,
    )  # fmt: skip
