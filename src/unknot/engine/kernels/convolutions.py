"""Gradients of weights and biases from a big image and a small one."""

# ruff: noqa: ANN001, ANN201, N803, N806

from typing import no_type_check

from unknot.engine.kernels.language import jit, tl
from unknot.engine.kernels.taps import address


@jit
@no_type_check
def weight_gradient_kernel(
    big, small, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, PHASES: tl.constexpr, CHUNK: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """``parts[k, n]`` = sum over windows (r, s) of ``small[window, k] * big[block, n]``.

    Windows k = (t, u, cs) and blocks n = (i, j, cb) are those of `conv_up`. A program sums over
    CHUNK windows of a member, BM at a time, for BK of the k and BN of the n; `add_up_kernel` then
    adds the partial sums, always in the same order. Weights are written in the layer's layout.

    ``sums`` takes the sum of what the layer's bias was added to. A transposed convolution (PHASES)
    adds it to the big image, whose pixels are each in one block: four sums, by their place (i, j).
    A convolution adds it to the small image, whose pixels are each the first of one window.
    """
    PAD: tl.constexpr = KERNEL // 2 - 1
    T: tl.constexpr = PAD + 1
    SPAN: tl.constexpr = T * CS
    K: tl.constexpr = T * SPAN
    TALL: tl.constexpr = HEIGHT + PAD
    WIDE: tl.constexpr = WIDTH + PAD
    TILES: tl.constexpr = (4 * CB + BN - 1) // BN
    tile, split = tl.program_id(0), tl.program_id(1)
    member = tl.program_id(2).to(tl.int64)
    k = tile // TILES * BK + tl.arange(0, BK)
    n = tile % TILES * BN + tl.arange(0, BN)
    big += member * images * (4 * HEIGHT * WIDTH * CB)
    small += member * images * (HEIGHT * WIDTH * CS)
    t, u, cs = k // SPAN, k // CS % T, k % CS
    i, j, cb = n // (2 * CB), n // CB % 2, n % CB
    total = tl.zeros((BK, BN), dtype=tl.float32)
    column = tl.zeros((BN if PHASES else BK,), dtype=tl.float32)
    for start in range(0, CHUNK, BM):
        m = split * CHUNK + start + tl.arange(0, BM)
        image, r, s = m // (TALL * WIDE), m // WIDE % TALL, m % WIDE
        y, x = (r - PAD)[:, None] + t, (s - PAD)[:, None] + u
        inside = (y >= 0) & (y < HEIGHT) & (x >= 0) & (x < WIDTH) & (image < images)[:, None]
        if K % BK != 0:
            inside &= k < K
        first = ((image * HEIGHT + r - PAD) * WIDTH + s - PAD) * CS
        a = tl.load(small + first[:, None] + (t * (WIDTH * CS) + k % SPAN), mask=inside, other=0.0)
        y, x = (2 * r - PAD)[:, None] + i, (2 * s - PAD)[:, None] + j
        here = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH) & (image < images)[:, None]
        if 4 * CB % BN != 0:
            here &= n < 4 * CB
        first = ((image * (2 * HEIGHT) + 2 * r - PAD) * (2 * WIDTH) + 2 * s - PAD) * CB
        g = tl.load(
            big + first[:, None] + (i * (2 * WIDTH * CB) + n % (2 * CB)), mask=here, other=0.0
        )
        total = tl.dot(tl.trans(a), g, total, input_precision=PRECISION)
        column += tl.sum((g if PHASES else a).to(tl.float32), axis=0)
    part = member * tl.num_programs(1) + split
    ky, kx = 2 * (PAD - t)[:, None] + i, 2 * (PAD - u)[:, None] + j
    at = address(ky, kx, cb, cs[:, None], CB, CS, KERNEL, PHASES)
    tl.store(parts + part * (4 * K * CB) + at, total, mask=(k < K)[:, None] & (n < 4 * CB))
    if PHASES:
        tl.store(sums + part * (4 * CB) + n, column, mask=(n < 4 * CB) & (tile < TILES))
    else:
        tl.store(sums + part * CS + k, column, mask=(k < CS) & (tile % TILES == 0))


@jit
@no_type_check
def weight_gradient_few_kernel(
    big, small, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, PHASES: tl.constexpr, CHUNK: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """The same for a big image with few channels, by its windows rather than the small image's.

    ``parts[k, cs]`` = sum over pixels of ``big[window, k] * small[pixel, cs]``, where
    k = (ky, kx, cb) as in `conv_down`: a pixel of the small image is read once, not in four
    windows. For PHASES, each pixel of the big image is seen once through the taps with ky and kx
    in (1, 2).
    """
    PAD: tl.constexpr = KERNEL // 2 - 1
    SPAN: tl.constexpr = KERNEL * CB
    K: tl.constexpr = KERNEL * SPAN
    TILES: tl.constexpr = (CS + BN - 1) // BN
    rows = images * (HEIGHT * WIDTH)
    tile, split = tl.program_id(0), tl.program_id(1)
    member = tl.program_id(2).to(tl.int64)
    k = tile // TILES * BK + tl.arange(0, BK)
    n = tile % TILES * BN + tl.arange(0, BN)
    big += member * rows * (4 * CB)
    small += member * rows * CS
    ky, kx, cb = k // SPAN, k // CB % KERNEL, k % CB
    total = tl.zeros((BK, BN), dtype=tl.float32)
    column = tl.zeros((BK if PHASES else BN,), dtype=tl.float32)
    for start in range(0, CHUNK, BM):
        m = split * CHUNK + start + tl.arange(0, BM)
        image, r, s = m // (HEIGHT * WIDTH), m // WIDTH % HEIGHT, m % WIDTH
        y, x = (2 * r - PAD)[:, None] + ky, (2 * s - PAD)[:, None] + kx
        inside = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH) & (m < rows)[:, None]
        if K % BK != 0:
            inside &= k < K
        first = ((image * (2 * HEIGHT) + 2 * r - PAD) * (2 * WIDTH) + 2 * s - PAD) * CB
        a = tl.load(
            big + first[:, None] + (ky * (2 * WIDTH * CB) + k % SPAN), mask=inside, other=0.0
        )
        g = tl.load(small + m[:, None] * CS + n, mask=(m < rows)[:, None] & (n < CS), other=0.0)
        total = tl.dot(tl.trans(a), g, total, input_precision=PRECISION)
        column += tl.sum((a if PHASES else g).to(tl.float32), axis=0)
    part = member * tl.num_programs(1) + split
    at = address(ky[:, None], kx[:, None], cb[:, None], n, CB, CS, KERNEL, PHASES)
    tl.store(parts + part * (K * CS) + at, total, mask=(k < K)[:, None] & (n < CS))
    if PHASES:
        inner = (ky > 0) & (ky < 3) & (kx > 0) & (kx < 3) & (tile % TILES == 0)
        tl.store(sums + (part * 4 + (ky - 1) * 2 + kx - 1) * CB + cb, column, mask=inner)
    else:
        tl.store(sums + part * CS + n, column, mask=(n < CS) & (tile < TILES))


@jit
@no_type_check
def add_up_kernel(
    parts, sums, weight, bias, SPLITS: tl.constexpr, SIZE: tl.constexpr,
    LINES: tl.constexpr, CHANNELS: tl.constexpr, BLOCK: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    """Add the partial sums of a member: SPLITS of a weight of SIZE numbers, LINES of a bias.

    DEEP of them are loaded at a time: one after the other, each would wait for memory.
    """
    member = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, SPLITS, DEEP):
        split = start + tl.arange(0, DEEP)[:, None]
        place = (member * SPLITS + split) * SIZE + at
        here = (split < SPLITS) & (at < SIZE)
        total += tl.sum(tl.load(parts + place, mask=here, other=0.0), axis=0)
    tl.store(weight + member * SIZE + at, total.to(weight.dtype.element_ty), mask=at < SIZE)
    if tl.program_id(0) * BLOCK < CHANNELS:
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, LINES, DEEP):
            line = start + tl.arange(0, DEEP)[:, None]
            place = (member * LINES + line) * CHANNELS + at
            here = (line < LINES) & (at < CHANNELS)
            total += tl.sum(tl.load(sums + place, mask=here, other=0.0), axis=0)
        out = bias + member * CHANNELS + at
        tl.store(out, total.to(bias.dtype.element_ty), mask=at < CHANNELS)
