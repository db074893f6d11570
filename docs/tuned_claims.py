"""Tests of claims that compare tuned settings, and gains with each other (`docs/claims.py`)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from unknot.analysis.configurations import Columns, configurations, pick, sample, setting_names
from unknot.core.errors import ConfigError

LEVEL = 0.9
"""Of intervals: claims name a side, which 5 % decide."""
FEWEST = 2
"""Runs of each side that a test takes."""
SIDES = ("more", "less")


def side_of(low: float, high: float, number: float) -> str:
    """What an interval says about a difference that should lie above a number."""
    return "holds" if low > number else "fails" if high < number else "undecided"


def tuned(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[str, str]:
    """Whether one mean lies above another, each side at the setting that its other seeds choose."""
    score = test["score"]
    more, less = groups = [
        by_other_seeds(table, test[side], score, test.get("by", ())) for side in SIDES
    ]
    if min(map(len, groups)) < FEWEST:
        return "not run", ""
    return _differences(score, groups, f"{more.mean():.3g} > {less.mean():.3g}")


def gain(table: Mapping[str, list[Any]], test: Mapping[str, Any]) -> tuple[str, str]:
    """Whether `more` exceeds `less` by more than it does among other runs, `without`."""
    score = test["score"]
    groups = [
        by_other_seeds(table, {**test[side], **test[which]}, score, test.get("by", ()))
        for which in ("among", "without")
        for side in SIDES
    ]
    if min(map(len, groups)) < FEWEST:
        return "not run", ""
    more, less, more_without, less_without = (group.mean() for group in groups)
    numbers = f"{more - less:+.3g} > {more_without - less_without:+.3g}"
    return _differences(score, [groups[0], groups[1], groups[3], groups[2]], numbers)


def _differences(score: str, groups: Sequence[np.ndarray], numbers: str) -> tuple[str, str]:
    """The verdict on the sum of means with signs + and - in turn, by Welch's interval."""
    from scipy import stats

    parts = [group.var(ddof=1) / len(group) for group in groups]
    middle = sum((-1) ** i * group.mean() for i, group in enumerate(groups))
    total = sum(parts)
    below = sum(p**2 / (len(g) - 1) for p, g in zip(parts, groups, strict=True))
    reach = stats.t.ppf((1 + LEVEL) / 2, total**2 / below) * math.sqrt(total) if total else 0.0
    low, high = middle - reach, middle + reach
    return side_of(low, high, 0.0), f"{score} {numbers} [{low:+.3f}, {high:+.3f}]"


def by_other_seeds(
    table: Mapping[str, list[Any]],
    settings: Mapping[str, Any],
    score: str,
    by: Sequence[str] = (),
) -> np.ndarray:
    """For each seed, the score at the setting that is best on average over the other seeds.

    A setting that is chosen for its score and judged by the same runs looks better than it is, and
    the more so, the more settings there were to choose from.

    Args:
        table: All runs.
        settings: Of those to choose from.
        score: What is reported.
        by: Scores whose mean decides which setting is best; the one that is reported unless given.
    """
    try:
        found = pick(table, settings)
        groups = [c.runs for c in configurations(found, setting_names(found))]
        values = [_by_seed(runs, [score]) for runs in groups]
        merits = [_by_seed(runs, by or [score]) for runs in groups]
    except ConfigError:  # no such run, or no such score
        return np.zeros(0)
    chosen = []
    for seed in dict.fromkeys(seed for one in values for seed in one):
        others = [[merit for s, merit in one.items() if s != seed] for one in merits]
        means = [float(np.mean(merit)) if merit else -math.inf for merit in others]
        best = int(np.argmax(means))
        if others[best] and seed in values[best]:
            chosen.append(values[best][seed])
    return np.array(chosen)


def _by_seed(runs: Columns, scores: Sequence[str]) -> dict[Any, float]:
    """The mean of some scores of each run that has them all."""
    samples = [sample(runs, score) for score in scores]
    each = [dict(zip(one.seeds, one.values, strict=True)) for one in samples]
    seeds = [seed for seed in each[0] if all(seed in one for one in each)]
    return {seed: float(np.mean([one[seed] for one in each])) for seed in seeds}
