"""Each score of each configuration in numbers, and what other seeds could have given."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from unknot.analysis import bootstrap
from unknot.analysis.configurations import Configuration

DRAWS = 2_000
LEVEL = 0.95
NAN = float("nan")
NUMBERS = (
    "mean", "median", "sd", "q1", "q3", "low", "high",
    "mean_low", "mean_high", "median_low", "median_high",
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """One score of one configuration, of the ``n`` runs that have it; NaN where none does."""

    data: str
    objective: str
    strength: float | str
    axis: str
    score: str
    runs: int
    n: int
    diverged: int
    undefined: int
    """Ended well but have no number."""
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

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.sd / self.n**0.5 if self.n else NAN

    @property
    def label(self) -> str:
        """Objective and swept value, for people."""
        return Configuration(self.objective, self.strength, self.axis, {}, {}).label

    @property
    def missing(self) -> str:
        """What is not in the numbers, in words; empty where nothing is missing."""
        counts = ("diverged", "undefined", "unfinished")
        return ", ".join(f"{getattr(self, c)} {c}" for c in counts if getattr(self, c))

    def row(self) -> dict[str, Any]:
        """As plain values of one line of a table; settings are columns of their own."""
        flat = asdict(self)
        del flat["values"]
        return {**flat.pop("settings"), **flat}


def resampled(
    one: Configuration, scores: Sequence[str], draws: int, seed: int
) -> Iterator[Float[np.ndarray, "draws n"]]:
    """For each score, as many studies of this configuration with seeds drawn from its own.

    Configurations are drawn independently and by their settings, so that others beside them change
    nothing; scores of a configuration are drawn together.
    """
    index: dict[int, np.ndarray] = {}
    for score in scores:
        values = one.sample(score).values
        n = len(values)
        if n not in index:
            stream = f"study/bootstrap/{one.key}"
            index[n] = (
                bootstrap.indices(seed, stream, draws, n, high=n)
                if n
                else np.zeros((draws, 0), np.int64)
            )
        yield values[index[n]]


def summary(
    one: Configuration, score: str, level: float, drawn: Float[np.ndarray, "draws n"]
) -> Summary:
    """The numbers of one score; ``drawn`` is what `resampled` gave for it."""
    sample = one.sample(score)
    values, n = sample.values, len(sample.values)
    numbers = dict.fromkeys(NUMBERS, NAN)
    if n:
        points = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
        numbers |= dict(zip(("low", "q1", "median", "q3", "high"), points, strict=True))
        numbers["mean"] = float(values.mean())
    if n > 1:
        numbers["sd"] = float(values.std(ddof=1))
        for name, again in (("mean", drawn.mean(1)), ("median", np.median(drawn, axis=1))):
            ends = np.quantile(again, tails(level)).tolist()
            numbers[f"{name}_low"], numbers[f"{name}_high"] = ends
    return Summary(
        data=one.data, objective=one.objective, strength=one.strength, axis=one.axis,
        score=score, runs=sample.runs, n=n, diverged=sample.diverged, undefined=sample.undefined,
        unfinished=sample.unfinished, settings=one.settings, values=tuple(values.tolist()),
        **numbers,
    )  # fmt: skip


def tails(level: float) -> list[float]:
    """The quantiles between which the middle of a distribution lies."""
    return [(1 - level) / 2, (1 + level) / 2]


def resampled_means(
    configurations: Sequence[Configuration], scores: Sequence[str], draws: int, seed: int
) -> tuple[Float[np.ndarray, "c s"], Float[np.ndarray, "draws c s"]]:
    """Means by score, and those of resampled seeds; NaN where no run has the score."""
    means = np.full((len(configurations), len(scores)), NAN)
    drawn = np.full((draws, len(configurations), len(scores)), NAN)
    for i, one in enumerate(configurations):
        for k, again in enumerate(resampled(one, scores, draws, seed)):
            if again.shape[1]:
                means[i, k] = one.sample(scores[k]).values.mean()
                drawn[:, i, k] = again.mean(1)
    return means, drawn
