"""Effects: what one setting does to a score, over all other settings and seeds of a grid.

Runs are paired that agree in all other settings and in the seed, and differ in this one. The effect
of a value is the mean of what such pairs differ by from the first value. Pairs depend on each
other: those of one configuration share how the setting acts there, those of one seed share its
luck. So the interval is clustered by configuration and by seed at once (Cameron, Gelbach and Miller
2011, "Robust inference with multiway clustering"), and it is never shorter than by either alone. By
what there are fewer than `FEW` of, nothing can be said: the interval is then of the other alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from unknot.analysis.configurations import (
    FINISHED,
    Columns,
    has_diverged,
    hashable,
    is_number,
)
from unknot.analysis.health import flaws
from unknot.analysis.intervals import FEW, LEVEL, NAN
from unknot.analysis.plain_table import column, numbers

BOTH = "configurations and seeds"
"""What an interval is over where there are enough of either."""
MOST_VALUES = 8
"""Of a setting whose effect is shown."""
COVERAGE: dict[str, dict[tuple[int, int], float]] = {
    "nothing": {(32, 3): 0.95, (32, 5): 0.99, (6, 5): 0.99, (32, 10): 0.98},
    "the configuration": {(32, 3): 0.95, (32, 5): 0.99, (6, 5): 0.96, (32, 10): 0.97},
    "the seed": {(32, 3): 0.28, (32, 5): 0.95, (6, 5): 0.96, (32, 10): 0.95},
    "both": {(32, 3): 0.49, (32, 5): 0.96, (6, 5): 0.97, (32, 10): 0.96},
}
"""Share of 95 % intervals that hold the true effect, by what pairs share and by the numbers of
configurations and seeds; simulated by tools/coverage.py."""


@dataclass(frozen=True, eq=False)
class Effect:
    """What a score changes by from the first value of a setting to another."""

    setting: str
    score: str
    reference: Any
    """The first value."""
    value: Any
    differences: Float[np.ndarray, " n"]
    """Of each pair: the score at the value less that at the reference."""
    configurations: int
    """Combinations of all other settings that have pairs."""
    seeds: int
    """Seeds that have pairs; 0 where nobody says."""
    unpaired: int
    """Runs of the two values that have the score, but no partner."""
    flawed: int
    """Pairs of which a run collapsed or draws nothing."""
    low: float
    high: float
    over: str
    """What the interval is over: configurations, seeds, or both; empty where there is none."""

    @property
    def mean(self) -> float:
        """The effect; NaN without pairs."""
        return float(self.differences.mean()) if len(self.differences) else NAN

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out zero."""
        return self.low > 0 or self.high < 0

    def row(self) -> dict[str, Any]:
        """As plain values of one line of a table."""
        return {
            "setting": self.setting, "score": self.score, "reference": self.reference,
            "value": self.value, "pairs": len(self.differences), "difference": self.mean,
            "low": self.low, "high": self.high, "over": self.over,
            "configurations": self.configurations, "seeds": self.seeds, "unpaired": self.unpaired,
            "flawed": self.flawed,
        }  # fmt: skip


def effects(
    table: Columns, settings: Sequence[str], name: str, score: str, level: float = LEVEL
) -> list[Effect]:
    """The effect of each value of a setting against its first, by pairs of runs.

    Args:
        table: Columns, from `plain_columns`.
        settings: Names of all that are settings.
        name: One of them.
        score: Name of a column.
        level: Of the intervals.

    Example:
        >>> table = {"objective": ["vae"] * 4, "net": list("aabb"), "seed": [0, 1, 0, 1],
        ...          "mig": [0.1, 0.2, 0.4, 0.7]}
        >>> (effect,) = effects(table, ["objective", "net"], "net", "mig")
        >>> effect.value, effect.differences.round(3).tolist(), round(effect.mean, 3)
        ('b', [0.3, 0.5], 0.4)
    """
    others = [other for other in settings if other != name]
    seeds = table.get("seed", [None] * len(column(table, name)))
    rests = list(zip(*(map(hashable, table[other]) for other in others), strict=True))
    rests = rests or [()] * len(seeds)
    scores, bad = _finished(table, score), flaws(table)
    runs: dict[Any, dict[tuple[Any, Any], list[int]]] = {}
    for i, value in enumerate(map(hashable, table[name])):
        if value is not None and not np.isnan(scores[i]):
            runs.setdefault(value, {}).setdefault((rests[i], hashable(seeds[i])), []).append(i)
    reference, *values = setting_values(table, name) or [None]
    result = []
    for value in values:
        first, second = runs.get(hashable(reference), {}), runs.get(hashable(value), {})
        keys = [key for key in first if key in second]
        result.append(
            _effect(
                (name, score, reference, value),
                np.array([scores[second[k]].mean() - scores[first[k]].mean() for k in keys]),
                keys,
                sum(len(index) for by in (first, second) for k, index in by.items()
                    if k not in keys),
                sum(any(bad[i] for i in (*first[k], *second[k])) for k in keys),
                level,
            )
        )  # fmt: skip
    return result


def setting_values(table: Columns, name: str) -> list[Any]:
    """The different values of a setting: numbers from the lowest, others as they are first met."""
    values = {hashable(v): v for v in table[name] if hashable(v) is not None}
    ordered = list(values.values())
    if all(is_number(v) or isinstance(v, bool) for v in ordered):
        return sorted(ordered)
    return ordered


def pooled_settings(table: Columns, settings: Sequence[str]) -> list[str]:
    """Settings of two to `MOST_VALUES` values, two of which several configurations share.

    Of a single configuration there is nothing to pool.

    Example:
        >>> table = {"objective": ["vae"] * 4, "net": list("aabb"), "steps": [1, 2, 1, 2],
        ...          "batch": [1, 2, 3, 4]}
        >>> pooled_settings(table, ["objective", "net", "steps"])
        ['net', 'steps']
        >>> pooled_settings(table, ["objective", "net", "steps", "batch"])
        []
    """
    found = []
    for name in settings:
        values = setting_values(table, name)
        if 2 <= len(values) <= MOST_VALUES:
            others = [n for n in settings if n != name]
            sides: dict[Any, set[Any]] = {}
            for i, value in enumerate(table[name]):
                rest = tuple(hashable(table[n][i]) for n in others)
                sides.setdefault(hashable(value), set()).add(rest)
            first, *rests = (sides[hashable(value)] for value in values)
            if any(len(first & rest) > 1 for rest in rests):
                found.append(name)
    return found


def clustered_interval(
    values: Float[np.ndarray, " n"],
    configurations: Int[np.ndarray, " n"],
    seeds: Int[np.ndarray, " n"],
    level: float,
) -> tuple[float, float, str]:
    """The interval of the mean of values that share configurations and seeds, and what it is over.

    Its variance is that between configurations plus that between seeds less that between pairs, at
    least the larger of the first two, with Student's quantile of the fewer clusters less one. NaN
    where there are fewer than `FEW` of either, or where all values are equal.

    Example:
        >>> rows, columns = np.repeat(np.arange(5), 6), np.tile(np.arange(6), 5)
        >>> low, high, over = clustered_interval(0.1 * rows + 0.1 * columns, rows, columns, 0.95)
        >>> round(low, 3), round(high, 3), over
        (0.185, 0.715, 'configurations and seeds')
    """
    from scipy.special import stdtrit

    residuals = values - values.mean() if len(values) else values
    variances = {
        unit: (count, _cluster_variance(residuals, clusters))
        for unit, clusters in (("configurations", configurations), ("seeds", seeds))
        if (count := len(set(clusters.tolist()))) >= FEW
    }
    if not variances or not np.ptp(values):
        return NAN, NAN, ""
    parts = [variance for _, variance in variances.values()]
    pairs = _cluster_variance(residuals, np.arange(len(values)))
    both = sum(parts) - pairs if len(parts) > 1 else 0.0
    error = max(both, *parts) ** 0.5 if len(parts) > 1 else parts[0] ** 0.5
    fewest = min(count for count, _ in variances.values())
    half = float(stdtrit(fewest - 1, (1 + level) / 2)) * error
    mean = float(values.mean())
    return mean - half, mean + half, " and ".join(variances)


def _cluster_variance(residuals: Float[np.ndarray, " n"], clusters: Int[np.ndarray, " n"]) -> float:
    """Of the mean, if residuals of one cluster depend on each other and others do not."""
    places = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(places, residuals)
    return float(len(sums) / (len(sums) - 1) * (sums**2).sum() / len(residuals) ** 2)


def _finished(table: Columns, score: str) -> Float[np.ndarray, " n"]:
    """A score of the runs that ended without divergence; NaN of others."""
    values = numbers(table, score)
    states = table.get("status", [None] * len(values))
    ended = [state is None or state in FINISHED for state in states]
    return np.where(np.array(ended) & ~np.array(has_diverged(table)), values, NAN)


def _effect(
    names: tuple[str, str, Any, Any],
    differences: Float[np.ndarray, " n"],
    keys: Sequence[tuple[Any, Any]],
    unpaired: int,
    flawed: int,
    level: float,
) -> Effect:
    rests, seeds = (_places([key[i] for key in keys]) for i in (0, 1))
    configurations, distinct = (len(set(places.tolist())) for places in (rests, seeds))
    if any(seed is None for _, seed in keys):
        distinct = 0
        seeds = np.zeros(len(keys), dtype=int)
    interval = clustered_interval(differences, rests, seeds, level)
    return Effect(*names, differences, configurations, distinct, unpaired, flawed, *interval)


def _places(keys: Sequence[Any]) -> Int[np.ndarray, " n"]:
    """Whole numbers in place of keys, the same for equal ones."""
    numbered = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbered[key] for key in keys], dtype=int)
