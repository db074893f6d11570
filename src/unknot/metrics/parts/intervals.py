"""Intervals of scores, from halves of the rows."""

from collections.abc import Callable
from typing import Any

import torch

from unknot.core.errors import ConfigError
from unknot.core.text import shown

MOST_RESAMPLES, FEWEST_RESAMPLES = 200, 50
SECONDS = 20.0
"""CPU seconds that an interval may take, roughly, before it gets fewer half-samples."""


def resamples(cost: float | None) -> int:
    """How many half-samples an interval takes: fewer where a metric takes seconds."""
    return round(min(MOST_RESAMPLES, max(FEWEST_RESAMPLES, SECONDS / (cost or 0.01))))


def check_level(level: Any) -> None:
    """Refuse what is no level of an interval.

    Raises:
        ConfigError: It is none.
    """
    if level is not None and (not isinstance(level, float | int) or not 0 < level < 1):
        raise ConfigError(f"interval is a level between 0 and 1, such as 0.95; got {shown(level)}.")


def half_sample_interval(
    again: Callable[[int], float],
    value: float,
    level: float,
    count: int,
    bounds: tuple[int | float | None, int | float | None] = (None, None),
) -> tuple[float, float]:
    r"""Quantiles of the score over half-samples, moved to be centred on the value, which they hold.

    Rows drawn twice, as in a bootstrap, raise information; half of the rows without replacement do
    not. Given $n$ rows, the mean of a half-sample varies by $\sigma^2 (2 / n - 1 / n)$, just as the
    mean of all rows does, so that the spread needs no factor. A half has more bias than all rows,
    which the centring takes away.

    Args:
        again: The score of the half-sample of a number.
        value: The score of all rows.
        level: Such as 0.95.
        count: How many half-samples.
        bounds: Smallest and largest value of the metric; the interval is cut off there, but holds
            the value in any case.
    """
    spread = torch.tensor([again(step) for step in range(count)], dtype=torch.float64)
    tails = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=torch.float64)
    low, high = (value + (spread - spread.mean()).quantile(tails)).tolist()
    least, most = bounds
    low = low if least is None else max(low, float(least))
    high = high if most is None else min(high, float(most))
    return min(low, value), max(high, value)  # where few halves differ, both ends may lie beside it
