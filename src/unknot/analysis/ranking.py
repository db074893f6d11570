"""Which objectives and strengths are best at which score, and how sure that is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from unknot.analysis.cells import Cell, cells, chosen_scores, plain_columns, taken
from unknot.analysis.plain_table import PlainTable
from unknot.analysis.statistics import DRAWS, LEVEL, NAN, resampled
from unknot.core.errors import ConfigError

DIGITS = 12
"""Means that agree to so many places are equal; what is beyond is rounding."""


def direction(score: str, lower: Iterable[str]) -> float:
    """-1 where less is better, else 1."""
    return -1.0 if score in set(lower) else 1.0


@dataclass(frozen=True, eq=False)
class Ranking:
    """Objectives by scores; rank 1 is best, and equals share the mean of their ranks."""

    objectives: tuple[str, ...]
    scores: tuple[str, ...]
    means: Float[np.ndarray, "o s"]
    """Mean over an objective's cells of their means; each strength weighs the same."""
    ranks: Float[np.ndarray, "o s"]
    first: Float[np.ndarray, "o s"]
    """Share of resampled studies in which the objective is first; ties share. With one seed of each
    setting nothing can be resampled, and this and the interval below are NaN."""
    mean_rank: Float[np.ndarray, " o"]
    """Over scores."""
    mean_rank_low: Float[np.ndarray, " o"]
    mean_rank_high: Float[np.ndarray, " o"]
    remarks: tuple[str, ...] = ()

    def winners(self, score: str) -> tuple[str, ...]:
        """The objectives that are best at a score; more than one is a tie."""
        ranks = self.ranks[:, self.scores.index(score)]
        known = ranks[~np.isnan(ranks)]
        return tuple(self.objectives[i] for i in np.flatnonzero(ranks == min(known, default=0)))

    def wins(self) -> dict[str, tuple[int, int]]:
        """For each objective the number of scores that it wins alone, and of those it ties for."""
        each = [self.winners(score) for score in self.scores]
        return {
            name: (sum(w == (name,) for w in each), sum(name in w and len(w) > 1 for w in each))
            for name in self.objectives
        }

    def rows(self) -> list[dict[str, Any]]:
        """As plain rows, an objective each."""
        wins = self.wins()
        return [
            {
                "objective": name,
                "mean_rank": float(self.mean_rank[i]),
                "mean_rank_low": float(self.mean_rank_low[i]),
                "mean_rank_high": float(self.mean_rank_high[i]),
                "wins": wins[name][0],
                "ties": wins[name][1],
                **{f"{s}.rank": float(self.ranks[i, k]) for k, s in enumerate(self.scores)},
                **{f"{s}.mean": float(self.means[i, k]) for k, s in enumerate(self.scores)},
                **{f"{s}.first": float(self.first[i, k]) for k, s in enumerate(self.scores)},
            }
            for i, name in enumerate(self.objectives)
        ]


def ranking(
    table: PlainTable,
    scores: Sequence[str] | None = None,
    *,
    lower: Iterable[str] = (),
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ranking:
    """Rank objectives at each score by the mean over their cells, of one dataset.

    The interval of the mean rank is of resampled seeds, with these scores and these strengths.

    Args:
        table: One row a run; see `unknot.analysis.cells`.
        scores: Names of columns; all that are scores unless given.
        lower: Columns of which less is better; `unknot.metrics.lower_is_better` knows.
        level: Of the intervals.
        draws: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        ConfigError: There is no such score, or there are several datasets.

    Example:
        >>> rows = {"objective": list("aabb"), "x": [1.0, 2, 3, 4], "y": [1.0, 1, 1, 1]}
        >>> found = ranking(rows)
        >>> found.winners("x"), found.winners("y"), found.mean_rank.tolist()
        (('b',), ('a', 'b'), [1.75, 1.25])
    """
    found, names = one_dataset(table, scores)
    objectives = tuple(dict.fromkeys(cell.objective for cell in found))
    sign = np.array([direction(name, lower) for name in names])
    means, drawn = means_of(found, names, draws, seed)
    own = [[cell.objective == name for cell in found] for name in objectives]
    # A score that a cell has no run of is missing for the whole objective: nothing to compare.
    mean = np.stack([means[mask].mean(0) for mask in own])
    again = np.stack([drawn[:, mask].mean(1) for mask in own], axis=1)
    ranks, every = _ranks(mean * sign, 0), _ranks(again * sign, 1)
    first = every == np.where(np.isnan(every), np.inf, every).min(1, keepdims=True)
    share = (first / np.maximum(first.sum(1, keepdims=True), 1)).mean(0)
    several = any(len(taken(cell.runs, name).values) > 1 for cell in found for name in names)
    whole = ~np.isnan(ranks).any(0)
    mean_rank, tails = np.full(len(objectives), NAN), np.full((2, len(objectives)), NAN)
    if whole.any():
        mean_rank = ranks[:, whole].mean(1)
    if whole.any() and several:
        ends = [(1 - level) / 2, (1 + level) / 2]
        tails = np.quantile(every[:, :, whole].mean(2), ends, axis=0)
    missing = [name for name, all_there in zip(names, whole, strict=True) if not all_there]
    return Ranking(
        objectives,
        tuple(names),
        mean,
        ranks,
        share if several else np.full_like(share, NAN),
        mean_rank,
        tails[0],
        tails[1],
        (f"not in the mean rank, for want of runs: {', '.join(missing)}",) if missing else (),
    )


@dataclass(frozen=True)
class Best:
    """The strength at which an objective's mean of a score is best."""

    objective: str
    score: str
    axis: str
    strength: float | str
    mean: float
    mean_low: float
    mean_high: float
    share: float
    """Of resampled studies in which this strength is best; NaN where it has a single run."""
    likely: tuple[float | str, ...]
    """The fewest strengths, the likeliest first, of which one is best at the level; none where
    nothing can be resampled."""
    shares: dict[float | str, float]

    def row(self) -> dict[str, Any]:
        """As plain values of one line of a table."""
        names = ("objective", "score", "axis", "strength", "mean", "mean_low", "mean_high", "share")
        likely = " ".join(str(strength) for strength in self.likely)
        return {**{name: getattr(self, name) for name in names}, "likely": likely}


def best_strengths(
    table: PlainTable,
    scores: Sequence[str] | None = None,
    *,
    lower: Iterable[str] = (),
    level: float = LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
) -> list[Best]:
    """For each objective and score the best strength, and how often seeds would choose it again.

    Takes what `ranking` takes. The interval of the mean is that of the strength which was chosen
    for its mean, so that its lower end is the one to trust.

    Raises:
        ConfigError: There is no such score, or there are several datasets.
    """
    found, names = one_dataset(table, scores)
    means, drawn = means_of(found, names, draws, seed)
    chosen = []
    for objective in dict.fromkeys(cell.objective for cell in found):
        own = [i for i, cell in enumerate(found) if cell.objective == objective]
        for k, score in enumerate(names):
            sign = direction(score, lower)
            there = [i for i in own if np.isfinite(means[i, k])]
            if not there:
                continue
            place = there[int(np.argmax(sign * means[there, k]))]
            ranks = _ranks(sign * drawn[:, there, k], 1)
            first = ranks == ranks.min(1, keepdims=True)
            share = (first / first.sum(1, keepdims=True)).mean(0)
            ends = np.quantile(drawn[:, place, k], [(1 - level) / 2, (1 + level) / 2])
            alone = len(taken(found[place].runs, score).values) < 2
            by_share = np.argsort(-share, kind="stable")
            enough = int(np.searchsorted(share[by_share].cumsum(), level - 1e-9)) + 1
            chosen.append(
                Best(
                    objective,
                    score,
                    found[place].axis,
                    found[place].strength,
                    float(means[place, k]),
                    *((NAN, NAN) if alone else (float(ends[0]), float(ends[1]))),
                    NAN if alone else float(share[there.index(place)]),
                    () if alone else tuple(found[there[i]].strength for i in by_share[:enough]),
                    {found[i].strength: float(s) for i, s in zip(there, share, strict=True)},
                )
            )
    return chosen


def one_dataset(table: PlainTable, scores: Sequence[str] | None) -> tuple[list[Cell], list[str]]:
    """Cells and scores of a table of one dataset; levels of two cannot be averaged."""
    given = plain_columns(table)
    found = cells(given)
    data = list(dict.fromkeys(cell.data for cell in found))
    if len(data) > 1:
        raise ConfigError(
            f"Expected the runs of one dataset; got {', '.join(data)}. Split the table with "
            "unknot.metrics.split_table(table, 'data')."
        )
    return found, chosen_scores(given, scores)


def means_of(
    found: Sequence[Cell], scores: Sequence[str], draws: int, seed: int
) -> tuple[Float[np.ndarray, "c s"], Float[np.ndarray, "draws c s"]]:
    """Means of cells by score, and those of resampled seeds; NaN where no run has the score."""
    means = np.full((len(found), len(scores)), NAN)
    drawn = np.full((draws, len(found), len(scores)), NAN)
    for i, cell in enumerate(found):
        for k, again in enumerate(resampled(cell, scores, draws, seed)):
            if again.shape[1]:
                means[i, k] = taken(cell.runs, scores[k]).values.mean()
                drawn[:, i, k] = again.mean(1)
    return means, drawn


def _ranks(values: Float[np.ndarray, "*n"], axis: int) -> Float[np.ndarray, "*n"]:
    """1 for the largest along an axis; equals share, and what is NaN has none."""
    from scipy import stats

    ranks: np.ndarray = stats.rankdata(-values.round(DIGITS), axis=axis, nan_policy="omit")
    return ranks
