"""Orientation: whether the line along which codes move is an axis."""

from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import ratio
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
    reads=("1: where the code moves along a line, the line is an axis. 0: it lies between axes."),
)
def orientation(shares: Shares, settings: TraversalSettings) -> Measured:  # noqa: ARG001 - all alike
    r"""Axis-orientation ratio: axis alignment relative to linearity.

    $$s_k = s_k^{\mathrm{axis}} / s_k^{\mathrm{linear}}, \qquad
    s = \Big( \prod_k s_k \Big)^{1/K}$$

    ``orientation.raw`` has the raw ratios of both in their place. See `axis_alignment` and
    `linearity`.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), eq. A.1.
    Differs: 0 where linearity is 0, which the paper leaves undefined; and as the other two.
    Note: two codes rotated by an angle have |cos 2 angle|: 1 on the axes, 0 at 45 degrees, whatever
    their linearity. Where linearity is near 0 there is no direction to speak of.

    Raises:
        DataError: No rows show a factor moving alone, or too few for an interval.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T
        >>> turned = factors @ [[0.6, 0.8], [-0.8, 0.6]]
        >>> orientation(turned, factors, protocol="paper")
        orientation 0.2800 .raw 0.6400 (protocol paper v1, 30 rows)
    """
    scores = ratio(shares.normalize(shares.axis), shares.normalize(shares.line))
    raw = ratio(shares.axis, shares.line)
    return shares.measure(scores, raw=raw)
