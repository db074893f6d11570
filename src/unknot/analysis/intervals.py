"""Intervals of the mean and the median over seeds, and how often they hold the truth.

The interval of the mean is Student's. It holds the truth as often as it says where scores over
seeds are about normal, for any number of seeds. Where they are skewed or fall into two groups, few
seeds hide that, and any interval of the mean is too short: `COVERAGE` says by how much.

Where a score has bounds, so has its mean, and an interval is cut off there. What is cut off cannot
hold the true mean, so `COVERAGE` stays as it is.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

FEW = 5
"""From fewer seeds than this nothing is concluded about others: no interval, no probability."""
SPARSE = 10
"""From fewer seeds than this each value is shown beside the interval, and nothing is concluded by
resampling seeds: that would be too confident."""
NAN = float("nan")
LEVEL = 0.95
Bounds: TypeAlias = tuple[int | float | None, int | float | None]
"""The smallest and the largest value that a score can have; None where there is no such."""
NO_BOUNDS: Bounds = (None, None)
COVERAGE: dict[str, dict[int, float]] = {
    "normal": {5: 0.95, 10: 0.95, 50: 0.95},
    "skewed": {5: 0.82, 10: 0.84, 50: 0.90},
    "bimodal": {5: 0.66, 10: 0.88, 50: 0.94},
}
"""Share of 95 % intervals that hold the true mean, by the shape of scores and the number of seeds;
simulated by tools/coverage.py."""


def mean_interval(
    values: Float[np.ndarray, " n"], level: float, bounds: Bounds = NO_BOUNDS
) -> tuple[float, float]:
    """Student's interval of the mean; NaN of fewer than `FEW` values, or where all are equal.

    Args:
        values: One for each seed.
        level: Such as 0.95.
        bounds: Of the score; the interval is cut off there.

    Example:
        >>> low, high = mean_interval(np.array([0.1, 0.2, 0.2, 0.3, 0.4]), 0.95)
        >>> round(low, 3), round(high, 3)
        (0.098, 0.382)
    """
    return pooled_interval([values], level, bounds)


def pooled_interval(
    samples: Sequence[Float[np.ndarray, " _"]], level: float, bounds: Bounds = NO_BOUNDS
) -> tuple[float, float]:
    """The interval of the mean of the means of samples; of a single one Student's."""
    from scipy.special import stdtrit

    if min(map(len, samples)) < FEW:
        return NAN, NAN
    error, freedom = standard_error(samples)
    if not error:
        return NAN, NAN
    mean = float(np.mean([values.mean() for values in samples]))
    half = float(stdtrit(freedom, (1 + level) / 2)) * error / len(samples)
    return cut_off(mean - half, mean + half, bounds)


def cut_off(low: float, high: float, bounds: Bounds) -> tuple[float, float]:
    """The part of an interval that lies within the bounds of a score.

    Example:
        >>> cut_off(0.92, 1.02, (0, 1)), cut_off(-0.1, 1.02, (None, None))
        ((0.92, 1.0), (-0.1, 1.02))
    """
    least, most = bounds
    low = low if least is None or not low < least else float(least)
    return low, high if most is None or not high > most else float(most)


def kept_bounds(values: Float[np.ndarray, " n"], bounds: Bounds) -> Bounds:
    """Bounds without those that some value lies beyond, as in a table with scores in per cent.

    Example:
        >>> kept_bounds(np.array([0.2, 31.0]), (0, 1))
        (0, None)
    """
    least, most = bounds
    return (
        None if least is None or (values < least).any() else least,
        None if most is None or (values > most).any() else most,
    )


def standard_error(samples: Sequence[Float[np.ndarray, " _"]]) -> tuple[float, float]:
    """Of a sum or difference of the means of samples, and its degrees of freedom (Welch's)."""
    variances = [float(v.var(ddof=1)) / len(v) if np.ptp(v) else 0.0 for v in samples]
    parts = [s**2 / (len(v) - 1) for s, v in zip(variances, samples, strict=True) if s]
    return sum(variances) ** 0.5, sum(variances) ** 2 / sum(parts) if parts else NAN


def welch_probability(first: Float[np.ndarray, " n"], second: Float[np.ndarray, " m"]) -> float:
    """One minus the p-value of Welch's t-test that the first mean is higher.

    Example:
        >>> round(welch_probability(np.array([2.0, 3, 4, 5, 6]), np.array([1.0, 2, 2, 3, 2])), 4)
        0.9776
    """
    from scipy.special import stdtr

    error, freedom = standard_error([first, second])
    return float(stdtr(freedom, (first.mean() - second.mean()) / error))


def median_interval(values: Float[np.ndarray, " n"], level: float) -> tuple[float, float]:
    """Two of the values between which the median lies at this level, whatever their distribution.

    As many values are below the median as heads in tosses of a coin, so that the places of the two
    are quantiles of a binomial. NaN where values are too few for the level, and of fewer than
    `FEW`.

    Example:
        >>> median_interval(np.arange(1.0, 11.0), 0.95)
        (2.0, 9.0)
        >>> median_interval(np.arange(5.0), 0.95)
        (nan, nan)
    """
    from scipy.special import bdtr

    n = len(values)
    left_out = [k for k in range(n // 2) if 2 * bdtr(k, n, 0.5) <= 1 - level]
    if n < FEW or not left_out:
        return NAN, NAN
    ordered = np.sort(values)
    return float(ordered[left_out[-1]]), float(ordered[n - 1 - left_out[-1]])


def describe_coverage(n: int, level: float) -> str:
    """What an interval of the mean of n seeds assumes, and how often it holds the truth.

    Example:
        >>> print(describe_coverage(7, 0.95)[:78])
        Intervals are Student's and assume about normal scores over seeds; they are cu
    """
    text = (
        "Intervals are Student's and assume about normal scores over seeds; they are cut off at "
        "the bounds of the score."
    )
    if level != LEVEL:
        return text
    counts = [count for count in COVERAGE["normal"] if count <= n]
    shares = ", ".join(f"{by_n[counts[-1]]:.0%} ({shape})" for shape, by_n in COVERAGE.items())
    return f"{text} Simulated with {counts[-1]} seeds, {shares} of them hold the true mean."
