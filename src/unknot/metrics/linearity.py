"""Linearity: whether codes move along a line while a factor moves."""

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
    reads="1: changing one factor moves the code along a straight line, in any direction.",
)
def linearity(shares: Shares, settings: TraversalSettings) -> Measured:  # noqa: ARG001 - all alike
    r"""Linearity ratio: share of the change of the codes along a factor that is on one line.

    $$\tilde s_k = \mathrm{E}\, \frac{\lambda_1}{\sum_j \lambda_j}, \qquad
    s_k = \frac{\tilde s_k - 1/D}{1 - 1/D}, \qquad
    s = \Big( \prod_k s_k \Big)^{1/K}$$

    with the eigenvalues $\lambda$ of the covariance of the $D$ codes along a traversal of factor
    $k$. ``linearity.raw`` is the geometric mean of the $\tilde s_k$.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), eq. 4.7 to 4.9.
    Differs: codes that do not move count as equal eigenvalues. ``unknot`` leaves dead ones out,
    also of $D$. A single code that moves scores 1.
    Note: ``.raw`` is 1 / D to 1. Steps along the line may have any size. A factor of few values is
    easily on a line, and one of two values always is.

    Raises:
        DataError: No rows show a factor moving alone, or too few for an interval.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T
        >>> turned = factors @ [[0.6, 0.8], [-0.8, 0.6]]
        >>> linearity(turned, factors, protocol="paper")
        linearity 1.0000 .raw 1.0000 (protocol paper v1, 30 rows)
    """
    scores = shares.normalize(shares.line)
    return shares.measure(scores, raw=shares.line)
