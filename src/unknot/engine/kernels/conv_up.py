"""Big images from small ones: a transposed convolution of stride 2."""

# ruff: noqa: ANN001, ANN201, N803, N806

from typing import no_type_check

from unknot.engine.kernels.language import jit, tl
from unknot.engine.kernels.taps import address


@jit
@no_type_check
def conv_up_kernel(
    small, weight, bias, mask, big, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, PHASES: tl.constexpr,
    BIAS: tl.constexpr, RELU: tl.constexpr, MASK: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """``big[2 r - pad + i, 2 s - pad + j, cb]`` = sum over the window (r, s) of ``small``.

    With a 4 x 4 kernel, a window of 2 x 2 pixels of the small image, (r - 1 .. r, s - 1 .. s), is
    all that a block of 2 x 2 pixels of the big one, (2 r - 1 .. 2 r, 2 s - 1 .. 2 s), depends on:
    they meet in ky = 2 - 2 t + i, where t and i count rows in window and block. The windows of an
    image of HEIGHT x WIDTH are one more in each direction, and those at the border hang over.
    With a 2 x 2 kernel the window is one pixel, none hangs over, and ky = i.

    A program computes BM blocks of a member in BN of the 4 * CB numbers n = (i, j, cb) of a block:
    a product of windows and weights over k = (t, u, cs). Each row of a window or a block is
    numbers that lie side by side in memory. BIAS, RELU and MASK are as in `conv_down`.
    """
    PAD: tl.constexpr = KERNEL // 2 - 1
    T: tl.constexpr = PAD + 1
    SPAN: tl.constexpr = T * CS
    K: tl.constexpr = T * SPAN
    TALL: tl.constexpr = HEIGHT + PAD
    WIDE: tl.constexpr = WIDTH + PAD
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    member = tl.program_id(2).to(tl.int64)
    small += member * images * (HEIGHT * WIDTH * CS)
    weight += member * (4 * K * CB)
    image, r, s = m // (TALL * WIDE), m // WIDE % TALL, m % WIDE
    top, left = r - PAD, s - PAD
    corner = ((image * HEIGHT + top) * WIDTH + left) * CS
    i, j, cb = n // (2 * CB), n // CB % 2, n % CB
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        t, u, cs = k // SPAN, k // CS % T, k % CS
        y, x = top[:, None] + t, left[:, None] + u
        inside = (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < WIDTH) & (image < images)[:, None]
        if K % BK != 0:
            inside &= k < K
        place = corner[:, None] + (t * (WIDTH * CS) + k % SPAN)
        ky, kx = 2 * (PAD - t)[:, None] + i, 2 * (PAD - u)[:, None] + j
        at = address(ky, kx, cb, cs[:, None], CB, CS, KERNEL, PHASES)
        a = tl.load(small + place, mask=inside, other=0.0)
        w = tl.load(weight + at, mask=(k < K)[:, None] & (n < 4 * CB), other=0.0)
        total = tl.dot(a, w, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(bias + member * CB + cb, mask=n < 4 * CB, other=0.0).to(tl.float32)
    if RELU:
        total = tl.maximum(total, 0.0)
    y, x = (2 * r - PAD)[:, None] + i, (2 * s - PAD)[:, None] + j
    here = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH)
    here &= (image < images)[:, None] & (n < 4 * CB)
    first = ((image * (2 * HEIGHT) + 2 * r - PAD) * (2 * WIDTH) + 2 * s - PAD) * CB
    out = (
        member * images * (4 * HEIGHT * WIDTH * CB)
        + first[:, None]
        + (i * (2 * WIDTH * CB) + n % (2 * CB))
    )
    if MASK:
        total = tl.where(tl.load(mask + out, mask=here, other=0.0) > 0, total, 0.0)
    tl.store(big + out, total.to(big.dtype.element_ty), mask=here)
