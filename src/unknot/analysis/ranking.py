"""Which objectives and configurations are best at which score, and how sure that is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import NAN, SPARSE, Bounds, mean_interval
from unknot.analysis.statistics import tails

DIGITS = 12
"""Means that agree to so many places are equal; what is beyond is rounding."""


@dataclass(frozen=True, eq=False)
class Means:
    """Means of the configurations of one dataset by score, and those of resampled seeds."""

    configurations: Sequence[Configuration]
    scores: Sequence[str]
    sign: Float[np.ndarray, " s"]
    """-1 where lower is better, else 1."""
    values: Float[np.ndarray, "c s"]
    draws: Float[np.ndarray, "draws c s"]
    sound: Bool[np.ndarray, "c s"]
    """Whether a configuration may be called best at a score; see `unknot.analysis.health`."""
    level: float
    """Of the intervals."""
    bounds: Sequence[Bounds]
    """Of the scores; intervals are cut off there."""


def has_enough_seeds(configurations: Iterable[Configuration], score: str) -> bool:
    """Whether all have enough seeds to say by resampling what others would give."""
    return all(len(c.sample(score).values) >= SPARSE for c in configurations)


@dataclass(frozen=True, eq=False)
class Ranking:
    """Objectives by scores; rank 1 is best, and equals share the mean of their ranks."""

    objectives: tuple[str, ...]
    scores: tuple[str, ...]
    means: Float[np.ndarray, "o s"]
    """Mean over an objective's configurations of their means; each weighs the same."""
    ranks: Float[np.ndarray, "o s"]
    first: Float[np.ndarray, "o s"]
    """Share of resampled studies in which the objective is first; ties share. This and the interval
    below are NaN where a configuration has too few seeds."""
    mean_rank: Float[np.ndarray, " o"]
    """Over scores."""
    mean_rank_low: Float[np.ndarray, " o"]
    mean_rank_high: Float[np.ndarray, " o"]
    remarks: tuple[str, ...] = ()

    def winners(self, score: str) -> tuple[str, ...]:
        """The objectives that are best at a score; more than one is a tie."""
        ranks = self.ranks[:, self.scores.index(score)]
        best = min(ranks[~np.isnan(ranks)], default=0)
        return tuple(self.objectives[i] for i in np.flatnonzero(ranks == best))

    def wins(self) -> dict[str, tuple[int, int]]:
        """For each objective the number of scores that it wins alone, and of those it ties for."""
        winners = [self.winners(score) for score in self.scores]
        return {
            name: (
                sum(w == (name,) for w in winners),
                sum(name in w and len(w) > 1 for w in winners),
            )
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


def ranking(means: Means) -> Ranking:
    """Objectives ranked at each score by the mean over their configurations."""
    configurations, scores, sign = means.configurations, means.scores, means.sign
    objectives = tuple(dict.fromkeys(c.objective for c in configurations))
    masks = [[c.objective == name for c in configurations] for name in objectives]
    # A score of which a configuration has no run is missing for the whole objective.
    mean = np.stack([means.values[mask].mean(0) for mask in masks])
    again = np.stack([means.draws[:, mask].mean(1) for mask in masks], axis=1)
    ranks, resampled_ranks = _ranks(mean * sign, 0), _ranks(again * sign, 1)
    first = resampled_ranks == np.where(np.isnan(resampled_ranks), np.inf, resampled_ranks).min(
        1, keepdims=True
    )
    share = (first / np.maximum(first.sum(1, keepdims=True), 1)).mean(0)
    enough = all(has_enough_seeds(_having(configurations, name), name) for name in scores)
    complete = ~np.isnan(ranks).any(0)
    mean_rank, ends = np.full(len(objectives), NAN), np.full((2, len(objectives)), NAN)
    if complete.any():
        mean_rank = ranks[:, complete].mean(1)
    if complete.any() and enough:
        ends = np.quantile(resampled_ranks[:, :, complete].mean(2), tails(means.level), axis=0)
    missing = [name for name, all_there in zip(scores, complete, strict=True) if not all_there]
    return Ranking(
        objectives,
        tuple(scores),
        mean,
        ranks,
        share if enough else np.full_like(share, NAN),
        mean_rank,
        ends[0],
        ends[1],
        (f"not in the mean rank, for want of runs: {', '.join(missing)}",) if missing else (),
    )


@dataclass(frozen=True)
class Best:
    """The swept value at which an objective's mean of a score is best."""

    objective: str
    score: str
    axis: str
    swept_value: float | str
    mean: float
    mean_low: float
    mean_high: float
    share: float
    """Of resampled studies in which this value is best; NaN where some value has too few seeds."""
    likely: tuple[float | str, ...]
    """The fewest values, the likeliest first, of which one is best at the level; none where
    some value has too few seeds."""
    shares: dict[float | str, float]

    def row(self) -> dict[str, Any]:
        """As plain values of one line of a table."""
        names = (
            "objective", "score", "axis", "swept_value", "mean", "mean_low", "mean_high", "share",
        )  # fmt: skip
        likely = " ".join(map(str, self.likely))
        return {**{name: getattr(self, name) for name in names}, "likely": likely}


def best_values(means: Means) -> list[Best]:
    """For each objective and score the best swept value; none where no value is sound."""
    configurations, level, best_values = means.configurations, means.level, []
    for objective in dict.fromkeys(c.objective for c in configurations):
        group = [i for i, c in enumerate(configurations) if c.objective == objective]
        for k, score in enumerate(means.scores):
            values, draws, sign = means.values[:, k], means.draws[:, :, k], means.sign[k]
            there = [i for i in group if np.isfinite(values[i])]
            able = [i for i in there if means.sound[i, k]]
            if not able:
                continue
            place = able[int(np.argmax(sign * values[able]))]
            share = first_share(_ranks(sign * draws[:, there], 1))
            best = configurations[place]
            enough = has_enough_seeds((configurations[i] for i in there), score)
            by_share = np.argsort(-share, kind="stable")
            count = int(np.searchsorted(share[by_share].cumsum(), level - 1e-9)) + 1
            likely = (configurations[there[i]].swept_value for i in by_share[:count])
            best_values.append(
                Best(
                    objective,
                    score,
                    best.axis,
                    best.swept_value,
                    float(values[place]),
                    *mean_interval(best.sample(score).values, level, means.bounds[k]),
                    float(share[there.index(place)]) if enough else NAN,
                    tuple(likely) if enough else (),
                    {
                        configurations[i].swept_value: float(s)
                        for i, s in zip(there, share, strict=True)
                    },
                )
            )
    return best_values


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
    """Ends of the interval of its mean; NaN where it has too few seeds."""
    share: float
    """Of resampled studies in which it is best again; NaN where some have too few seeds."""
    worst: Configuration
    worst_mean: float

    @property
    def label(self) -> str:
        """Which configuration it is, or how many."""
        return self.best.label if self.tied == 1 else f"{self.tied} configurations alike"


def winners(means: Means) -> list[Winner]:
    """The best configuration of each score that any has; none where no configuration is sound."""
    result = []
    for k, score in enumerate(means.scores):
        values, draws, sign = means.values[:, k], means.draws[:, :, k], means.sign[k]
        there = np.flatnonzero(np.isfinite(values))
        able = np.flatnonzero(np.isfinite(values) & means.sound[:, k])
        if not len(able):
            continue
        place = int(able[np.argmax(sign * values[able])])
        worst = int(there[np.argmin(sign * values[there])])
        tied = int((values[there].round(DIGITS) == values[place].round(DIGITS)).sum())
        share = first_share(-sign * draws[:, there])[int(np.flatnonzero(there == place)[0])]
        best = means.configurations[place]
        low, high = mean_interval(best.sample(score).values, means.level, means.bounds[k])
        enough = has_enough_seeds(_having(means.configurations, score), score)
        result.append(
            Winner(
                score,
                best,
                tied,
                float(values[place]),
                low,
                high,
                float(share) if enough else NAN,
                means.configurations[worst],
                float(values[worst]),
            )
        )
    return result


def _having(configurations: Iterable[Configuration], score: str) -> list[Configuration]:
    return [c for c in configurations if c.has(score)]


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
