"""Baselines: lines in the figures of a study that its scores are compared with."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from unknot.analysis import Results
from unknot.analysis.configurations import score_names
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.report.style import INK

DASHES = {"dashed": (0, (5, 2)), "dotted": (0, (1, 1.6)), "dash-dotted": (0, (6, 2, 1, 2))}
"""Lines of as many baselines can be told apart."""


@dataclass(frozen=True)
class Baseline:
    """Values of scores under one name."""

    name: str
    values: Mapping[str, float]

    def rows(self) -> list[dict[str, Any]]:
        """As rows of a table."""
        return [{"baseline": self.name, "score": s, "value": v} for s, v in self.values.items()]


@dataclass(frozen=True, eq=False)
class OtherRuns:
    """Runs of another study or table that ours are compared with."""

    title: str
    results: Results
    name: str = ""
    """Of an objective or a configuration; empty for each of its objectives."""

    def baselines(self, data: str, scores: Sequence[str]) -> list[Baseline]:
        """Means of the scores that they have too, of runs on a dataset; none without such runs."""
        if data not in self.results.by_data:
            return []
        results = self.results.by_data[data]
        shared = [score for score in scores if score in results.table]
        names = [self.name] if self.name else [c.objective for c in results.objectives]
        return [
            Baseline(f"{name} of {self.title}", _means(results, name, shared)) for name in names
        ]


def baselines(
    results: Results, texts: Sequence[str], others: Mapping[str, OtherRuns] | None = None
) -> list[Baseline]:
    """The means of an objective or a configuration of the table by name, or ``score=number``.

    The value of an objective or configuration is the mean over all its runs that have the score.

    Args:
        results: The runs.
        texts: Such as ``vae``, ``beta_vae beta 4`` or ``mig=0.1``; numbers are one baseline.
        others: Runs of other studies, by the texts that stand for them.

    Example:
        >>> table = {"objective": ["vae", "vae", "ae"], "seed": [0, 1, 0], "mig": [0.1, 0.3, 0.5]}
        >>> [(b.name, {s: round(v, 3) for s, v in b.values.items()})
        ...  for b in baselines(Results(table), ["vae", "mig=0.05"])]
        [('vae', {'mig': 0.2}), ('given', {'mig': 0.05})]
    """
    scores = score_names(results.table, results.settings)
    values: dict[str, Mapping[str, float]] = {}
    for text in dict.fromkeys(texts):
        if others and text in others:
            data = next(iter(results.by_data))
            found = {b.name: b.values for b in others[text].baselines(data, scores)}
            if twice := [name for name in found if values.get(name, found[name]) != found[name]]:
                raise ConfigError(
                    f"Two baselines are called '{twice[0]}'; rename one of the studies."
                )
            values |= found
        elif "=" in text:
            score, value = _number(text, scores)
            if score in (given := values.get("given", {})):
                raise ConfigError(f"The baseline of {score} is given twice; leave one of them out.")
            values["given"] = {**given, score: value}
        else:
            values[text] = _means(results, text, scores)
    if len(values) > len(DASHES):
        raise ConfigError(
            f"At most {len(DASHES)} baselines can be told apart; got {', '.join(values)}."
        )
    return [Baseline(name, of_scores) for name, of_scores in values.items()]


def has_baseline(
    results: Results, text: str, others: Mapping[str, OtherRuns] | None = None
) -> bool:
    """Whether results, such as those of one dataset of several, have what a text names."""
    try:
        return bool(baselines(results, [text], others))
    except ConfigError:
        return False


def _means(results: Results, name: str, scores: Sequence[str]) -> dict[str, float]:
    configurations = results.configurations
    matches = [c for c in configurations if name in (c.objective, c.label)]
    if not matches:
        names = list(dict.fromkeys(n for c in configurations for n in (c.objective, c.label)))
        raise ConfigError(f"There is no objective or configuration '{name}'{nearest(name, names)}")
    samples = {s: np.concatenate([c.sample(s).values for c in matches]) for s in scores}
    return {score: float(values.mean()) for score, values in samples.items() if len(values)}


def _number(text: str, scores: Sequence[str]) -> tuple[str, float]:
    """A score and the number for it."""
    score, _, value = text.partition("=")
    if (score := score.strip()) not in scores:
        raise ConfigError(f"There is no metric '{score}'{nearest(score, list(scores))}")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"A baseline looks like vae or mig=0.1; got '{text}'.")
    return score, number


def draw_baselines(
    axes: Axes, baselines: Sequence[Baseline], score: str, along: Literal["x", "y"]
) -> None:
    """Draw the baselines of a score across a panel; ``along`` is the axis that the score is on."""
    for dash, baseline in zip(DASHES.values(), baselines, strict=False):
        if score in baseline.values:
            draw = axes.axvline if along == "x" else axes.axhline
            draw(baseline.values[score], color=INK, linestyle=dash, linewidth=1.1, zorder=1.5)


def describe_baselines(baselines: Sequence[Baseline], scores: Sequence[str]) -> str:
    """Which line is which baseline; empty where these scores have none."""
    names = [
        f"{dash}: {baseline.name}"
        for dash, baseline in zip(DASHES, baselines, strict=False)
        if any(score in baseline.values for score in scores)
    ]
    return f"Baselines, {'; '.join(names)}." if names else ""
