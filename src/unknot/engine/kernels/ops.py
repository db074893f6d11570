"""The kernels as PyTorch operators, with gradients.

A ReLU between two layers is computed by the first and differentiated by the second, which reads its
output anyway. So a layer called with ``relu`` must be followed by one called with ``rectified``:
the second one's gradient of its input is zero where that input is not positive, and the first one
takes the gradient as it comes.
"""

from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode

from unknot.engine.kernels.run import (
    joins,
    run_conv_down,
    run_conv_up,
    run_joint,
    run_weight_gradient,
)


@torch.library.custom_op("unknot::conv_down", mutates_args=())
def conv_down(
    big: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    kernel: int,
    phases: bool,
    relu: bool,
    rectified: bool,  # noqa: ARG001
) -> Tensor:
    """Small images ``[p, b, h, w, cs]`` from big ones ``[p, b, 2 h, 2 w, cb]``.

    Args:
        big: Contiguous images of even height and width.
        weight: ``[p, k * k * cb, cs]``, or ``[p, 4 * cs, 4 * cb]`` by phases.
        bias: ``[p, cs]``, added where given.
        mask: Like the output, which is set to zero where this is not positive.
        kernel: 4, with a padding of 1, or 2, without.
        phases: The weight's layout is that of a transposed convolution.
        relu: Followed by a ReLU whose gradient the next layer takes.
        rectified: The big images are the output of a ReLU whose gradient this layer takes.
    """
    return run_conv_down(big, weight, bias, mask, kernel, phases, relu)


@torch.library.custom_op("unknot::conv_up", mutates_args=())
def conv_up(
    small: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    kernel: int,
    phases: bool,
    relu: bool,
    rectified: bool,  # noqa: ARG001
) -> Tensor:
    """Big images ``[p, b, 2 h, 2 w, cb]`` from small ones ``[p, b, h, w, cs]``; see `conv_down`."""
    return run_conv_up(small, weight, bias, mask, kernel, phases, relu)


@torch.library.custom_op("unknot::weight_gradient", mutates_args=())
def weight_gradient(
    big: Tensor, small: Tensor, weight: Tensor, kernel: int, phases: bool
) -> tuple[Tensor, Tensor]:
    """Gradients of a weight, which gives shape and type, and of its bias."""
    return run_weight_gradient(big, small, weight, kernel, phases)


@torch.library.custom_op("unknot::joint_gradients", mutates_args=())
def joint_gradients(
    big: Tensor, small: Tensor, weight: Tensor, kernel: int, phases: bool, masked: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of a layer's input, of its weight and of its bias.

    Args:
        big: A convolution's input; a transposed one's gradient, where weights are by phases.
        small: The other of the two.
        weight: The layer's.
        kernel: 4 or 2.
        phases: The layer is a transposed convolution.
        masked: The input is the output of a ReLU whose gradient this layer takes.
    """
    return run_joint(big, small, weight, kernel, phases, masked)


@conv_down.register_fake
def _(
    big: Tensor, weight: Tensor, bias: Any, mask: Any, kernel: int, phases: bool, relu: bool, _: Any
) -> Tensor:
    return run_conv_down(big, weight, bias, mask, kernel, phases, relu)


@conv_up.register_fake
def _(
    small: Tensor,
    weight: Tensor,
    bias: Any,
    mask: Any,
    kernel: int,
    phases: bool,
    relu: bool,
    _: Any,
) -> Tensor:
    return run_conv_up(small, weight, bias, mask, kernel, phases, relu)


# A launch on fake tensors compiles; the rest is shapes.
weight_gradient.register_fake(lambda *arguments: run_weight_gradient(*arguments))
joint_gradients.register_fake(lambda *arguments: run_joint(*arguments))


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    image, weight, _, _, ctx.kernel, ctx.phases, _, ctx.rectified = inputs
    ctx.save_for_backward(image, weight)


def _conv_down_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    big, weight = ctx.saved_tensors
    gradient = gradient.contiguous()
    mask = big if ctx.rectified else None
    if ctx.needs_input_grad[0] and joins(big, gradient, ctx.kernel, ctx.phases):
        gradients = joint_gradients(big, gradient, weight, ctx.kernel, ctx.phases, ctx.rectified)
        return *gradients, None, None, None, None, None
    back = None
    if ctx.needs_input_grad[0]:
        back = conv_up(gradient, weight, None, mask, ctx.kernel, ctx.phases, False, False)
    taps, sums = weight_gradient(big, gradient, weight, ctx.kernel, ctx.phases)
    return back, taps, sums, None, None, None, None, None


def _conv_up_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    small, weight = ctx.saved_tensors
    gradient = gradient.contiguous()
    mask = small if ctx.rectified else None
    if ctx.needs_input_grad[0] and joins(gradient, small, ctx.kernel, ctx.phases):
        gradients = joint_gradients(gradient, small, weight, ctx.kernel, ctx.phases, ctx.rectified)
        return *gradients, None, None, None, None, None
    back = None
    if ctx.needs_input_grad[0]:
        back = conv_down(gradient, weight, None, mask, ctx.kernel, ctx.phases, False, False)
    taps, sums = weight_gradient(gradient, small, weight, ctx.kernel, ctx.phases)
    return back, taps, sums, None, None, None, None, None


conv_down.register_autograd(_conv_down_backward, setup_context=_save)
conv_up.register_autograd(_conv_up_backward, setup_context=_save)


def trial(device: torch.device) -> None:
    """Compile each kernel, all at once, and run it on a tiny image."""
    with FakeTensorMode():
        _run_each(device)
    _run_each(device)


def _run_each(device: torch.device) -> None:
    for kernel, dtype in ((4, torch.float32), (2, torch.bfloat16)):
        big, small = (torch.ones(1, 1, n, n, 16, dtype=dtype, device=device) for n in (4, 2))
        weight, bias = big.new_ones(1, kernel * kernel * 16, 16), big.new_ones(1, 16)
        conv_down(big, weight, bias, None, kernel, False, True, False)
        conv_up(small, weight, None, big, kernel, False, False, False)
        weight_gradient(big, small, weight, kernel, False)
