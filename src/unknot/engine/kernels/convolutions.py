"""The kernels in Triton: small images from big ones, big ones from small, and gradients of weights.

A convolution of stride 2 makes a small image of a big one, a transposed one a big image of a small
one. Without Triton, stand-ins for its names let this file be imported.
"""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803, N806

from types import SimpleNamespace

try:
    import triton.language as tl
    from triton import jit
except ImportError:
    tl = SimpleNamespace(constexpr=None)

    def jit(function):  # noqa: D103
        return function


@jit
def address(
    ky, kx, cb, cs, CB: tl.constexpr, CS: tl.constexpr, KERNEL: tl.constexpr, PHASES: tl.constexpr
):
    """Offset, inside a member's weight, of the tap (ky, kx) between two channels.

    A convolution's weight is ``[ky, kx, cb, cs]``. A transposed one's is by PHASES,
    ``[t, u, cs, i, j, cb]``: pixels of the big image in phase (i, j), which is whether their row
    and column are even or odd, see a window of 2 x 2 pixels of the small one through the taps
    (t, u), where ky = 3 - 2 t - i and kx = 3 - 2 u - j.
    """
    if PHASES:
        row = ((3 - ky) // 2 * 2 + (3 - kx) // 2) * CS + cs
        entry = (row * 4 + (3 - ky) % 2 * 2 + (3 - kx) % 2) * CB + cb
    else:
        entry = ((ky * KERNEL + kx) * CB + cb) * CS + cs
    return entry


@jit
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
        entry = address(ky[:, None], kx[:, None], cb[:, None], n, CB, CS, KERNEL, PHASES)
        a = tl.load(big + place, mask=inside, other=0.0)
        w = tl.load(weight + entry, mask=(k < K)[:, None] & (n < CS), other=0.0)
        total = tl.dot(a, w, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(bias + member * CS + n, mask=n < CS, other=0.0).to(tl.float32)
    if RELU:
        total = tl.maximum(total, 0.0)
    out = member * rows * CS + m[:, None] * CS + n
    stored = (m < rows)[:, None] & (n < CS)
    if MASK:
        total = tl.where(tl.load(mask + out, mask=stored, other=0.0) > 0, total, 0.0)
    tl.store(small + out, total.to(small.dtype.element_ty), mask=stored)


@jit
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
        entry = address(ky, kx, cb, cs[:, None], CB, CS, KERNEL, PHASES)
        a = tl.load(small + place, mask=inside, other=0.0)
        w = tl.load(weight + entry, mask=(k < K)[:, None] & (n < 4 * CB), other=0.0)
        total = tl.dot(a, w, total, input_precision=PRECISION)
    if BIAS:
        total += tl.load(bias + member * CB + cb, mask=n < 4 * CB, other=0.0).to(tl.float32)
    if RELU:
        total = tl.maximum(total, 0.0)
    y, x = (2 * r - PAD)[:, None] + i, (2 * s - PAD)[:, None] + j
    stored = (y >= 0) & (y < 2 * HEIGHT) & (x >= 0) & (x < 2 * WIDTH)
    stored &= (image < images)[:, None] & (n < 4 * CB)
    first = ((image * (2 * HEIGHT) + 2 * r - PAD) * (2 * WIDTH) + 2 * s - PAD) * CB
    out = (
        member * images * (4 * HEIGHT * WIDTH * CB)
        + first[:, None]
        + (i * (2 * WIDTH * CB) + n % (2 * CB))
    )
    if MASK:
        total = tl.where(tl.load(mask + out, mask=stored, other=0.0) > 0, total, 0.0)
    tl.store(big + out, total.to(big.dtype.element_ty), mask=stored)


@jit
def start_columns(SIZE: tl.constexpr, ONES: tl.constexpr):
    """Sums of columns, before any: with ONES, 16 copies of each, as matrix products give them."""
    return tl.zeros((SIZE, 16) if ONES else (SIZE,), dtype=tl.float32)


@jit
def add_columns(column, a, ONES: tl.constexpr, PRECISION: tl.constexpr):
    """Add the rows of a block to the sums of its columns."""
    if ONES:
        ones = tl.full((a.shape[0], 16), 1.0, a.dtype)
        column = tl.dot(tl.trans(a), ones, column, input_precision=PRECISION)
    else:
        column += tl.sum(a.to(tl.float32), axis=0)
    return column


@jit
def end_columns(column, ONES: tl.constexpr):
    """Each sum once."""
    return tl.sum(column, axis=1) / 16 if ONES else column


@jit
def weight_gradient_kernel(
    big, small, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, PHASES: tl.constexpr, CHUNK: tl.constexpr, PRECISION: tl.constexpr,
    ONES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
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
    column = start_columns(BN if PHASES else BK, ONES)
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
        g = tl.load(
            big + first[:, None] + (i * (2 * WIDTH * CB) + n % (2 * CB)), mask=valid, other=0.0
        )
        total = tl.dot(tl.trans(a), g, total, input_precision=PRECISION)
        column = add_columns(column, g if PHASES else a, ONES, PRECISION)
    column = end_columns(column, ONES)
    part = member * tl.num_programs(1) + split
    ky, kx = 2 * (PAD - t)[:, None] + i, 2 * (PAD - u)[:, None] + j
    entry = address(ky, kx, cb, cs[:, None], CB, CS, KERNEL, PHASES)
    tl.store(parts + part * (4 * K * CB) + entry, total, mask=(k < K)[:, None] & (n < 4 * CB))
    if PHASES:
        tl.store(sums + part * (4 * CB) + n, column, mask=(n < 4 * CB) & (tile < TILES))
    else:
        tl.store(sums + part * CS + k, column, mask=(k < CS) & (tile % TILES == 0))


@jit
def weight_gradient_few_kernel(
    big, small, parts, sums, images,
    HEIGHT: tl.constexpr, WIDTH: tl.constexpr, CB: tl.constexpr, CS: tl.constexpr,
    KERNEL: tl.constexpr, PHASES: tl.constexpr, CHUNK: tl.constexpr, PRECISION: tl.constexpr,
    ONES: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
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
    column = start_columns(BK if PHASES else BN, ONES)
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
        column = add_columns(column, a if PHASES else g, ONES, PRECISION)
    column = end_columns(column, ONES)
    part = member * tl.num_programs(1) + split
    entry = address(ky[:, None], kx[:, None], cb[:, None], n, CB, CS, KERNEL, PHASES)
    tl.store(parts + part * (K * CS) + entry, total, mask=(k < K)[:, None] & (n < CS))
    if PHASES:
        inner = (ky > 0) & (ky < 3) & (kx > 0) & (kx < 3) & (tile % TILES == 0)
        tl.store(sums + (part * 4 + (ky - 1) * 2 + kx - 1) * CB + cb, column, mask=inner)
    else:
        tl.store(sums + part * CS + n, column, mask=(n < CS) & (tile < TILES))


@jit
def add_up_kernel(
    parts, sums, weight, bias, SPLITS: tl.constexpr, SIZE: tl.constexpr,
    LINES: tl.constexpr, CHANNELS: tl.constexpr, BLOCK: tl.constexpr, DEEP: tl.constexpr,
):  # fmt: skip
    """Add the partial sums of a member: SPLITS of a weight of SIZE numbers, LINES of a bias.

    DEEP of them are loaded at a time: one after the other, each would wait for memory.
    """
    member = tl.program_id(1).to(tl.int64)
    entry = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, SPLITS, DEEP):
        split = start + tl.arange(0, DEEP)[:, None]
        place = (member * SPLITS + split) * SIZE + entry
        valid = (split < SPLITS) & (entry < SIZE)
        total += tl.sum(tl.load(parts + place, mask=valid, other=0.0), axis=0)
    tl.store(weight + member * SIZE + entry, total.to(weight.dtype.element_ty), mask=entry < SIZE)
    if tl.program_id(0) * BLOCK < CHANNELS:
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        for start in range(0, LINES, DEEP):
            line = start + tl.arange(0, DEEP)[:, None]
            place = (member * LINES + line) * CHANNELS + entry
            valid = (line < LINES) & (entry < CHANNELS)
            total += tl.sum(tl.load(sums + place, mask=valid, other=0.0), axis=0)
        out = bias + member * CHANNELS + entry
        tl.store(out, total.to(bias.dtype.element_ty), mask=entry < CHANNELS)
