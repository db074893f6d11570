"""The kernels as PyTorch operators, with gradients.

A ReLU between two layers is computed by the first and differentiated by the second, which reads its
output anyway. So a layer called with ``relu`` must be followed by one called with ``rectified``:
the second one's gradient of its input is zero where that input is not positive, and the first one
takes the gradient as it comes.
"""

from typing import Any

import torch
from torch import Tensor

from unknot.engine.kernels.configs import Config, Shape, config, splits, tiles
from unknot.engine.kernels.convolutions import (
    add_up_kernel,
    conv_down_kernel,
    conv_up_kernel,
    weight_gradient_few_kernel,
    weight_gradient_kernel,
)
from unknot.engine.kernels.joint import joint_down_kernel, joint_up_kernel

FEW = 4
"""Up to so many channels of the big image, its windows cost less than the small image's."""


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
    joint: bool = False,  # noqa: ARG001
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
        joint: Gradients of input and weight are computed by one kernel, where `joins` allows it.
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
    joint: bool = False,  # noqa: ARG001
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
def _(big: Tensor, weight: Tensor, _b: Any, _m: Any, _k: int, phases: bool, *_: bool) -> Tensor:
    return big.new_empty(_small(big, weight, phases))


@conv_up.register_fake
def _(small: Tensor, weight: Tensor, _b: Any, _m: Any, k: int, phases: bool, *_: bool) -> Tensor:
    return small.new_empty(_big(small, weight, phases, k))


@weight_gradient.register_fake
def _(big: Tensor, small: Tensor, weight: Tensor, _k: int, phases: bool) -> tuple[Tensor, Tensor]:
    channels = (big if phases else small).shape[-1]
    return torch.empty_like(weight), weight.new_empty(len(weight), channels)


@joint_gradients.register_fake
def _(
    big: Tensor, small: Tensor, weight: Tensor, _k: int, phases: bool, _m: bool
) -> tuple[Tensor, Tensor, Tensor]:
    channels = (big if phases else small).shape[-1]
    back = torch.empty_like(small if phases else big)
    return back, torch.empty_like(weight), weight.new_empty(len(weight), channels)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:  # noqa: ARG001
    image, weight, _, _, ctx.kernel, ctx.phases, _, ctx.rectified, ctx.joint = inputs
    ctx.save_for_backward(image, weight)


def _conv_down_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    big, weight = ctx.saved_tensors
    gradient = gradient.contiguous()
    mask = big if ctx.rectified else None
    back = None
    if ctx.joint and ctx.needs_input_grad[0] and joins(big.shape[-1], gradient.shape[-1], False):
        gradients = joint_gradients(big, gradient, weight, ctx.kernel, ctx.phases, ctx.rectified)
        return *gradients, None, None, None, None, None, None
    if ctx.needs_input_grad[0]:
        back = conv_up(gradient, weight, None, mask, ctx.kernel, ctx.phases, False, False)
    taps, sums = weight_gradient(big, gradient, weight, ctx.kernel, ctx.phases)
    return back, taps, sums, None, None, None, None, None, None


def _conv_up_backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
    small, weight = ctx.saved_tensors
    gradient = gradient.contiguous()
    mask = small if ctx.rectified else None
    back = None
    if ctx.joint and ctx.needs_input_grad[0] and joins(gradient.shape[-1], small.shape[-1], True):
        gradients = joint_gradients(gradient, small, weight, ctx.kernel, ctx.phases, ctx.rectified)
        return *gradients, None, None, None, None, None, None
    if ctx.needs_input_grad[0]:
        back = conv_down(gradient, weight, None, mask, ctx.kernel, ctx.phases, False, False)
    taps, sums = weight_gradient(gradient, small, weight, ctx.kernel, ctx.phases)
    return back, taps, sums, None, None, None, None, None, None


conv_down.register_autograd(_conv_down_backward, setup_context=_save)
conv_up.register_autograd(_conv_up_backward, setup_context=_save)


def _small(big: Tensor, weight: Tensor, phases: bool) -> tuple[int, ...]:
    p, b, height, width, _ = big.shape
    return p, b, height // 2, width // 2, weight.shape[1] // 4 if phases else weight.shape[2]


def _big(small: Tensor, weight: Tensor, phases: bool, kernel: int) -> tuple[int, ...]:
    p, b, height, width, _ = small.shape
    channels = weight.shape[2] // 4 if phases else weight.shape[1] // (kernel * kernel)
    return p, b, 2 * height, 2 * width, channels


def _precision() -> str:
    """How float32 numbers are multiplied, as the engine has set it."""
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"


def run_conv_down(
    big: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    kernel: int,
    phases: bool,
    relu: bool,
    how: Config | None = None,
) -> Tensor:
    """`conv_down` without gradients, cut as asked."""
    small = big.new_empty(_small(big, weight, phases))
    p, b, height, width, cs = small.shape
    cb, rows = big.shape[-1], b * height * width
    how = how or _config(big, Shape("conv_down", height, cb, cs, kernel, phases), rows, p)
    conv_down_kernel[-(-rows // how.bm), -(-cs // how.bn), p](
        big, weight, small if bias is None else bias, small if mask is None else mask, small, rows,
        height, width, cb, cs, kernel, phases,
        bias is not None, relu, mask is not None, _precision(),
        how.bm, how.bn, how.bk, num_warps=how.warps, num_stages=how.stages,
    )  # fmt: skip
    return small


def run_conv_up(
    small: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    kernel: int,
    phases: bool,
    relu: bool,
    how: Config | None = None,
) -> Tensor:
    """`conv_up` without gradients, cut as asked."""
    p, b, height, width, cs = small.shape
    big = small.new_empty(_big(small, weight, phases, kernel))
    cb = big.shape[-1]
    rows = b * _windows(height, width, kernel)
    how = how or _config(small, Shape("conv_up", height, cb, cs, kernel, phases), rows, p)
    conv_up_kernel[-(-rows // how.bm), -(-4 * cb // how.bn), p](
        small, weight, big if bias is None else bias, big if mask is None else mask, big, b,
        height, width, cb, cs, kernel, phases,
        bias is not None, relu, mask is not None, _precision(),
        how.bm, how.bn, how.bk, num_warps=how.warps, num_stages=how.stages,
    )  # fmt: skip
    return big


def run_weight_gradient(
    big: Tensor,
    small: Tensor,
    weight: Tensor,
    kernel: int,
    phases: bool,
    how: Config | None = None,
) -> tuple[Tensor, Tensor]:
    """`weight_gradient`, cut as asked."""
    p, b, height, width, cs = small.shape
    cb, size = big.shape[-1], weight[0].numel()
    few = cb <= FEW
    shape = Shape(
        "weight_gradient_few" if few else "weight_gradient", height, cb, cs, kernel, phases
    )
    rows = b * (height * width if few else _windows(height, width, kernel))
    how = how or _config(big, shape, rows, p)
    chunk = -(-rows // (splits(how, shape, rows, p) * how.bm)) * how.bm
    parted = -(-rows // chunk)
    lines, channels = (4 * parted, cb) if phases else (parted, cs)
    parts = weight.new_empty(p, parted, size, dtype=torch.float32)
    sums = weight.new_empty(p, lines, channels, dtype=torch.float32)
    (weight_gradient_few_kernel if few else weight_gradient_kernel)[tiles(how, shape), parted, p](
        big, small, parts, sums, b,
        height, width, cb, cs, kernel, phases, chunk, _precision(),
        how.bm, how.bn, how.bk, num_warps=how.warps, num_stages=how.stages,
    )  # fmt: skip
    taps, bias = torch.empty_like(weight), weight.new_empty(p, channels)
    add_up_kernel[-(-max(size, channels) // 256), p](
        parts, sums, taps, bias, parted, size, lines, channels, 256, 16
    )
    return taps, bias


def joins(cb: int, cs: int, phases: bool) -> bool:
    """Whether one kernel can compute both gradients of a layer.

    The sums of all taps have to find room beside each other in a program: layers with more channels
    work on small images, which cost little to read twice.
    """
    return 16 * cb <= 512 if phases else 4 * cs <= 256


def run_joint(
    big: Tensor,
    small: Tensor,
    weight: Tensor,
    kernel: int,
    phases: bool,
    masked: bool,
    how: Config | None = None,
    scales: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`joint_gradients`, cut as asked; the big images times ``scales [p, b]`` where given."""
    p, b, height, width, cs = small.shape
    cb, size = big.shape[-1], weight[0].numel()
    shape = Shape("joint_up" if phases else "joint_down", height, cb, cs, kernel, phases)
    rows = b * (height * width if phases else _windows(height, width, kernel))
    how = how or _config(big, shape, rows, p)
    chunk = -(-rows // (splits(how, shape, rows, p) * how.bm)) * how.bm
    parted = -(-rows // chunk)
    lines, channels = (4 * parted, cb) if phases else (parted, cs)
    parts = weight.new_empty(p, parted, size, dtype=torch.float32)
    sums = weight.new_empty(p, lines, channels, dtype=torch.float32)
    back = torch.empty_like(small if phases else big)
    sides, results = (height, width, cb, cs), (back, parts, sums, b)
    cut, precision = (how.bm, how.bn, how.bk), _precision()
    grid = tiles(how, shape), parted, p
    if phases:
        lanes = 1 if how.bk >= 16 * cb else 4
        joint_up_kernel[grid](
            big, small, weight, big if scales is None else scales, *results,
            *sides, lanes, chunk, masked, scales is not None, precision, *cut,
            num_warps=how.warps, num_stages=how.stages,
        )  # fmt: skip
    else:
        joint_down_kernel[grid](
            big, small, weight, *results, *sides, kernel, chunk, masked, precision, *cut,
            num_warps=how.warps, num_stages=how.stages,
        )  # fmt: skip
    taps, bias = torch.empty_like(weight), weight.new_empty(p, channels)
    add_up_kernel[-(-max(size, channels) // 256), p](
        parts, sums, taps, bias, parted, size, lines, channels, 256, 16
    )
    return back, taps, bias


def _windows(height: int, width: int, kernel: int) -> int:
    """Windows of `conv_up` in an image."""
    return (height + kernel // 2 - 1) * (width + kernel // 2 - 1)


def _config(image: Tensor, shape: Shape, rows: int, members: int) -> Config:
    capability = torch.cuda.get_device_capability(image.device) if image.is_cuda else (0, 0)
    return config(shape, image.element_size(), capability, rows, members)


def trial(device: torch.device) -> None:
    """Compile and run each kernel once on a tiny image."""
    for kernel, dtype in ((4, torch.float32), (2, torch.bfloat16)):
        big, small = (torch.ones(1, 1, n, n, 16, dtype=dtype, device=device) for n in (4, 2))
        weight, bias = big.new_ones(1, kernel * kernel * 16, 16), big.new_ones(1, 16)
        conv_down(big, weight, bias, None, kernel, False, True, False)
        conv_up(small, weight, None, big, kernel, False, False, False)
        weight_gradient(big, small, weight, kernel, False)
    thin = weight.new_ones(1, 64, 4)
    conv_up(small, thin, thin[:, 0, :1].contiguous(), None, 4, True, False, False)
