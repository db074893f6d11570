"""Configurations that are worth their price: fronts of a score against a cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import NAN
from unknot.analysis.ranking import Means, has_enough_seeds
from unknot.core.errors import DataError


@dataclass(frozen=True, eq=False)
class Front:
    """Configurations by what they gain and cost on average."""

    score: str
    cost: str
    configurations: tuple[Configuration, ...]
    """Those that have both."""
    gain: Float[np.ndarray, " c"]
    price: Float[np.ndarray, " c"]
    on: Bool[np.ndarray, " c"]
    """Whether no other gains more for no higher price, or as much for a lower one."""
    share: Float[np.ndarray, " c"]
    """Of resampled studies in which it is on the front; NaN where some have too few seeds."""
    remarks: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """As plain rows, a configuration each."""
        return [
            {
                "objective": c.objective,
                "swept_value": c.swept_value,
                self.cost: float(self.price[i]),
                self.score: float(self.gain[i]),
                "on_front": bool(self.on[i]),
                "share": float(self.share[i]),
            }
            for i, c in enumerate(self.configurations)
        ]


def front(means: Means) -> Front:
    """The configurations that are worth their price, from the means of a score and of a cost.

    Raises:
        DataError: No configuration has both.
    """
    (score, cost), sign = means.scores, means.sign[0]
    there = np.isfinite(means.values).all(1)
    sound = means.sound[there].all(1)
    if not there.any():
        raise DataError(f"No configuration has both '{score}' and '{cost}'.")
    gain, price = means.values[there].T
    # Nothing is bought by a model that collapsed or is at chance.
    gains = np.where(sound, sign * gain, -np.inf)
    on = undominated(gains, price) & sound
    with_both = tuple(c for c, both in zip(means.configurations, there, strict=True) if both)
    share = np.full(len(gain), NAN)
    if all(has_enough_seeds(with_both, name) for name in means.scores):
        again = [
            undominated(np.where(sound, sign * study[there, 0], -np.inf), study[there, 1])
            for study in means.draws
        ]
        share = np.mean(again, axis=0) * sound
    left = int((~there).sum())
    return Front(
        score,
        cost,
        with_both,
        gain,
        price,
        on,
        share,
        (f"{left} configurations without both were left out",) if left else (),
    )


def undominated(
    gain: Float[np.ndarray, " c"], cost: Float[np.ndarray, " c"]
) -> Bool[np.ndarray, " c"]:
    """What nothing else beats: in gain at no higher cost, or in cost at no lower gain.

    Example:
        >>> undominated(np.array([0.1, 0.3, 0.2, 0.3]), np.array([1.0, 2.0, 3.0, 4.0])).tolist()
        [True, True, False, False]
    """
    # From cheap to dear, of equals the better first: what does not rise above all before it is
    # beaten, unless it is the very same.
    order = np.lexsort((-gain, cost))
    mask = np.zeros(len(gain), dtype=bool)
    best, best_cost = -np.inf, np.nan
    for i in order:
        if gain[i] > best:
            best, best_cost = gain[i], cost[i]
        mask[i] = gain[i] == best and cost[i] == best_cost
    return mask
