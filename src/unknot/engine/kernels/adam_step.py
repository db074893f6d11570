"""Adam by its kernel, for a buffer of `engine/flat.py`."""

from collections.abc import Sequence

import torch
from torch import Tensor

from unknot.core.optim import Adam, AdamW
from unknot.engine.flat import BLOCK, Buffer
from unknot.engine.kernels.adam import adam_kernel

ALIGNED = 16
"""Bytes that the kernel loads at a time."""
MOST = 64
"""Gradients of a launch: each is an argument of it."""


def run_adam(
    buffer: Buffer, gradients: Sequence[Tensor], settings: Adam | AdamW, t: Tensor
) -> None:
    """One step in place; gradients in the order of the buffer's weights, of one precision."""
    lr, steps = torch.as_tensor(settings.lr, device=t.device), t.double() + 1
    # Here rather than in each thread of the kernel.
    corrections = torch.stack([1 - settings.beta1**steps, 1 - settings.beta2**steps])
    decays = torch.as_tensor(getattr(settings, "weight_decay", lr), device=t.device)
    ends = [*buffer.begins.values(), len(buffer.weights)]
    for first in range(0, len(gradients), MOST):
        some = tuple(_aligned(gradient) for gradient in gradients[first : first + MOST])
        begin, end = ends[first] // BLOCK, ends[first + len(some)] // BLOCK
        adam_kernel[(end - begin,)](
            buffer.weights, buffer.used, *buffer.moments, some, buffer.places, lr, decays,
            corrections, begin, first,
            1 - settings.beta1, settings.beta2, 1 - settings.beta2, settings.eps,
            isinstance(settings, AdamW), buffer.members, buffer.used is not buffer.weights,
            BLOCK, num_warps=4,
        )  # fmt: skip


def _aligned(gradient: Tensor) -> Tensor:
    gradient = gradient.contiguous()
    return gradient if gradient.data_ptr() % ALIGNED == 0 else gradient.clone()
