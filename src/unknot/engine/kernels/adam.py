"""Adam and AdamW in Triton: one pass over all weights of all members."""

# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, N803

from types import SimpleNamespace

try:
    import triton.language as tl
    from triton import jit
except ImportError:
    tl = SimpleNamespace(constexpr=None)

    def jit(function):  # noqa: D103
        return function


@jit
def adam_kernel(
    weights, used, means, squares, gradients, places, rates, shrinks, second,
    SHARE: tl.constexpr, KEEP: tl.constexpr, ADD: tl.constexpr, EPS: tl.constexpr,
    MEMBERS: tl.constexpr, DECAY: tl.constexpr, COPY: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Move BLOCK numbers of one weight by the formulas of `engine/updates.py`, in their order.

    ``places`` has three numbers for each block: where in its weight it begins, how many numbers a
    member has there, and whether weight decay is for it. ``rates`` are learning rates over the
    first correction, ``second`` is the other correction and ``shrinks`` what AdamW multiplies
    with, by member. SHARE is 1 - beta1, KEEP beta2 and ADD 1 - beta2. COPY writes the weights to
    ``used``, too. What fills up a weight's last block is zero and stays so.
    """
    block = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    here = block.to(tl.int64) * BLOCK + lane
    within = tl.load(places + 3 * block) + lane
    member = tl.minimum(within // tl.load(places + 3 * block + 1), MEMBERS - 1)
    w = tl.load(weights + here)
    g = tl.load(gradients + here).to(tl.float32)
    mean = tl.load(means + here)
    square = tl.load(squares + here)
    if DECAY:
        shrink = tl.load(shrinks + member)
        decays = tl.load(places + 3 * block + 2) > 0
        w = tl.where(decays, (w.to(tl.float64) * shrink).to(tl.float32), w)
    # As `torch.lerp` does.
    mean = mean + SHARE * (g - mean) if SHARE < 0.5 else g - (g - mean) * (1 - SHARE)
    square = square * KEEP + ADD * (g * g)
    rate = tl.load(rates + member)
    root = tl.sqrt_rn(tl.div_rn(square, tl.load(second))) + EPS
    if rates.dtype.element_ty == tl.float64:  # of a schedule
        w = (w - mean * rate / root).to(tl.float32)
    else:
        w = w - tl.div_rn(mean * rate, root)
    tl.store(means + here, mean)
    tl.store(squares + here, square)
    tl.store(weights + here, w)
    if COPY:
        tl.store(used + here, w.to(used.dtype.element_ty))
