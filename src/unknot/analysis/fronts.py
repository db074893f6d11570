"""Trade-offs: which configurations no other beats in a score without a worse reconstruction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from unknot.analysis.configurations import Configuration
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
    """Of resampled studies in which it is on the front."""
    remarks: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """As plain rows, a configuration each."""
        return [
            {
                "objective": one.objective,
                "strength": one.strength,
                self.cost: float(self.price[i]),
                self.score: float(self.gain[i]),
                "on_front": bool(self.on[i]),
                "share": float(self.share[i]),
            }
            for i, one in enumerate(self.configurations)
        ]


def front(
    configurations: Sequence[Configuration],
    score: str,
    cost: str,
    sign: float,
    means: Float[np.ndarray, "c 2"],
    drawn: Float[np.ndarray, "draws c 2"],
) -> Front:
    """The configurations that are worth their price: mean score against mean cost.

    Args:
        configurations: Of one dataset.
        score: Name of a column.
        cost: Name of a column of which less is better.
        sign: -1 where less of the score is better too, else 1.
        means: Of score and cost.
        drawn: Those of resampled seeds.

    Raises:
        DataError: No configuration has both.
    """
    there = np.isfinite(means).all(1)
    if not there.any():
        raise DataError(f"No configuration has both '{score}' and '{cost}'.")
    gain, price = means[there].T
    on = undominated(sign * gain, price)
    again = [undominated(sign * study[there, 0], study[there, 1]) for study in drawn]
    left = int((~there).sum())
    return Front(
        score,
        cost,
        tuple(one for one, both in zip(configurations, there, strict=True) if both),
        gain,
        price,
        on,
        np.mean(again, axis=0),
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
    best, at = -np.inf, np.nan
    for i in order:
        if gain[i] > best:
            best, at = gain[i], cost[i]
        mask[i] = gain[i] == best and cost[i] == at
    return mask
