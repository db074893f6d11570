"""Triton kernels for convolutions of stride 2, down and up, for all members at once.

A convolution of stride 2 takes a big image to a small one with half its height and width; a
transposed one takes a small image to a big one. The two are each other's adjoint, so three kernels
serve both layers and all of their gradients:

================= ================= ========================== ==========================
kernel            computes          in a convolution           in a transposed one
================= ================= ========================== ==========================
`conv_down`       small from big    the output                 the gradient of the input
`conv_up`         big from small    the gradient of the input  the output
`weight_gradient` weights from both the gradient of the weight the gradient of the weight
================= ================= ========================== ==========================

Images are ``[p, b, h, w, c]``, contiguous; CB and CS are the channels of the big and the small
image. A kernel is 4 x 4 with padding 1, or 2 x 2 without.
`ready` says whether they run on a device, and loads the operators ``torch.ops.unknot``.
"""

import importlib
import warnings
from functools import cache

import torch

from unknot.engine.compiled import keep_compiled


class SlowerWarning(UserWarning):
    """Something is computed in a slower way than it could be."""


@cache
def slower(message: str) -> None:
    """Say once in a process that something is slower than it could be, and why."""
    warnings.warn(message, SlowerWarning, stacklevel=2)


def first_line(error: Exception) -> str:
    """An error in one line: what a compiler's failure wraps, where it wraps something."""
    error = getattr(error, "inner_exception", error)
    lines = [line for line in map(str.strip, str(error).splitlines()) if line]
    return ": ".join([type(error).__name__, *lines[:1]])


@cache
def ready(device: torch.device) -> bool:
    """Whether the kernels run on a device; a `SlowerWarning` says once why they do not."""
    try:
        keep_compiled()
        importlib.import_module("triton")
        from unknot.engine.kernels.ops import trial

        with torch.cuda.device(device):
            trial(device)
    # Whatever keeps a compiler from its work: no Triton, no C compiler, too old a device.
    except Exception as error:
        slower(
            "Convolutions train without Triton kernels, at about half the speed, because they do "
            f"not run on {device}: {first_line(error)}"
        )
        return False
    return True
