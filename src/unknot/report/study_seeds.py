"""How many seeds it takes to see which of two settings of a study scores higher."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from unknot.analysis import bootstrap
from unknot.analysis.cells import Cell, taken
from unknot.analysis.seeds import SeedCount, seeds_needed
from unknot.metrics import lower_is_better

AT = (1, 3, 5, 10)
"""Numbers of seeds that the table has."""
DRAWS = 2_000
MOST = 30
"""Seeds of each setting to look at, at most."""

Pair = tuple[Cell, Cell]


def contrasts(cells: Sequence[Cell], score: str) -> list[Pair]:
    """Pairs of settings that people ask about, the better first.

    Of each objective its best and its weakest strength; then the best of each objective and the
    next best objective's.
    """
    known = [cell for cell in cells if len(taken(cell.runs, score).values) > 1]
    by_name: dict[str, list[Cell]] = {}
    for cell in known:
        by_name.setdefault(cell.objective, []).append(cell)
    tops = [max(own, key=lambda cell: _value(cell, score)) for own in by_name.values()]
    inside = [
        (top, min(own, key=lambda cell: _value(cell, score)))
        for top, own in zip(tops, by_name.values(), strict=True)
        if len(own) > 1
    ]
    order = sorted(tops, key=lambda cell: -_value(cell, score))
    return [*inside, *pairwise(order)]


def every_pair(
    cells: Sequence[Cell], score: str, *, at: Sequence[int] = AT, draws: int = DRAWS
) -> list[dict[str, Any]]:
    """A row for each two settings with two runs or more, the better first.

    The same numbers as `unknot.metrics.seeds_needed` gives, which draws anew for each pair.
    """
    known = [cell for cell in cells if len(taken(cell.runs, score).values) > 1]
    known.sort(key=lambda cell: -_value(cell, score))
    values = [taken(cell.runs, score).values for cell in known]
    sides = {
        side: [_means(own, side, max(at), draws) for own in values] for side in ("first", "second")
    }
    means, labels = [float(own.mean()) for own in values], [cell.label for cell in known]
    columns = [n - 1 for n in at]
    sign = -1.0 if lower_is_better(score) else 1.0
    rows = []
    for i, j in combinations(range(len(known)), 2):
        apart = sign * (sides["first"][i] - sides["second"][j])[:, columns]
        near = 1e-12 * max(float(np.abs(sides["first"][i]).max()), 1e-300)
        chance = np.where(np.abs(apart) <= near, 0.5, apart > 0).mean(0)
        rows.append(
            {
                "score": score,
                "better": labels[i],
                "worse": labels[j],
                "difference": means[i] - means[j],
                **{f"n={n}": float(p) for n, p in zip(at, chance, strict=True)},
            }
        )
    return rows


def _means(
    values: Float[np.ndarray, " n"], side: str, most: int, draws: int
) -> Float[np.ndarray, "draws most"]:
    """Means of the first 1, 2, ... of the seeds drawn."""
    index = bootstrap.indices(0, f"metric/seeds/{side}", draws, most, high=len(values))
    means: np.ndarray = values[index].cumsum(1) / np.arange(1, most + 1)
    return means


def counted(pair: Pair, score: str, *, most: int = MOST, draws: int = DRAWS) -> SeedCount:
    """What n seeds of each of two settings show; see `unknot.metrics.seeds_needed`."""
    first, second = (taken(cell.runs, score).values for cell in pair)
    return seeds_needed(first, second, most=most, draws=draws)


def _value(cell: Cell, score: str) -> float:
    mean = float(np.mean(taken(cell.runs, score).values))
    return -mean if lower_is_better(score) else mean
