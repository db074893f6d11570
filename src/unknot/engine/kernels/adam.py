"""Adam and AdamW in Triton: one pass over all weights of all members."""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803

from unknot.engine.kernels.convolutions import jit, tl


@jit
def adam_kernel(
    weights, used, means, squares, gradients, places, lr, decays, corrections, begin, first_weight,
    SHARE: tl.constexpr, KEEP: tl.constexpr, ADD: tl.constexpr, EPS: tl.constexpr,
    DECAY: tl.constexpr, MEMBERS: tl.constexpr, COPY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Move BLOCK numbers of one weight by the formulas of `engine/updates.py`, in their order.

    ``places`` has four numbers for each block: where in its weight it begins, how many numbers a
    member has there, whether weight decay is for it, and which weight it is. ``gradients`` are
    those of the weights from ``first_weight`` on, whose blocks start at ``begin``: they are read
    where they lie. ``lr`` are learning rates by member and ``decays`` weight decays, where there
    are any (DECAY); ``corrections`` two numbers, for the bias of either moment. SHARE is 1 - beta1,
    KEEP beta2 and ADD 1 - beta2. COPY writes the weights to ``used``, too. What fills up a weight's
    last block is zero and stays so.
    """
    block = tl.program_id(0) + begin
    lane = tl.arange(0, BLOCK)
    here = block.to(tl.int64) * BLOCK + lane
    within = tl.load(places + 4 * block) + lane
    each = tl.load(places + 4 * block + 1)
    member = tl.minimum(within // each, MEMBERS - 1)
    first, second = tl.load(corrections), tl.load(corrections + 1)
    rate = tl.load(lr + member)
    w = tl.load(weights + here)
    weight = tl.load(places + 4 * block + 3) - first_weight
    address = gradients[0].to(tl.int64)
    for n in tl.static_range(1, len(gradients)):
        address = tl.where(weight == n, gradients[n].to(tl.int64), address)
    gradient = tl.multiple_of(address.to(gradients[0].dtype), 16)
    g = tl.load(gradient + within, mask=within < MEMBERS * each, other=0.0).to(tl.float32)
    mean = tl.load(means + here)
    square = tl.load(squares + here)
    if DECAY:
        decay = tl.load(decays + member).to(tl.float64)
        shrunk = w.to(tl.float64) * (1.0 - rate.to(tl.float64) * decay)
        w = tl.where(tl.load(places + 4 * block + 2) > 0, shrunk.to(tl.float32), w)
    # As `torch.lerp` does.
    mean = mean + SHARE * (g - mean) if SHARE < 0.5 else g - (g - mean) * (1 - SHARE)
    square = square * KEEP + ADD * (g * g)
    root = tl.sqrt_rn(tl.div_rn(square, second.to(tl.float32))) + EPS
    if lr.dtype.element_ty == tl.float64:  # of a schedule
        w = (w - mean * (rate / first) / root).to(tl.float32)
    else:
        w = w - tl.div_rn(mean * tl.div_rn(rate, first.to(tl.float32)), root)
    tl.store(means + here, mean)
    tl.store(squares + here, square)
    tl.store(weights + here, w)
    if COPY:
        tl.store(used + here, w.to(used.dtype.element_ty))
