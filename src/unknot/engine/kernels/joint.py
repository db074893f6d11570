"""Kernels for both gradients of a layer at once: of its input and of its weight.

Apart, `conv_down` or `conv_up` and `weight_gradient` read the layer's input and the gradient of its
output twice, and the input once more as the mask of the ReLU before it. Here both are read once.
Images and weights are those of `convolutions.py`.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803, N806

from unknot.engine.kernels.convolutions import (
    add_columns,
    address,
    end_columns,
    jit,
    start_columns,
    tl,
)


@jit
def joint_down_kernel(
    big, small, weight, back, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, CHUNK: tl.constexpr, MASK: tl.constexpr, PRECISION: tl.constexpr,
    ONES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Of a convolution, from its input ``big`` and the gradient ``small`` of its output.

    Windows k = (t, u, cs) of the small image and blocks n = (i, j, cb) of the big one are those of
    `conv_up`, and each window and its block meet in both gradients: ``back[block, n]`` is the sum
    over k of ``small[window, k] * weight[k, n]``, and that of the weight the sum over windows of
    ``small[window, k] * big[block, n]``. BK holds all k. A program takes CHUNK windows of a member,
    BM at a time, and BN of the n.
    """
    PAD: tl.constexpr = KERNEL // 2 - 1
    T: tl.constexpr = PAD + 1
    SPAN: tl.constexpr = T * CS
    K: tl.constexpr = T * SPAN
    TALL: tl.constexpr = HEIGHT + PAD
    WIDE: tl.constexpr = WIDTH + PAD
    tile, split = tl.program_id(0), tl.program_id(1)
    member = tl.program_id(2).to(tl.int64)
    k = tl.arange(0, BK)
    n = tile * BN + tl.arange(0, BN)
    big += member * images * (4 * HEIGHT * WIDTH * CB)
    back += member * images * (4 * HEIGHT * WIDTH * CB)
    small += member * images * (HEIGHT * WIDTH * CS)
    t, u, cs = k // SPAN, k // CS % T, k % CS
    i, j, cb = n // (2 * CB), n // CB % 2, n % CB
    ky, kx = 2 * (PAD - t)[:, None] + i, 2 * (PAD - u)[:, None] + j
    entry = address(ky, kx, cb, cs[:, None], CB, CS, KERNEL, False)
    held = (k < K)[:, None] & (n < 4 * CB)
    w = tl.load(weight + member * (4 * K * CB) + entry, mask=held, other=0.0)
    total = tl.zeros((BK, BN), dtype=tl.float32)
    column = start_columns(BK, ONES)
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
        valid = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH) & (image < images)[:, None]
        if 4 * CB % BN != 0:
            valid &= n < 4 * CB
        first = ((image * (2 * HEIGHT) + 2 * r - PAD) * (2 * WIDTH) + 2 * s - PAD) * CB
        place = first[:, None] + (i * (2 * WIDTH * CB) + n % (2 * CB))
        g = tl.load(big + place, mask=valid, other=0.0)
        total = tl.dot(tl.trans(a), g, total, input_precision=PRECISION)
        column = add_columns(column, a, ONES, PRECISION)
        down = tl.dot(a, w, input_precision=PRECISION)
        if MASK:
            down = tl.where(g > 0, down, 0.0)
        tl.store(back + place, down.to(back.dtype.element_ty), mask=valid)
    column = end_columns(column, ONES)
    part = member * tl.num_programs(1) + split
    tl.store(parts + part * (4 * K * CB) + entry, total, mask=held)
    # A pixel of the small image is the first of one window.
    tl.store(sums + part * CS + k, column, mask=(k < CS) & (tile == 0))


@jit
def joint_up_kernel(
    big, small, weight, back, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    CHUNK: tl.constexpr, MASK: tl.constexpr, PRECISION: tl.constexpr, ONES: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Of a transposed convolution, from its input ``small`` and the gradient ``big`` of its output.

    A pixel of the small image meets a window of 4 x 4 of the big one, k = (ky, kx, cb), in both
    gradients: ``back[pixel, cs]`` is the sum over k of ``big[window, k] * weight[k, cs]``, and that
    of the weight the sum over pixels of ``big[window, k] * small[pixel, cs]``. BK holds all k. A
    program takes CHUNK pixels of a member, BM at a time, and BN of cs.
    """
    K: tl.constexpr = 16 * CB
    rows = images * (HEIGHT * WIDTH)
    tile, split = tl.program_id(0), tl.program_id(1)
    member = tl.program_id(2).to(tl.int64)
    k = tl.arange(0, BK)
    n = tile * BN + tl.arange(0, BN)
    big += member * rows * (4 * CB)
    small += member * rows * CS
    back += member * rows * CS
    ky, kx, cb = k // (4 * CB), k // CB % 4, k % CB
    entry = address(ky[:, None], kx[:, None], cb[:, None], n, CB, CS, 4, True)
    held = (k < K)[:, None] & (n < CS)
    w = tl.load(weight + member * (K * CS) + entry, mask=held, other=0.0)
    total = tl.zeros((BK, BN), dtype=tl.float32)
    column = start_columns(BK, ONES)
    for start in range(0, CHUNK, BM):
        m = split * CHUNK + start + tl.arange(0, BM)
        image, r, s = m // (HEIGHT * WIDTH), m // WIDTH % HEIGHT, m % WIDTH
        top, left, here = 2 * r - 1, 2 * s - 1, (m < rows)[:, None]
        y, x = top[:, None] + ky, left[:, None] + kx
        inside = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH) & here & (k < K)
        first = ((image * (2 * HEIGHT) + top) * (2 * WIDTH) + left) * CB
        a = tl.load(
            big + first[:, None] + (ky * (2 * WIDTH * CB) + k % (4 * CB)), mask=inside, other=0.0
        )
        stored = here & (n < CS)
        place = m[:, None] * CS + n
        h = tl.load(small + place, mask=stored, other=0.0)
        total = tl.dot(tl.trans(a), h, total, input_precision=PRECISION)
        column = add_columns(column, a, ONES, PRECISION)
        down = tl.dot(a, w, input_precision=PRECISION)
        if MASK:
            down = tl.where(h > 0, down, 0.0)
        tl.store(back + place, down.to(back.dtype.element_ty), mask=stored)
    column = end_columns(column, ONES)
    part = member * tl.num_programs(1) + split
    tl.store(parts + part * (K * CS) + entry, total, mask=held)
    # Pixels by their place in a block of 2 x 2: the inner four of a window.
    inner = (ky > 0) & (ky < 3) & (kx > 0) & (kx < 3) & (tile == 0) & (k < K)
    tl.store(sums + part * (4 * CB) + ((ky - 1) * 2 + kx - 1) * CB + cb, column, mask=inner)
