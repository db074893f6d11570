"""Kernels for both gradients of a layer at once: of its input and of its weight.

Apart, `conv_down` or `conv_up` and `weight_gradient` read the layer's input and the gradient of its
output twice, and the input once more as the mask of the ReLU before it. Here both are read once.
Images and weights are those of `convolutions.py`.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN202, N803, N806

from unknot.engine.kernels.convolutions import address, jit, tl


@jit
def joint_down_kernel(
    big, small, weight, back, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, CHUNK: tl.constexpr, MASK: tl.constexpr, PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
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
    column = tl.zeros((BK,), dtype=tl.float32)
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
        column += tl.sum(a.to(tl.float32), axis=0)
        down = tl.dot(a, w, input_precision=PRECISION)
        if MASK:
            down = tl.where(g > 0, down, 0.0)
        tl.store(back + place, down.to(back.dtype.element_ty), mask=valid)
    part = member * tl.num_programs(1) + split
    tl.store(parts + part * (4 * K * CB) + entry, total, mask=held)
    # A pixel of the small image is the first of one window.
    tl.store(sums + part * CS + k, column, mask=(k < CS) & (tile == 0))


@jit
def _row_of_windows(
    big, weight, h, back, total, column, first, top, left, here, scale, k,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, SCALE: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Some k of the windows of `joint_up_kernel`: what they add to its sums."""
    ky, kx = k // (4 * CB), k // CB % 4
    y, x = top[:, None] + ky, left[:, None] + kx
    inside = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH) & here[:, None]
    inside &= k < 16 * CB
    place = first[:, None] + (ky * (2 * WIDTH * CB) + k % (4 * CB))
    a = tl.load(big + place, mask=inside, other=0.0)
    if SCALE:
        a = (a.to(tl.float32) * scale[:, None]).to(weight.dtype)
    back = tl.dot(a, weight, back, input_precision=PRECISION)
    total = tl.dot(tl.trans(a), h, total, input_precision=PRECISION)
    return back, total, column + tl.sum(a.to(tl.float32), axis=0)


@jit
def _store_row(parts, sums, total, column, k, n, tile, CB: tl.constexpr, CS: tl.constexpr):
    """Partial sums of some k: of the weight, and of the bias by the place of a pixel."""
    ky, kx, cb = k // (4 * CB), k // CB % 4, k % CB
    entry = address(ky[:, None], kx[:, None], cb[:, None], n, CB, CS, 4, True)
    tl.store(parts + entry, total, mask=(k < 16 * CB)[:, None] & (n < CS))
    inner = (ky > 0) & (ky < 3) & (kx > 0) & (kx < 3) & (tile == 0)
    tl.store(sums + ((ky - 1) * 2 + kx - 1) * CB + cb, column, mask=inner)


@jit
def _load_row(weight, k, n, CB: tl.constexpr, CS: tl.constexpr):
    """Weights of some k."""
    ky, kx, cb = k // (4 * CB), k // CB % 4, k % CB
    entry = address(ky[:, None], kx[:, None], cb[:, None], n, CB, CS, 4, True)
    return tl.load(weight + entry, mask=(k < 16 * CB)[:, None] & (n < CS), other=0.0)


@jit
def joint_up_kernel(
    big, small, weight, scales, back, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    ROWS: tl.constexpr, CHUNK: tl.constexpr, MASK: tl.constexpr, SCALE: tl.constexpr,
    PRECISION: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Of a transposed convolution, from its input ``small`` and the gradient ``big`` of its output.

    A pixel of the small image meets a window of 4 x 4 of the big one, k = (ky, kx, cb), in both
    gradients: ``back[pixel, cs]`` is the sum over k of ``big[window, k] * weight[k, cs]``, and that
    of the weight the sum over pixels of ``big[window, k] * small[pixel, cs]``. All k are ROWS
    parts, 1 or 4, of BK each. A program takes CHUNK pixels of a member, BM at a time, and BN of cs.
    SCALE multiplies each big image by its number in ``scales``.
    """
    rows = images * (HEIGHT * WIDTH)
    tile, split = tl.program_id(0), tl.program_id(1)
    member = tl.program_id(2).to(tl.int64)
    k0 = tl.arange(0, BK)
    k1, k2, k3 = k0 + BK, k0 + 2 * BK, k0 + 3 * BK
    n = tile * BN + tl.arange(0, BN)
    big += member * rows * (4 * CB)
    small += member * rows * CS
    back += member * rows * CS
    weight += member * (16 * CB * CS)
    w0 = _load_row(weight, k0, n, CB, CS)
    total0 = tl.zeros((BK, BN), dtype=tl.float32)
    column0 = tl.zeros((BK,), dtype=tl.float32)
    if ROWS == 4:
        w1 = _load_row(weight, k1, n, CB, CS)
        w2 = _load_row(weight, k2, n, CB, CS)
        w3 = _load_row(weight, k3, n, CB, CS)
        total1 = tl.zeros((BK, BN), dtype=tl.float32)
        total2 = tl.zeros((BK, BN), dtype=tl.float32)
        total3 = tl.zeros((BK, BN), dtype=tl.float32)
        column1 = tl.zeros((BK,), dtype=tl.float32)
        column2 = tl.zeros((BK,), dtype=tl.float32)
        column3 = tl.zeros((BK,), dtype=tl.float32)
    for start in range(0, CHUNK, BM):
        m = split * CHUNK + start + tl.arange(0, BM)
        image, r, s = m // (HEIGHT * WIDTH), m // WIDTH % HEIGHT, m % WIDTH
        top, left, here = 2 * r - 1, 2 * s - 1, m < rows
        first = ((image * (2 * HEIGHT) + top) * (2 * WIDTH) + left) * CB
        stored = here[:, None] & (n < CS)
        place = m[:, None] * CS + n
        h = tl.load(small + place, mask=stored, other=0.0)
        down = tl.zeros((BM, BN), dtype=tl.float32)
        scale = tl.load(scales + member * images + image, mask=here, other=0.0) if SCALE else here
        down, total0, column0 = _row_of_windows(
            big, w0, h, down, total0, column0, first, top, left, here, scale, k0,
            HEIGHT, WIDTH, CB, SCALE, PRECISION,
        )  # fmt: skip
        if ROWS == 4:
            down, total1, column1 = _row_of_windows(
                big, w1, h, down, total1, column1, first, top, left, here, scale, k1,
                HEIGHT, WIDTH, CB, SCALE, PRECISION,
            )  # fmt: skip
            down, total2, column2 = _row_of_windows(
                big, w2, h, down, total2, column2, first, top, left, here, scale, k2,
                HEIGHT, WIDTH, CB, SCALE, PRECISION,
            )  # fmt: skip
            down, total3, column3 = _row_of_windows(
                big, w3, h, down, total3, column3, first, top, left, here, scale, k3,
                HEIGHT, WIDTH, CB, SCALE, PRECISION,
            )  # fmt: skip
        if MASK:
            down = tl.where(h > 0, down, 0.0)
        tl.store(back + place, down.to(back.dtype.element_ty), mask=stored)
    part = member * tl.num_programs(1) + split
    parts += part * (16 * CB * CS)
    sums += part * (4 * CB)
    _store_row(parts, sums, total0, column0, k0, n, tile, CB, CS)
    if ROWS == 4:
        _store_row(parts, sums, total1, column1, k1, n, tile, CB, CS)
        _store_row(parts, sums, total2, column2, k2, n, tile, CB, CS)
        _store_row(parts, sums, total3, column3, k3, n, tile, CB, CS)
