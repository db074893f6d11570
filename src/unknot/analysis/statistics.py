"""Each score in numbers: summaries, what other seeds could have given, and shares of variance."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import NAN, NO_BOUNDS, Bounds, mean_interval, median_interval
from unknot.analysis.plain_table import PlainTable, columns, labels, numbers
from unknot.core.errors import ConfigError, DataError
from unknot.core.philox import WORD, philox, stream_number
from unknot.core.typed import typed

DRAWS = 2_000
NUMBERS = (
    "mean", "median", "sd", "q1", "q3", "low", "high",
    "mean_low", "mean_high", "median_low", "median_high",
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """One score of one configuration, of the ``n`` runs that have it; NaN where none does."""

    data: str
    objective: str
    swept_value: float | str
    axis: str
    score: str
    runs: int
    n: int
    diverged: int
    undefined: int
    """Finished but have no number."""
    unfinished: int
    """Failed, or not yet there."""
    mean: float
    median: float
    sd: float
    """With n - 1, so that it takes two runs."""
    q1: float
    q3: float
    low: float
    high: float
    mean_low: float
    mean_high: float
    median_low: float
    median_high: float
    settings: dict[str, Any]
    values: tuple[float, ...]
    """Of the ``n`` runs."""
    seeds: tuple[Any, ...] = ()
    """Of the same runs; None where nobody says."""

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.sd / self.n**0.5 if self.n else NAN

    @property
    def label(self) -> str:
        """Objective and swept value, for people."""
        return Configuration(self.objective, self.swept_value, self.axis, {}, {}).label

    @property
    def missing(self) -> str:
        """What is not in the numbers, in words; empty where nothing is missing."""
        counts = ("diverged", "undefined", "unfinished")
        return ", ".join(f"{getattr(self, c)} {c}" for c in counts if getattr(self, c))

    def row(self) -> dict[str, Any]:
        """As plain values of one line of a table; settings are columns of their own."""
        flat = asdict(self)
        del flat["values"], flat["seeds"]
        return {**flat.pop("settings"), **flat}


def bootstrap_indices(
    seed: int, stream: str, draws: int, n: int, *, high: int
) -> Int[np.ndarray, "draws n"]:
    """Uniform integers in ``0 .. high - 1``, as ``noise.integers`` gives at step 0; no PyTorch.

    Example:
        >>> bootstrap_indices(0, "study", 2, 3, high=10).tolist()
        [[7, 3, 3], [5, 2, 0]]
    """
    size = draws * n
    block = np.arange(-(-size // 2))
    zero = np.zeros_like(block)
    key = np.full_like(block, seed & WORD), np.full_like(block, (seed >> 32) & WORD)
    name = np.full_like(block, stream_number(stream))
    words = np.stack(philox((zero, block, zero, name), key), axis=-1).reshape(-1)
    keys = words[0::2] | ((words[1::2] & 0x7FFFFFFF) << 32)
    index: np.ndarray = keys[:size].reshape(draws, n) % high
    return index


def resampled(
    configuration: Configuration, scores: Sequence[str], draws: int, seed: int
) -> Iterator[Float[np.ndarray, "draws n"]]:
    """For each score, as many studies of this configuration with seeds drawn from its own.

    Configurations are drawn independently and by their settings, so that others in the table change
    nothing; scores of a configuration are drawn together.
    """
    index: dict[int, np.ndarray] = {}
    for score in scores:
        values = configuration.sample(score).values
        n = len(values)
        if n not in index:
            stream = f"study/bootstrap/{configuration.key}"
            index[n] = (
                bootstrap_indices(seed, stream, draws, n, high=n)
                if n
                else np.zeros((draws, 0), np.int64)
            )
        yield values[index[n]]


def summary(
    configuration: Configuration, score: str, level: float, bounds: Bounds = NO_BOUNDS
) -> Summary:
    """The numbers of one score; the interval of its mean is cut off at the bounds."""
    sample = configuration.sample(score)
    values, n = sample.values, len(sample.values)
    figures = dict.fromkeys(NUMBERS, NAN)
    if n:
        points = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
        figures |= dict(zip(("low", "q1", "median", "q3", "high"), points, strict=True))
        figures["mean"] = float(values.mean())
    if n > 1:
        figures["sd"] = float(values.std(ddof=1))
    figures["mean_low"], figures["mean_high"] = mean_interval(values, level, bounds)
    figures["median_low"], figures["median_high"] = median_interval(values, level)
    return Summary(
        data=configuration.data, objective=configuration.objective,
        swept_value=configuration.swept_value, axis=configuration.axis,
        settings=configuration.settings,
        score=score, runs=sample.runs, n=n, diverged=sample.diverged, undefined=sample.undefined,
        unfinished=sample.unfinished, values=tuple(values.tolist()),
        seeds=sample.seeds,
        **figures,
    )  # fmt: skip


def tails(level: float) -> list[float]:
    """The quantiles between which the middle of a distribution lies."""
    return [(1 - level) / 2, (1 + level) / 2]


def resampled_means(
    configurations: Sequence[Configuration], scores: Sequence[str], draws: int, seed: int
) -> tuple[Float[np.ndarray, "c s"], Float[np.ndarray, "draws c s"]]:
    """Means by score, and those of resampled seeds; NaN where no run has the score."""
    means = np.full((len(configurations), len(scores)), NAN)
    again = np.full((draws, len(configurations), len(scores)), NAN)
    for i, configuration in enumerate(configurations):
        for k, values in enumerate(resampled(configuration, scores, draws, seed)):
            if values.shape[1]:
                means[i, k] = configuration.sample(scores[k]).values.mean()
                again[:, i, k] = values.mean(1)
    return means, again


@dataclass(frozen=True, repr=False, eq=False)
class VarianceShares:
    """Shares of the variance of a score, by what explains it; the last is the rest."""

    score: str
    shares: dict[str, float]
    """Sums of squares as a share of the total, as published studies have them."""
    corrected: dict[str, float]
    """The same without what chance alone would explain; may fall below 0 by chance."""
    groups: dict[str, int]
    """Different values down to each column."""
    n: int
    remarks: tuple[str, ...] = ()

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name} {100 * share:.0f} % ({100 * self.corrected[name]:.0f} %)"
            for name, share in self.shares.items()
        )
        return "; ".join([f"{self.score}: {parts}", *self.remarks])


@typed("score", "by", "rest")
def variance_shares(
    table: PlainTable,
    score: str,
    *,
    by: Sequence[str] = ("objective", "swept_value"),
    rest: str = "seed",
) -> VarianceShares:
    r"""Share of a score's variance due to objective, swept value given objective, and seed.

    With groups of models that agree in the first $i$ columns of ``by``, and $B_i$ the sum of
    squares between their means, column $i$ explains $(B_i - B_{i-1}) / T$ of the total $T$, and
    what is left within the last groups is the rest. This is $\eta^2$ of a nested analysis of
    variance, and the gain in $R^2$ of linear regression on one-hot columns of each group, as in
    Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".

    Many groups of few models explain much by chance: 36 configurations of 3 seeds a third of pure
    noise. ``corrected`` takes off for each column as many times the variance within configurations
    as it has degrees of freedom ($\epsilon^2$, Kelley 1935), and adds up to 1 too.

    Args:
        table: One row a model; see `unknot.analysis.plain_table`.
        score: Name of the column to explain. Models without it are left out.
        by: Names of columns, each within those before it.
        rest: What to call the rest.

    Raises:
        ConfigError: There is no such column.
        DataError: The score does not vary, or no configuration has two models.

    Example:
        >>> table = {"objective": ["a", "a", "b", "b"], "mig": [0.1, 0.2, 0.3, 0.4]}
        >>> variance_shares(table, "mig", by=["objective"])
        mig: objective 80 % (70 %), seed 20 % (30 %)
    """
    plain = columns(table)
    values = numbers(plain, score)
    there = ~np.isnan(values)
    if not by:
        raise ConfigError("by names one column or more; got none.")
    settings = list(zip(*(labels(plain, name) for name in by), strict=True))
    settings = [setting for setting, scored in zip(settings, there, strict=True) if scored]
    values = values[there]
    n = len(values)
    total = float(((values - values.mean()) ** 2).sum()) if n else 0.0
    if n < 2 or np.ptp(values) == 0:
        raise DataError(f"'{score}' does not vary over {n} models: there is nothing to explain.")
    between, sizes = [0.0], [1]
    for depth in range(1, len(by) + 1):
        numbered: dict[tuple[object, ...], int] = {}
        group = np.array([numbered.setdefault(s[:depth], len(numbered)) for s in settings])
        count = np.bincount(group)
        means = np.bincount(group, weights=values) / count
        between.append(float((count * (means - values.mean()) ** 2).sum()))
        sizes.append(len(count))
    if sizes[-1] == n:
        raise DataError(
            f"Every configuration of {', '.join(by)} has one model, so that the {rest} cannot be "
            "told from it. Give several models of one configuration."
        )
    noise = (total - between[-1]) / (n - sizes[-1])
    shares, corrected = {}, {}
    for i, name in enumerate(by):
        gain = between[i + 1] - between[i]
        shares[name] = gain / total
        corrected[name] = (gain - (sizes[i + 1] - sizes[i]) * noise) / total
    shares[rest] = 1 - between[-1] / total
    corrected[rest] = noise * (n - 1) / total
    missing = int((~there).sum())
    remarks = (f"{missing} models without '{score}' were left out",) if missing else ()
    return VarianceShares(
        score, shares, corrected, dict(zip(by, sizes[1:], strict=True)), n, remarks
    )
