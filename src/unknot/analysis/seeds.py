"""How many seeds a comparison needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import FEW, SPARSE
from unknot.analysis.statistics import bootstrap_indices, tails
from unknot.core.errors import ConfigError, DataError
from unknot.core.text import shown
from unknot.core.typed import typed

SEED_COUNTS = (1, 3, 5, 10)
"""Numbers of seeds that tables of pairs have."""
PAIR_DRAWS = 2_000
MOST_MEANS = 100_000_000
"""Of resampled seeds that are held at once."""


@dataclass(frozen=True, repr=False, eq=False)
class SeedCount:
    """What n seeds of each of two configurations show; entry 0 of a list is for one seed."""

    difference: float
    """Mean of the first configuration minus that of the second, over all given seeds."""
    probability: list[float]
    """That means of n seeds are in the order of the given ones; ties count half."""
    half_width: list[float]
    """Half the width of the interval in which the difference of means of n seeds falls."""
    needed: int | None
    """The fewest seeds from which on that probability is at least the level, if any."""
    level: float
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        enough = f"more than {len(self.probability)}" if self.needed is None else str(self.needed)
        text = f"difference {self.difference:+.4f}: {enough} seeds for {100 * self.level:.0f} %"
        return "; ".join([text, *self.remarks])


@typed("level", "most", "draws", "seed")
def seeds_needed(
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float = 0.95,
    most: int = 50,
    draws: int = 10_000,
    seed: int = 0,
) -> SeedCount:
    """How many seeds show which of two configurations scores higher.

    Bootstrap: n seeds of each are drawn with replacement from the given ones, and their means
    compared, for n up to ``most``. What the given seeds show is taken for the truth, so that
    few of them make the answer a guess: a pilot of ten or more is worth its time.

    Args:
        first: Scores of one configuration, one for each seed.
        second: Scores of the other.
        level: Wanted probability of the right order, and level of the interval.
        most: Largest number of seeds to look at.
        draws: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        ConfigError: The level is not between 0.5 and 1, or a number is below 1.
        DataError: A configuration has fewer than two scores, or one that is not finite.

    Example:
        >>> seeds_needed([0.26, 0.31, 0.05, 0.35, 0.30] * 2, [0.07, 0.11, 0.03, 0.08, 0.09] * 2)
        difference +0.1780: 2 seeds for 95 %
    """
    if not 0.5 < level < 1:
        raise ConfigError(f"level is a probability between 0.5 and 1, such as 0.95; got {level}.")
    if most * draws > MOST_MEANS:
        raise ConfigError(
            f"most times draws is at most {MOST_MEANS:,}; got {shown(most)} and {shown(draws)}."
        )
    if min(most, draws) < 1:
        raise ConfigError(f"most and draws are at least 1; got {most} and {draws}.")
    a, b = _scores(first, "first"), _scores(second, "second")
    apart = _means(a, most, draws, seed, "first") - _means(b, most, draws, seed, "second")
    difference = float(a.mean() - b.mean())
    # Rounding must not decide between equal means.
    near = 1e-12 * max(float(np.abs(a).max()), float(np.abs(b).max()), 1e-300)
    probability = np.where(np.abs(apart) <= near, 0.5, apart * difference > 0).mean(0)
    low, high = np.quantile(apart, tails(level), axis=0)
    short = np.flatnonzero(probability < level).tolist()
    needed = short[-1] + 2 if short else 1
    remarks = []
    if abs(difference) <= near:
        remarks.append("the means are equal: no number of seeds shows an order")
    if (few := min(len(a), len(b))) < SPARSE:
        remarks.append(f"a guess: {few} seeds say little about the spread over seeds")
    return SeedCount(
        difference,
        probability.tolist(),
        ((high - low) / 2).tolist(),
        needed if needed <= most else None,
        level,
        tuple(remarks),
    )


def _scores(values: ArrayLike, name: str) -> Float[np.ndarray, " n"]:
    try:
        scores = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must be scores, one for each seed; got {shown(values)}."
        ) from error
    if len(scores) < 2 or not np.isfinite(scores).all():
        raise DataError(
            f"The {name} configuration needs finite scores of at least two seeds; "
            f"got {scores.tolist()[:5]}. Leave diverged models out."
        )
    return scores


def _means(
    scores: Float[np.ndarray, " n"], most: int, draws: int, seed: int, name: str
) -> Float[np.ndarray, "draws most"]:
    """Means of the first 1, 2, ... of the seeds drawn."""
    index = bootstrap_indices(seed, f"metric/seeds/{name}", draws, most, high=len(scores))
    means: np.ndarray = scores[index].cumsum(1) / np.arange(1, most + 1)
    return means


def contrasts(
    configurations: Sequence[Configuration], score: str, sign: float
) -> list[tuple[Configuration, Configuration]]:
    """Pairs of configurations that people ask about, the better first.

    Of each objective its best and its weakest; then the best of each objective and the next best
    objective's. Configurations of fewer than `FEW` seeds are in none.
    """

    def value(configuration: Configuration) -> float:
        return sign * float(np.mean(configuration.sample(score).values))

    by_objective: dict[str, list[Configuration]] = {}
    for configuration in configurations:
        if len(configuration.sample(score).values) >= FEW:
            by_objective.setdefault(configuration.objective, []).append(configuration)
    tops = [max(group, key=value) for group in by_objective.values()]
    inside = [
        (top, min(group, key=value))
        for top, group in zip(tops, by_objective.values(), strict=True)
        if len(group) > 1
    ]
    order = sorted(tops, key=lambda configuration: -value(configuration))
    return [*inside, *pairwise(order)]


def every_pair(
    configurations: Sequence[Configuration],
    score: str,
    sign: float,
    *,
    seed_counts: Sequence[int] = SEED_COUNTS,
    draws: int = PAIR_DRAWS,
) -> list[dict[str, Any]]:
    """A row for each two configurations with `FEW` runs or more, the better first.

    The same numbers as `seeds_needed` gives, which resamples for each pair.
    """
    several = [c for c in configurations if len(c.sample(score).values) >= FEW]
    several.sort(
        key=lambda configuration: -sign * float(np.mean(configuration.sample(score).values))
    )
    values = [c.sample(score).values for c in several]
    first, second = (
        [_means(scores, max(seed_counts), draws, 0, side) for scores in values]
        for side in ("first", "second")
    )
    means = [float(scores.mean()) for scores in values]
    columns = [n - 1 for n in seed_counts]
    rows = []
    for i, j in combinations(range(len(several)), 2):
        apart = sign * (first[i] - second[j])[:, columns]
        near = 1e-12 * max(float(np.abs(first[i]).max()), 1e-300)
        chance = np.where(np.abs(apart) <= near, 0.5, apart > 0).mean(0)
        rows.append(
            {
                "score": score,
                "better": several[i].label,
                "worse": several[j].label,
                "difference": means[i] - means[j],
                **{f"n={n}": float(p) for n, p in zip(seed_counts, chance, strict=True)},
            }
        )
    return rows
