"""Which objectives and strengths are best at which score, and how sure that is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from unknot.analysis.configurations import Configuration
from unknot.analysis.statistics import NAN, tails

DIGITS = 12
"""Means that agree to so many places are equal; what is beyond is rounding."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """Objectives by scores; rank 1 is best, and equals share the mean of their ranks."""

    objectives: tuple[str, ...]
    scores: tuple[str, ...]
    means: Float[np.ndarray, "o s"]
    """Mean over an objective's configurations of their means; each weighs the same."""
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
    configurations: Sequence[Configuration],
    scores: Sequence[str],
    sign: Float[np.ndarray, " s"],
    means: Float[np.ndarray, "c s"],
    drawn: Float[np.ndarray, "draws c s"],
    level: float,
) -> Ranking:
    """Rank objectives at each score by the mean over their configurations; see `Results.ranking`.

    Args:
        configurations: Of one dataset.
        scores: Names of columns.
        sign: Of each score, -1 where less is better and else 1.
        means: Of the configurations.
        drawn: Means of resampled seeds.
        level: Of the intervals.
    """
    objectives = tuple(dict.fromkeys(one.objective for one in configurations))
    masks = [[one.objective == name for one in configurations] for name in objectives]
    # A score of which a configuration has no run is missing for the whole objective.
    mean = np.stack([means[mask].mean(0) for mask in masks])
    again = np.stack([drawn[:, mask].mean(1) for mask in masks], axis=1)
    ranks, every = _ranks(mean * sign, 0), _ranks(again * sign, 1)
    first = every == np.where(np.isnan(every), np.inf, every).min(1, keepdims=True)
    share = (first / np.maximum(first.sum(1, keepdims=True), 1)).mean(0)
    several = any(len(one.sample(name).values) > 1 for one in configurations for name in scores)
    whole = ~np.isnan(ranks).any(0)
    mean_rank, ends = np.full(len(objectives), NAN), np.full((2, len(objectives)), NAN)
    if whole.any():
        mean_rank = ranks[:, whole].mean(1)
    if whole.any() and several:
        ends = np.quantile(every[:, :, whole].mean(2), tails(level), axis=0)
    missing = [name for name, all_there in zip(scores, whole, strict=True) if not all_there]
    return Ranking(
        objectives,
        tuple(scores),
        mean,
        ranks,
        share if several else np.full_like(share, NAN),
        mean_rank,
        ends[0],
        ends[1],
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
    configurations: Sequence[Configuration],
    scores: Sequence[str],
    sign: Float[np.ndarray, " s"],
    means: Float[np.ndarray, "c s"],
    drawn: Float[np.ndarray, "draws c s"],
    level: float,
) -> list[Best]:
    """For each objective and score the best swept value; takes what `ranking` takes."""
    chosen = []
    for objective in dict.fromkeys(one.objective for one in configurations):
        group = [i for i, one in enumerate(configurations) if one.objective == objective]
        for k, score in enumerate(scores):
            there = [i for i in group if np.isfinite(means[i, k])]
            if not there:
                continue
            place = there[int(np.argmax(sign[k] * means[there, k]))]
            share = first_share(_ranks(sign[k] * drawn[:, there, k], 1))
            ends = np.quantile(drawn[:, place, k], tails(level))
            best = configurations[place]
            alone = len(best.sample(score).values) < 2
            by_share = np.argsort(-share, kind="stable")
            enough = int(np.searchsorted(share[by_share].cumsum(), level - 1e-9)) + 1
            likely = (configurations[there[i]].strength for i in by_share[:enough])
            chosen.append(
                Best(
                    objective,
                    score,
                    best.axis,
                    best.strength,
                    float(means[place, k]),
                    *((NAN, NAN) if alone else (float(ends[0]), float(ends[1]))),
                    NAN if alone else float(share[there.index(place)]),
                    () if alone else tuple(likely),
                    {
                        configurations[i].strength: float(s)
                        for i, s in zip(there, share, strict=True)
                    },
                )
            )
    return chosen


@dataclass(frozen=True)
class Winner:
    """The configuration with the best mean of a score, and the one with the worst."""

    score: str
    best: Configuration
    tied: int
    """Configurations whose mean equals the best one, itself among them."""
    mean: float
    low: float
    high: float
    """Ends of the interval of its mean; NaN where nothing can be resampled."""
    share: float
    """Of resampled studies in which it is best again; NaN where nothing can be resampled."""
    worst: Configuration
    worst_mean: float

    @property
    def label(self) -> str:
        """Which configuration it is, or how many."""
        return self.best.label if self.tied == 1 else f"{self.tied} configurations alike"


def winners(
    configurations: Sequence[Configuration],
    scores: Sequence[str],
    sign: Float[np.ndarray, " s"],
    means: Float[np.ndarray, "c s"],
    drawn: Float[np.ndarray, "draws c s"],
    level: float,
) -> list[Winner]:
    """The best configuration of each score that any has; takes what `ranking` takes."""
    chosen = []
    for k, score in enumerate(scores):
        there = np.flatnonzero(np.isfinite(means[:, k]))
        if not len(there):
            continue
        place = int(there[np.argmax(sign[k] * means[there, k])])
        worst = int(there[np.argmin(sign[k] * means[there, k])])
        tied = int((means[there, k].round(DIGITS) == means[place, k].round(DIGITS)).sum())
        share = first_share(-sign[k] * drawn[:, there, k])[int(np.flatnonzero(there == place)[0])]
        low, high = np.quantile(drawn[:, place, k], tails(level)).tolist()
        if not np.ptp(drawn[:, place, k]):
            low = high = share = NAN
        chosen.append(
            Winner(
                score,
                configurations[place],
                tied,
                float(means[place, k]),
                low,
                high,
                float(share),
                configurations[worst],
                float(means[worst, k]),
            )
        )
    return chosen


def first_share(ranks: Float[np.ndarray, "draws c"]) -> Float[np.ndarray, " c"]:
    """How often each column has the smallest entry of a row; equals share it."""
    first = ranks == ranks.min(1, keepdims=True)
    share: np.ndarray = (first / first.sum(1, keepdims=True)).mean(0)
    return share


def _ranks(values: Float[np.ndarray, "*n"], axis: int) -> Float[np.ndarray, "*n"]:
    """1 for the largest along an axis; equals share, and what is NaN has none."""
    from scipy import stats

    ranks: np.ndarray = stats.rankdata(-values.round(DIGITS), axis=axis, nan_policy="omit")
    return ranks
