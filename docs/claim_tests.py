"""Tests of claims about means: each takes a table of runs and what a claim names.

It gives a verdict, and in numbers why.

`docs/results/claims.toml` says what each kind takes. A test that lacks runs says "not run". Where
the runs of a document come from several pieces, a test takes those of its main ones unless its
settings name a `piece`.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from tuned_claims import FEWEST, LEVEL, SIDES, side_of

from unknot.analysis.configurations import Columns, pick, sample
from unknot.analysis.plain_table import keep
from unknot.analysis.replication import MARGIN, ONE_SIDED, Pooled
from unknot.core.errors import ConfigError

MAIN = "main"
"""Column that marks the runs of a document's own settings."""

Answer = tuple[str, str]
NOT_RUN: Answer = "not run", ""
Settings = Mapping[str, Any]


def select(table: Columns, settings: Settings) -> Columns:
    """The runs of certain settings; of the main pieces, if no piece is named.

    A list of values takes the runs of each.

    Raises:
        ConfigError: There is no such setting, or no such run.
    """
    rows = len(next(iter(table.values())))
    if MAIN in table and "piece" not in settings:
        table = keep(table, [bool(main) for main in table[MAIN]])
    for name in (n for n, value in settings.items() if isinstance(value, list)):
        if name not in table:
            raise ConfigError(f"The table of {rows} runs has no setting '{name}'.")
        table = keep(table, [value in settings[name] for value in table[name]])
    single = {name: value for name, value in settings.items() if not isinstance(value, list)}
    return pick(table, single)


def values_of(table: Columns, settings: Settings, score: str) -> np.ndarray:
    """A score of some runs; none where there are no such runs, or no such score."""
    try:
        values: np.ndarray = sample(select(table, settings), score).values
    except ConfigError:
        return np.zeros(0)
    return values


def _two(table: Columns, test: Settings) -> tuple[np.ndarray, np.ndarray]:
    more, less = (values_of(table, test[side], test["score"]) for side in SIDES)
    return more, less


def welch(more: np.ndarray, less: np.ndarray) -> tuple[float, float]:
    """The interval of a difference of two means that each have their own spread."""
    difference = float(more.mean() - less.mean())
    parts = [float(values.var(ddof=1)) / len(values) for values in (more, less)]
    squares = sum(p**2 / (len(v) - 1) for p, v in zip(parts, (more, less), strict=True))
    if not squares:  # the difference is what it is
        return difference, difference
    half = _student(sum(parts) ** 2 / squares) * math.sqrt(sum(parts))
    return difference - half, difference + half


def _student(freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def _spread(*sides: np.ndarray) -> float:
    """Standard deviation of a seed, by all sides together."""
    squares = sum((len(values) - 1) * values.var(ddof=1) for values in sides)
    return math.sqrt(squares / sum(len(values) - 1 for values in sides))


def higher(table: Columns, test: Settings) -> Answer:
    """Whether one mean lies above another, by Welch's interval."""
    more, less = _two(table, test)
    if min(len(more), len(less)) < FEWEST:
        return NOT_RUN
    low, high = welch(more, less)
    reason = f"{test['score']} {more.mean():.3g} > {less.mean():.3g} [{low:+.3f}, {high:+.3f}]"
    return side_of(low, high, 0.0), reason


def not_higher(table: Columns, test: Settings) -> Answer:
    """Whether one mean lies above another by less than half a standard deviation of a seed.

    It fails where it does lie above it.
    """
    more, less = _two(table, test)
    if min(len(more), len(less)) < FEWEST:
        return NOT_RUN
    low, high = welch(more, less)
    unit = _spread(more, less) or 1.0
    reason = (
        f"{test['score']} {more.mean():.3g} and {less.mean():.3g} "
        f"[{low / unit:+.1f}, {high / unit:+.1f}] sd"
    )
    return ("fails" if low > 0 else "holds" if high < MARGIN * unit else "undecided"), reason


def alike(table: Columns, test: Settings) -> Answer:
    """Whether two means differ by less than half a standard deviation of a seed."""
    more, less = _two(table, test)
    if min(len(more), len(less)) < FEWEST:
        return NOT_RUN
    unit = _spread(more, less)
    if unit == 0:
        return ("holds" if more.mean() == less.mean() else "fails"), ""
    return _equal(test["score"], more, less.mean(), len(less), unit)


def published(table: Columns, test: Settings) -> Answer:
    """Whether a mean equals a published one within half its standard deviation."""
    ours = values_of(table, test["runs_with"], test["score"])
    if len(ours) < FEWEST:
        return NOT_RUN
    return _equal(test["score"], ours, test["mean"], test["n"], test["sd"])


def _equal(score: str, ours: np.ndarray, mean: float, n: int, sd: float) -> Answer:
    error = math.sqrt(1 / len(ours) + 1 / n)
    pooled = Pooled(score, float(ours.mean() - mean) / sd, error, sd, 1)
    low, high = pooled.interval
    reason = f"{score} {ours.mean():.3f} and {mean:.3f} [{low:+.1f}, {high:+.1f}] sd"
    if pooled.equal or pooled.differs:
        return ("holds" if pooled.equal else "fails"), reason
    return "undecided", f"{reason}, {pooled.visible:.1f} sd would show"


def limits(claim: Settings) -> str:
    """What comparisons with printed means cannot show, however many runs of ours there are.

    The printed mean has an error of its own: 90 % of it is 1.645 sd / √n, which is more than half
    an sd where n is below 11.
    """
    counts = {test["n"] for test in claim.get("published", ())}
    few = [n for n in sorted(counts) if ONE_SIDED / math.sqrt(n) >= MARGIN]
    return "; ".join(
        f"{n} printed runs cannot show that means are equal; with {n} of ours, a difference of "
        f"{Pooled('', 0.0, math.sqrt(2 / n), 1.0, 1).visible:.1f} sd would show"
        for n in few
    )


def above(table: Columns, test: Settings) -> Answer:
    """Whether a mean lies above a number."""
    return _limit(table, test, 1.0)


def below(table: Columns, test: Settings) -> Answer:
    """Whether a mean lies below a number."""
    return _limit(table, test, -1.0)


def _limit(table: Columns, test: Settings, sign: float) -> Answer:
    values = values_of(table, test["runs_with"], test["score"])
    if len(values) < FEWEST:
        return NOT_RUN
    half = _student(len(values) - 1) * float(values.std(ddof=1)) / math.sqrt(len(values))
    low, high = float(values.mean()) - half, float(values.mean()) + half
    ends = sorted((sign * (low - test["number"]), sign * (high - test["number"])))
    return side_of(*ends, 0.0), f"{test['score']} {values.mean():.3g} [{low:.3g}, {high:.3g}]"


def ratio(table: Columns, test: Settings) -> Answer:
    """Whether one mean is less than so many times another, by Welch's interval of logarithms."""
    more, less = _two(table, test)
    if min(len(more), len(less)) < FEWEST or min(more.min(), less.min()) <= 0:
        return NOT_RUN
    low, high = (math.exp(end) for end in welch(np.log(more), np.log(less)))
    reason = f"{test['score']} {more.mean():.3g} / {less.mean():.3g} [{low:.2f}, {high:.2f}]"
    return side_of(-high, -low, -test["number"]), reason


def wider(table: Columns, test: Settings) -> Answer:
    """Whether seeds differ more on one side, by the F test at 5 % on either side."""
    from scipy import stats

    more, less = _two(table, test)
    if min(len(more), len(less)) <= FEWEST:
        return NOT_RUN
    both = float(more.var(ddof=1)), float(less.var(ddof=1))
    if not all(both):
        return "undecided", f"{test['score']}: a side has no spread"
    above_ = stats.f.sf(both[0] / both[1], len(more) - 1, len(less) - 1)
    reason = f"sd of {test['score']} {both[0] ** 0.5:.3g} and {both[1] ** 0.5:.3g}"
    return ("holds" if above_ < 0.05 else "fails" if above_ > 0.95 else "undecided"), reason
