"""Adam and AdamW in Triton: one pass over all weights of all members."""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803

from unknot.engine.kernels.convolutions import jit, tl


@jit
def adam_kernel(
    weights, used, means, squares, gradients, places, lr, decays, step,
    SHARE: tl.constexpr, KEEP: tl.constexpr, ADD: tl.constexpr, EPS: tl.constexpr,
    FIRST: tl.constexpr, SECOND: tl.constexpr, DECAY: tl.constexpr,
    MEMBERS: tl.constexpr, COPY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Move BLOCK numbers of one weight by the formulas of `engine/updates.py`, in their order.

    ``places`` has three numbers for each block: where in its weight it begins, how many numbers a
    member has there, and whether weight decay is for it. ``lr`` are learning rates by member
    and ``decays`` weight decays, where there are any (DECAY); ``step`` is the steps done before
    this one. SHARE is 1 - beta1, KEEP beta2 and ADD 1 - beta2; FIRST and SECOND are the logarithms
    of the betas to base 2. COPY writes the weights to ``used``, too. What fills up a weight's last
    block is zero and stays so.
    """
    block = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    here = block.to(tl.int64) * BLOCK + lane
    within = tl.load(places + 3 * block) + lane
    member = tl.minimum(within // tl.load(places + 3 * block + 1), MEMBERS - 1)
    steps = tl.load(step).to(tl.float64) + 1.0
    first, second = 1.0 - tl.exp2(steps * FIRST), 1.0 - tl.exp2(steps * SECOND)
    rate = tl.load(lr + member)
    w = tl.load(weights + here)
    g = tl.load(gradients + here).to(tl.float32)
    mean = tl.load(means + here)
    square = tl.load(squares + here)
    if DECAY:
        decay = tl.load(decays + member).to(tl.float64)
        shrunk = w.to(tl.float64) * (1.0 - rate.to(tl.float64) * decay)
        w = tl.where(tl.load(places + 3 * block + 2) > 0, shrunk.to(tl.float32), w)
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
