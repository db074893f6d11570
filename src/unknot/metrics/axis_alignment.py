"""Axis alignment: whether a single code moves while a factor moves."""

from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.traversals import (
    PAPER,
    UNKNOT,
    Shares,
    TraversalSettings,
    traversal_shares,
)

PROTOCOLS = {"paper": PAPER, "unknot": UNKNOT}


@metric(
    PROTOCOLS,
    sample=traversal_shares,
    range=(0, 1),
    measures=("geometry",),
    depends_on=("draws",),
    cost=0.03,
    reads=(
        "1: changing one factor changes one latent. 0: it changes all latents equally, or "
        "one factor changes none."
    ),
)
def axis_alignment(shares: Shares, settings: TraversalSettings) -> Measured:  # noqa: ARG001 - all alike
    r"""Axis-alignment ratio: share of one latent in the change of the codes along a factor.

    $$\tilde s_k = \mathrm{E}\, \frac{\max_j \mathrm{Var}[z_j]}{\sum_j \mathrm{Var}[z_j]}, \qquad
    s_k = \frac{\tilde s_k - 1/D}{1 - 1/D}, \qquad
    s = \Big( \prod_k s_k \Big)^{1/K}$$

    with variances along a traversal of factor $k$. ``axis_alignment.raw`` is the geometric mean of
    the $\tilde s_k$.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), eq. 4.4 to 4.6.
    Differs: codes that do not move count as equal variances. ``unknot`` leaves dead ones out, also
    of $D$. A single code that moves scores 1.
    Note: never above `linearity`; ``.raw`` is 1 / D to 1. Different factors may change the same
    latent.

    Raises:
        DataError: No rows show a factor moving alone, or too few for an interval.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T
        >>> turned = factors @ [[0.6, 0.8], [-0.8, 0.6]]
        >>> axis_alignment(turned, factors, protocol="paper")
        axis_alignment 0.2800 .raw 0.6400 (protocol paper v1, 30 rows)
    """
    scores = shares.normalize(shares.axis)
    return shares.measure(scores, raw=shares.axis)
