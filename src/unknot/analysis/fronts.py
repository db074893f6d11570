"""Trade-offs: which cells no other beats in a score without a worse reconstruction."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from unknot.analysis.cells import Cell
from unknot.analysis.plain_table import PlainTable
from unknot.analysis.ranking import direction, means_of, one_dataset
from unknot.analysis.statistics import DRAWS
from unknot.core.errors import DataError


@dataclass(frozen=True, eq=False)
class Front:
    """Cells by what they gain and cost on average."""

    score: str
    cost: str
    cells: tuple[Cell, ...]
    """Those that have both."""
    gain: Float[np.ndarray, " c"]
    price: Float[np.ndarray, " c"]
    on: Bool[np.ndarray, " c"]
    """Whether no other cell gains more for no higher price, or as much for a lower one."""
    share: Float[np.ndarray, " c"]
    """Of resampled studies in which the cell is on the front."""
    remarks: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """As plain rows, a cell each."""
        return [
            {
                "objective": cell.objective,
                "strength": cell.strength,
                self.cost: float(self.price[i]),
                self.score: float(self.gain[i]),
                "on_front": bool(self.on[i]),
                "share": float(self.share[i]),
            }
            for i, cell in enumerate(self.cells)
        ]


def front(
    table: PlainTable,
    score: str,
    *,
    cost: str = "recon",
    lower: Iterable[str] = (),
    draws: int = DRAWS,
    seed: int = 0,
) -> Front:
    """The cells that are worth their price: mean score against mean reconstruction loss.

    Args:
        table: One row a run, of one dataset; see `unknot.analysis.cells`.
        score: Name of a column.
        cost: Name of a column of which less is better.
        lower: Columns of which less is better; `unknot.metrics.lower_is_better` knows.
        draws: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        ConfigError: There is no such column, or there are several datasets.
        DataError: No cell has both.

    Example:
        >>> table = {"objective": list("abc"), "mig": [0.1, 0.3, 0.2], "recon": [1.0, 2.0, 3.0]}
        >>> front(table, "mig").on.tolist()
        [True, True, False]
    """
    found, names = one_dataset(table, [score, cost])
    means, drawn = means_of(found, names, draws, seed)
    there = np.isfinite(means).all(1)
    if not there.any():
        raise DataError(f"No cell has both '{score}' and '{cost}'.")
    sign = direction(score, lower)
    gain, price = means[there].T
    on = undominated(sign * gain, price)
    again = [undominated(sign * study[there, 0], study[there, 1]) for study in drawn]
    left = int((~there).sum())
    return Front(
        score,
        cost,
        tuple(cell for cell, own in zip(found, there, strict=True) if own),
        gain,
        price,
        on,
        np.mean(again, axis=0),
        (f"{left} cells without both were left out",) if left else (),
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
