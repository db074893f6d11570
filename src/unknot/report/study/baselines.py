"""Baselines: lines in the figures of a study that its scores are held against."""

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
from unknot.report.study_blocks import Grid, value, words
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


def baselines(results: Results, asked: Sequence[str]) -> list[Baseline]:
    """What was asked for: an objective or a setting of the table by name, or ``score=number``.

    The value of an objective or setting is the mean over all its runs that have the score.

    Args:
        results: The runs.
        asked: Such as ``vae``, ``beta_vae beta 4`` or ``mig=0.1``; numbers are one baseline.

    Example:
        >>> table = {"objective": ["vae", "vae", "ae"], "seed": [0, 1, 0], "mig": [0.1, 0.3, 0.5]}
        >>> [(b.name, {s: round(v, 3) for s, v in b.values.items()})
        ...  for b in baselines(Results(table), ["vae", "mig=0.05"])]
        [('vae', {'mig': 0.2}), ('given', {'mig': 0.05})]
    """
    scores = score_names(results.table, results.settings)
    found: dict[str, dict[str, float]] = {}
    for word in dict.fromkeys(asked):
        score, equals, text = word.partition("=")
        if equals:
            found.setdefault("given", {})[_score(score.strip(), scores)] = _number(word, text)
        else:
            found[word] = _means(results, word, scores)
    if len(found) > len(DASHES):
        raise ConfigError(
            f"At most {len(DASHES)} baselines can be told apart; got {', '.join(found)}."
        )
    return [Baseline(name, values) for name, values in found.items()]


def known(results: Results, word: str) -> bool:
    """Whether results, such as those of one dataset of several, have what a word asks for."""
    try:
        return bool(baselines(results, [word]))
    except ConfigError:
        return False


def _means(results: Results, word: str, scores: Sequence[str]) -> dict[str, float]:
    every = results.configurations
    own = [one for one in every if word in (one.objective, one.label)]
    if not own:
        known = list(dict.fromkeys(n for c in every for n in (c.objective, c.label)))
        raise ConfigError(f"There is no objective or setting '{word}'{nearest(word, known)}")
    means = {}
    for score in scores:
        values = np.concatenate([one.sample(score).values for one in own])
        if len(values):
            means[score] = float(values.mean())
    return means


def _score(name: str, scores: Sequence[str]) -> str:
    if name not in scores:
        raise ConfigError(f"There is no score '{name}'{nearest(name, list(scores))}")
    return name


def _number(word: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"A baseline looks like vae or mig=0.1; got '{word}'.")
    return number


def mark(axes: Axes, drawn: Sequence[Baseline], score: str, along: Literal["x", "y"]) -> None:
    """Draw the baselines of a score across a panel; ``along`` is the axis that the score is on."""
    for look, line in zip(DASHES.values(), drawn, strict=False):
        if score in line.values:
            draw = axes.axvline if along == "x" else axes.axhline
            draw(line.values[score], color=INK, linestyle=look, linewidth=1.1, zorder=1.5)


def named(drawn: Sequence[Baseline], scores: Sequence[str]) -> str:
    """What the lines are, in words; empty where these scores have none."""
    said = [
        f"{look}: {line.name}"
        for look, line in zip(DASHES, drawn, strict=False)
        if any(score in line.values for score in scores)
    ]
    return f"Baselines, {'; '.join(said)}." if said else ""


def grid(found: Sequence[Baseline], scores: Sequence[str], file: str) -> Grid:
    """A table of these, for the page."""
    rows = [[words(one.name), *(value(one.values.get(s)) for s in scores)] for one in found]
    return Grid(["baseline", *scores], rows, file=file)
