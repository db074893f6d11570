"""Whether our runs replicate published ones, by statistics that can come out against us.

That most values lie within three standard errors says little where a configuration has few seeds:
means that are all off by a whole standard deviation would mostly do so too. So every statistic
stands beside the same statistic of runs that do replicate, seeds drawn from the published runs
themselves, and of runs that do not, ours against the published neighbours of their configurations.
"""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from unknot.analysis.comparison import FAR, Comparison
from unknot.analysis.statistics import Summary, bootstrap_indices
from unknot.core.errors import DataError

MARGIN = 0.5
"""Standard deviations of a seed within which two means count as equal."""
ONE_SIDED, TWO_SIDED, POWER = 1.645, 1.960, 0.842
"""Normal quantiles: of 5 % on one side, of 5 % on both, and of 80 %."""
SURE = 1.881
"""Normal quantile of 97 %: how sure published runs must be of an order."""
DRAWS = 200
"""How often seeds are drawn from the published runs."""
LOSSES = ("recon", "kl", "elbo", "loss")


@dataclass(frozen=True, eq=False)
class Runs:
    """Values by configuration, seed and score; NaN where there is none."""

    values: Float[np.ndarray, "c k s"]

    @cached_property
    def n(self) -> Int[np.ndarray, "c s"]:
        """Runs that have the score."""
        n: np.ndarray = (~np.isnan(self.values)).sum(1)
        return n

    @cached_property
    def mean(self) -> Float[np.ndarray, "c s"]:
        """NaN where no run has the score."""
        return np.where(self.n > 0, np.nansum(self.values, 1) / np.maximum(self.n, 1), np.nan)

    @cached_property
    def variance(self) -> Float[np.ndarray, "c s"]:
        """NaN where fewer than two runs have the score."""
        squares = np.nansum((self.values - self.mean[:, None]) ** 2, 1)
        return np.where(self.n > 1, squares / np.maximum(self.n - 1, 1), np.nan)

    def shared(self, score: int) -> Int[np.ndarray, "c c"]:
        """How many seeds two configurations share."""
        there = (~np.isnan(self.values[:, :, score])).astype(np.int64)
        n: np.ndarray = there @ there.T
        return n

    def covariance(self, score: int) -> Float[np.ndarray, "c c"]:
        """Of configurations over the seeds that they share; 0 where these are fewer than two."""
        apart = np.nan_to_num(self.values[:, :, score] - self.mean[:, None, score])
        n = self.shared(score)
        return np.where(n > 1, apart @ apart.T / np.maximum(n - 1, 1), 0.0)

    def moved(self, shift: Float[np.ndarray, "c s"]) -> "Runs":
        """With something added to all runs of a configuration."""
        return Runs(self.values + shift[:, None])


@dataclass(frozen=True)
class Count:
    """How many of some agree: ours, runs that replicate for sure, and runs that do not."""

    name: str
    ours: int
    total: int
    same: tuple[float, float, float] | None
    """Mean, 5 % and 95 % quantile over seeds drawn from the published runs; None without enough."""
    wrong: int | None
    """Ours against the published neighbours of each configuration; None where there are none."""


@dataclass(frozen=True)
class Pooled:
    """The difference of one score over all configurations, in standard deviations of a seed."""

    score: str
    difference: float
    error: float
    unit: float
    """The standard deviation of a seed, of the published runs."""
    cells: int

    @property
    def interval(self) -> tuple[float, float]:
        """90 %, whose ends decide the test of equivalence at 5 %."""
        return self.difference - ONE_SIDED * self.error, self.difference + ONE_SIDED * self.error

    @property
    def equal(self) -> bool:
        """Whether it is shown that the difference is less than half a standard deviation."""
        low, high = self.interval
        return low > -MARGIN and high < MARGIN

    @property
    def differs(self) -> bool:
        """Whether it is more than chance would explain, at 5 %."""
        return abs(self.difference) > TWO_SIDED * self.error

    @property
    def visible(self) -> float:
        """The difference that would have been found in four of five such comparisons."""
        return (TWO_SIDED + POWER) * self.error

    @property
    def verdict(self) -> str:
        """In words."""
        if self.equal:
            return "equal, though not by chance alone" if self.differs else "equal"
        return "differs" if self.differs else "undecided"


@dataclass(frozen=True)
class Replication:
    """Counts with their controls, and the pooled difference of each score."""

    counts: tuple[Count, ...]
    pooled: tuple[Pooled, ...]
    shifted: Mapping[float, float]
    """Share of values within three standard errors if all means were off by so many deviations."""


def replicate(
    comparison: Comparison,
    *,
    row_variance: Mapping[str, float] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> Replication:
    r"""Test whether the compared runs replicate the published ones.

    With $m_c, m'_c$ the means of configuration $c$, ours and published, $K$ the covariance of
    published configurations over seeds, and $s^2$ its mean variance, the pooled difference of a
    score is
    $$d = \frac1{s C} \sum_c (m_c - m'_c), \quad \sigma_d^2 = \frac1{s^2 C^2} \sum_{c, e} K_{ce}
      \Big(\frac{n_{ce}}{n_c n_e} + \frac{n'_{ce}}{n'_c n'_e}\Big)$$
    with $n_{ce}$ seeds that two configurations share: a seed that is low in one is low in most. The
    means count as equal where the 90 % interval lies within half a standard deviation (two
    one-sided tests, Schuirmann 1987).

    Args:
        comparison: From `compare`; it holds the values of all runs.
        row_variance: By score, the variance of one model's score over samples of rows. Runs
            that were all scored on one sample share its error, which seeds do not show.
        draws: How often seeds are drawn from the published runs.
        seed: Of these draws.

    Raises:
        DataError: No configuration has published values with a spread.
    """
    scores, lines, ours, theirs = _sides(comparison)
    if not np.nan_to_num(theirs.variance).any():
        raise DataError("No published configuration has two runs that differ: nothing to test by.")
    variance = row_variance or {}
    row_variances = np.array([variance.get(name, 0.0) for name in scores])
    losses = np.array([name in LOSSES for name in scores])
    neighbors = _neighbors(lines)
    counted = _counts(ours, theirs, losses, row_variances)
    wrong = None
    if neighbors is not None:
        wrong = _counts(ours, Runs(theirs.values[neighbors]), losses, row_variances)
    again = [_counts(*pair, losses, row_variances) for pair in _redraw(ours, theirs, draws, seed)]
    counts = [
        Count(
            name,
            number,
            total,
            _summary([total * _share(*other[name]) for other in again]),
            None if wrong is None else wrong[name][0],
        )
        for name, (number, total) in counted.items()
        if total
    ]
    pooled = _pool(scores, ours, theirs, row_variances)
    shifted = {shift: _share_within_after_shift(ours, theirs, shift) for shift in (0.25, 0.5, 1.0)}
    return Replication(tuple(counts), pooled, shifted)


def _sides(
    comparison: Comparison,
) -> tuple[list[str], list[tuple[str, str]], Runs, Runs]:
    """Scores, which objective each configuration is of, our runs and the published ones."""
    scores = list(dict.fromkeys(d.ours.score for d in comparison.differences))
    places = {
        (d.published.data, d.published.objective, d.published.label): None
        for d in comparison.differences
    }
    cells = {place: i for i, place in enumerate(places)}
    ours: list[tuple[int, int, Summary]] = []
    theirs: list[tuple[int, int, Summary]] = []
    for d in comparison.differences:
        cell = cells[d.published.data, d.published.objective, d.published.label]
        score = scores.index(d.ours.score)
        ours.append((cell, score, d.ours))
        theirs.append((cell, score, d.published))
    shape = len(cells), len(scores)
    return scores, [place[:2] for place in cells], _runs(ours, shape), _runs(theirs, shape)


def _runs(summaries: Sequence[tuple[int, int, Summary]], shape: tuple[int, int]) -> Runs:
    """Runs side by side by their seeds; one without a seed shares it with no other."""
    named: dict[Hashable, int] = {}
    places: list[tuple[int, int, int, float]] = []
    for cell, score, summary in summaries:
        seeds = summary.seeds or (None,) * summary.n
        for i, (seed, value) in enumerate(zip(seeds, summary.values, strict=True)):
            key = ("no seed", cell, i) if seed is None else seed
            places.append((cell, named.setdefault(key, len(named)), score, value))
    values = np.full((shape[0], max(1, len(named)), shape[1]), np.nan)
    for cell, k, score, value in places:
        values[cell, k, score] = value
    return Runs(values)


def _neighbors(lines: Sequence[tuple[str, str]]) -> list[int] | None:
    """For each configuration the next one of its objective, the last one's being that before it."""
    places = []
    for i, line in enumerate(lines):
        others = [j for j, other in enumerate(lines) if other == line and j != i]
        if not others:
            return None
        places.append(next((j for j in others if j > i), others[-1]))
    return places


def _redraw(ours: Runs, theirs: Runs, draws: int, seed: int) -> Iterator[tuple[Runs, Runs]]:
    """As many published seeds as we have, against the rest; configurations share them as ours do.

    None where a configuration has fewer than twice as many published runs.
    """
    there = ~np.isnan(theirs.values).all(-1)
    wanted = (~np.isnan(ours.values).all(-1)).sum(1)
    if (there.sum(1) < 2 * wanted).any():
        return
    orders = bootstrap_indices(seed, "replication", draws, there.shape[1], high=2**62).argsort(1)
    for order in orders:
        values, present = theirs.values[:, order], there[:, order]
        first = (present & (present.cumsum(1) <= wanted[:, None]))[:, :, None]
        yield Runs(np.where(first, values, np.nan)), Runs(np.where(first, np.nan, values))


def _share(number: int, total: int) -> float:
    return number / total if total else 0.0


def _summary(values: Sequence[float]) -> tuple[float, float, float] | None:
    if not values:
        return None
    low, high = np.quantile(values, (0.05, 0.95)).tolist()
    return float(np.mean(values)), low, high


def _counts(
    ours: Runs,
    theirs: Runs,
    losses: Bool[np.ndarray, " s"],
    row_variances: Float[np.ndarray, " s"],
) -> dict[str, tuple[int, int]]:
    """How many agree of how many, by the name of the statistic."""
    z = _z(ours, theirs)
    z = z[~np.isnan(z)]
    pooled = _pool([""] * len(losses), ours, theirs, row_variances)
    return {
        "values within three standard errors": (int((np.abs(z) <= FAR).sum()), len(z)),
        "configurations nearest to their own": _nearest(ours, theirs, np.ones_like(losses)),
        "the same, by scores without losses": _nearest(ours, theirs, ~losses),
        "pairs ordered as published": _ordered(ours, theirs),
        "scores equal within half a deviation": (
            sum(bool(score.equal) for score in pooled),
            len(pooled),
        ),
    }


def _z(ours: Runs, theirs: Runs) -> Float[np.ndarray, "c s"]:
    """Differences in standard errors, by one spread for both; see `Difference.z`."""
    squares = sum(
        np.where(side.n > 1, np.nan_to_num(side.variance) * (side.n - 1), 0.0)
        for side in (ours, theirs)
    )
    with np.errstate(all="ignore"):
        spread = squares / (ours.n + theirs.n - 2) * (1 / ours.n + 1 / theirs.n)
        z = (ours.mean - theirs.mean) / np.sqrt(spread)
    return np.where(np.isfinite(z), z, np.nan)


def _nearest(ours: Runs, theirs: Runs, scores: Bool[np.ndarray, " s"]) -> tuple[int, int]:
    """How many configurations are nearest to their own, in units of the spread over seeds."""
    with np.errstate(all="ignore"):
        unit = np.sqrt(np.nanmean(theirs.variance, axis=0))
    usable = scores & (np.nan_to_num(unit) > 0)
    if not usable.any():
        return 0, 0
    apart = (ours.mean[:, None, usable] - theirs.mean[None, :, usable]) / unit[usable]
    nearest = np.nansum(apart**2, axis=-1).argmin(1)
    return int((nearest == np.arange(len(nearest))).sum()), len(nearest)


def _ordered(ours: Runs, theirs: Runs) -> tuple[int, int]:
    """Pairs that as many published runs as we have would order alike in 97 of 100, and ours do."""
    alike = pairs = 0
    for k in range(ours.mean.shape[1]):
        with np.errstate(all="ignore"):
            error = theirs.variance[:, k] / ours.n[:, k]
            published = theirs.mean[:, None, k] - theirs.mean[None, :, k]
            sure = published / np.sqrt(error[:, None] + error[None, :]) > SURE
        pairs += int(sure.sum())
        alike += int((sure & (ours.mean[:, None, k] > ours.mean[None, :, k])).sum())
    return alike, pairs


def _pool(
    scores: Sequence[str], ours: Runs, theirs: Runs, row_variances: Float[np.ndarray, " s"]
) -> tuple[Pooled, ...]:
    pooled = []
    for k, score in enumerate(scores):
        usable = (theirs.n[:, k] > 1) & (ours.n[:, k] > 0)
        cells, variance = int(usable.sum()), theirs.variance[usable, k]
        if not cells or not variance.any():
            continue
        difference = float((ours.mean[usable, k] - theirs.mean[usable, k]).mean())
        block = np.ix_(usable, usable)
        weight = sum(
            side.shared(k)[block] / np.outer(side.n[usable, k], side.n[usable, k])
            for side in (ours, theirs)
        )
        joint = theirs.covariance(k)[block] * weight
        # Seeds of few runs may seem to balance each other; they are never taken to.
        seeds = max(joint.sum(), joint.trace()) / cells**2
        error, unit = math.sqrt(seeds + 2 * row_variances[k]), math.sqrt(variance.mean())
        pooled.append(Pooled(score, difference / unit, error / unit, unit, cells))
    return tuple(pooled)


def _share_within_after_shift(ours: Runs, theirs: Runs, shift: float) -> float:
    """Share of values within three standard errors after a shift of all means, up or down."""
    sd = np.sqrt(theirs.variance)
    z = np.stack([_z(ours.moved(sign * shift * sd), theirs) for sign in (1, -1)])
    return float((np.abs(z[~np.isnan(z)]) <= FAR).mean())
