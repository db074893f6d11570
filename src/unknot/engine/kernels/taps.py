"""Where a tap of a packed weight stands."""

# ruff: noqa: ANN001, ANN201, N803

from typing import no_type_check

from unknot.engine.kernels.language import jit, tl


@jit
@no_type_check
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
        at = (row * 4 + (3 - ky) % 2 * 2 + (3 - kx) % 2) * CB + cb
    else:
        at = ((ky * KERNEL + kx) * CB + cb) * CS + cs
    return at
