"""The last transposed convolution with the Bernoulli loss in one kernel, and its gradients.

The logits are never written: a pixel's loss is added up where its logit is computed. What is
written is the gradient of the loss by the logit, in the precision of the products, which the
gradients of input and weight read in one pass (`joint.py`).
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803, N806

from typing import Any

import torch
from torch import Tensor

from unknot.engine.kernels.convolutions import address, jit, tl
from unknot.engine.kernels.ops import _precision, run_joint

BM = 128
"""Windows of a program."""


@jit
def bernoulli_up_kernel(
    small, weight, bias, x, residual, losses,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    PRECISION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUPS: tl.constexpr,
):  # fmt: skip
    """The loss of BM blocks of 2 x 2 pixels of one image, as `conv_up_kernel` computes them.

    ``residual`` is sigmoid(logit) - x. Where the columns of a product are GROUPS times as many as
    there are numbers in a block, those beyond are zero and folded away before the logarithms.
    """
    TALL: tl.constexpr = HEIGHT + 1
    WIDE: tl.constexpr = WIDTH + 1
    N: tl.constexpr = 4 * CB
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.arange(0, BN)
    image = tl.program_id(2).to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    member = tl.program_id(2).to(tl.int64)
    small += image * (HEIGHT * WIDTH * CS)
    weight += member * (16 * CB * CS)
    r, s = m // WIDE, m % WIDE
    corner = ((r - 1) * WIDTH + s - 1) * CS
    i, j, cb = column // (2 * CB), column // CB % 2, column % CB
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, 4 * CS, BK):
        k = start + tl.arange(0, BK)
        t, u, cs = k // (2 * CS), k // CS % 2, k % CS
        y, x_ = (r - 1)[:, None] + t, (s - 1)[:, None] + u
        inside = (y >= 0) & (y < HEIGHT) & (x_ >= 0) & (x_ < WIDTH) & (r < TALL)[:, None]
        inside &= k < 4 * CS
        ky, kx = 2 * (1 - t)[:, None] + i, 2 * (1 - u)[:, None] + j
        entry = address(ky, kx, cb, cs[:, None], CB, CS, 4, True)
        place = corner[:, None] + (t * (WIDTH * CS) + k % (2 * CS))
        a = tl.load(small + place, mask=inside, other=0.0)
        w = tl.load(weight + entry, mask=(k < 4 * CS)[:, None] & (column < N), other=0.0)
        total = tl.dot(a, w, total, input_precision=PRECISION)
    if GROUPS > 1:
        logit = tl.sum(tl.reshape(total, (BM, GROUPS, N)), axis=1)
        n = tl.arange(0, N)
    else:
        logit = total
        n = column
    i, j, cb = n // (2 * CB), n // CB % 2, n % CB
    logit += tl.load(bias + member * CB + cb, mask=n < N, other=0.0).to(tl.float32)
    y, x_ = (2 * r - 1)[:, None] + i, (2 * s - 1)[:, None] + j
    valid = (y >= 0) & (y < 2 * HEIGHT) & (x_ >= 0) & (x_ < 2 * WIDTH) & (n < N)
    place = image * (4 * HEIGHT * WIDTH * CB) + (y * (2 * WIDTH) + x_) * CB + cb
    pixel = tl.load(x + place, mask=valid, other=0.0).to(tl.float32)
    falls = tl.exp(-tl.abs(logit))
    loss = tl.maximum(logit, 0.0) - logit * pixel + tl.log(1.0 + falls)
    share = tl.where(logit >= 0, 1.0, falls) / (1.0 + falls)
    tl.store(residual + place, (share - pixel).to(residual.dtype.element_ty), mask=valid)
    of_rows = tl.sum(tl.where(valid, loss, 0.0), axis=1)
    tl.store(losses + image * tl.num_programs(0) + tl.program_id(0), tl.sum(of_rows, axis=0))


@torch.library.custom_op("unknot::bernoulli_up", mutates_args=())
def bernoulli_up(
    small: Tensor,
    weight: Tensor,
    bias: Tensor,
    x: Tensor,
    rectified: bool,  # noqa: ARG001
) -> tuple[Tensor, Tensor]:
    """Losses ``[p, b]`` in float32, summed over pixels, and their gradient by the logits.

    Args:
        small: The layer's input ``[p, b, h, w, cs]``, contiguous.
        weight: ``[p, 4 * cs, 4 * cb]`` by phases.
        bias: ``[p, cb]``.
        x: Images ``[p, b, 2 h, 2 w, cb]`` between 0 and 1, contiguous.
        rectified: The input is the output of a ReLU whose gradient this layer takes.
    """
    p, b, height, width, cs = small.shape
    cb = x.shape[-1]
    tiles = -(-(height + 1) * (width + 1) // BM)
    losses = x.new_empty(p, b, tiles, dtype=torch.float32)
    residual = torch.empty_like(x, dtype=small.dtype)
    fold = cb & (cb - 1) == 0 and 4 * cb < 16
    bn = max(16, 1 << (4 * cb - 1).bit_length())
    bk = min(128 if small.element_size() == 2 else 64, max(16, 1 << (4 * cs - 1).bit_length()))
    bernoulli_up_kernel[tiles, b, p](
        small, weight, bias, x, residual, losses,
        height, width, cb, cs, _precision(), BM, bn, bk, bn // (4 * cb) if fold else 1,
        num_warps=4, num_stages=2,
    )  # fmt: skip
    return losses.sum(-1), residual


@bernoulli_up.register_fake
def _(small: Tensor, _w: Tensor, _b: Tensor, x: Tensor, _r: bool) -> tuple[Tensor, Tensor]:
    return x.new_empty(small.shape[:2], dtype=torch.float32), torch.empty_like(x, dtype=small.dtype)


@torch.library.custom_op("unknot::scaled_gradients", mutates_args=())
def scaled_gradients(
    big: Tensor, small: Tensor, weight: Tensor, scales: Tensor, masked: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """`joint_gradients` of a transposed convolution, with each big image times its number."""
    return run_joint(big, small, weight, 4, True, masked, scales=scales)


@scaled_gradients.register_fake
def _(
    big: Tensor, small: Tensor, weight: Tensor, _s: Tensor, _m: bool
) -> tuple[Tensor, Tensor, Tensor]:
    bias = weight.new_empty(len(weight), big.shape[-1])
    return torch.empty_like(small), torch.empty_like(weight), bias


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    small, weight, _, _, ctx.rectified = inputs
    ctx.save_for_backward(small, weight, output[1])
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, ...]:
    small, weight, residual = ctx.saved_tensors
    scales = gradient.float().contiguous()
    gradients = scaled_gradients(residual, small, weight, scales, ctx.rectified)
    return *gradients, None, None


bernoulli_up.register_autograd(_backward, setup_context=_save)
