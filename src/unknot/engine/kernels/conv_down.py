"""Small images from big ones: a convolution of stride 2."""

# ruff: noqa: ANN001, ANN201, N803, N806

from typing import no_type_check

from unknot.engine.kernels.language import jit, tl
from unknot.engine.kernels.taps import address


@jit
@no_type_check
def conv_down_kernel(
    big, weight, bias, mask, small, rows,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, PHASES: tl.constexpr,
    BIAS: tl.constexpr, RELU: tl.constexpr, MASK: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """``small[r, s, cs]`` = sum over taps and cb of ``big[2 r - pad + ky, 2 s - pad + kx, cb]``.

    A program computes BM of the ``rows`` pixels (b, r, s) of a member's small images, whose size is
    HEIGHT x WIDTH, in BN channels: a product of windows and weights over k = (ky, kx, cb). For one
    ky a pixel's window is KERNEL * CB numbers that lie side by side in memory, and the next pixel's
    begins 2 * CB numbers later; what falls beside the image is zero.

    BIAS is added, RELU cuts off below zero, and MASK keeps what has a positive number at its place
    in ``mask``: the gradient of a ReLU whose output that is.
    """
    PAD: tl.constexpr = KERNEL // 2 - 1
    SPAN: tl.constexpr = KERNEL * CB
    K: tl.constexpr = KERNEL * SPAN
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    member = tl.program_id(2).to(tl.int64)
    big += member * rows * (4 * CB)
    weight += member * (K * CS)
    top = m // WIDTH % HEIGHT * 2 - PAD
    left = m % WIDTH * 2 - PAD
    corner = ((m // (WIDTH * HEIGHT) * (2 * HEIGHT) + top) * (2 * WIDTH) + left) * CB
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        ky, kx, cb = k // SPAN, k // CB % KERNEL, k % CB
        y, x = top[:, None] + ky, left[:, None] + kx
        inside = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH) & (m < rows)[:, None]
        if K % BK != 0:
            inside &= k < K
        place = corner[:, None] + (ky * (2 * WIDTH * CB) + k % SPAN)
        at = address(ky[:, None], kx[:, None], cb[:, None], n, CB, CS, KERNEL, PHASES)
        a = tl.load(big + place, mask=inside, other=0.0)
        w = tl.load(weight + at, mask=(k < K)[:, None] & (n < CS), other=0.0)
        total = tl.dot(a, w, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(bias + member * CS + n, mask=n < CS, other=0.0).to(tl.float32)
    if RELU:
        total = tl.maximum(total, 0.0)
    out = member * rows * CS + m[:, None] * CS + n
    here = (m < rows)[:, None] & (n < CS)
    if MASK:
        total = tl.where(tl.load(mask + out, mask=here, other=0.0) > 0, total, 0.0)
    tl.store(small + out, total.to(small.dtype.element_ty), mask=here)
