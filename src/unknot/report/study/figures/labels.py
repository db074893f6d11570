"""Figure of a study: how well factors are told from codes by the number of labels."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import pooled_interval
from unknot.core.errors import DataError
from unknot.core.text import number
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.style import DataFigure, draw_means, legend, looks, panels
from unknot.report.style import MUTED, number_ticks, set_panel, styled

MOST_LINES = 8
"""Configurations that have lines of their own; of more, objectives have them."""
ACCURACY = re.compile(r"efficiency\.(?P<learner>\w+)_(?P<labels>\d+)(?P<protocol>@.+)?")
LEARNERS = {
    "boosting": "boosted trees",
    "linear": "logistic regression",
    "linear_cv": "logistic regression, cross-validated",
}
"""Their names for people."""
LETTERS = 36
"""Letters of a panel's title beside each other."""


@dataclass(frozen=True)
class Learner:
    """One of those that predict factors, and its accuracies in a table."""

    name: str
    protocol: str
    """With its @; empty for that of the study."""
    columns: dict[int, str]
    """By number of labels, fewest first."""

    @property
    def title(self) -> str:
        """Its name for people, in lines that a panel has room for."""
        name = LEARNERS.get(self.name, self.name.replace("_", " "))
        return fill(f"{name} ({self.protocol[1:]})" if self.protocol else name, LETTERS)


def learners(configurations: Sequence[Configuration]) -> list[Learner]:
    """Those of which some run has an accuracy at two numbers of labels or more.

    Example:
        >>> from unknot.analysis import Results
        >>> one = {"efficiency.linear_100": 0.7, "efficiency.linear_10": 0.5, "mig": 0.1}
        >>> rows = [{"objective": "vae", "efficiency.tree_10": 0.4, **one}]
        >>> two = learners(Results(rows).configurations)
        >>> [(learner.title, list(learner.columns)) for learner in two]
        [('logistic regression', [10, 100])]
    """
    columns: dict[tuple[str, str], dict[int, str]] = {}
    for name in dict.fromkeys(name for c in configurations for name in c.runs):
        match = ACCURACY.fullmatch(name)
        if match and _count(configurations, name):
            key = match["learner"], match["protocol"] or ""
            columns.setdefault(key, {})[int(match["labels"])] = name
    several = {key: names for key, names in columns.items() if len(names) > 1}
    return [Learner(*key, dict(sorted(names.items()))) for key, names in several.items()]


def applies(part: Part) -> Iterator[Figure]:
    """Where runs were scored for it."""
    if learners(part.results.configurations):
        yield Figure("labels", "labels", partial(draw, part.results))


@styled
def draw(results: Results) -> DataFigure:
    """Accuracy over the number of labels, a panel for each learner of the score ``efficiency``.

    A line for each configuration, or where there are more than eight for each objective: the mean
    of the means of its configurations, so that each weighs the same. Configurations without a
    number are in no mean; the rows say how many have one.

    Args:
        results: Of one dataset.
    """
    configurations = results.configurations
    all_learners = learners(configurations)
    if not all_learners:
        raise DataError(
            "Accuracies by number of labels are columns such as efficiency.linear_100, for two "
            "numbers or more; the table has none. Score the runs with 'efficiency'."
        )
    groups = _groups(configurations)
    looked = looks(groups)
    rows = [_rows(results, learner, groups) for learner in all_learners]
    several = any(row["low"] == row["low"] for of_learner in rows for row in of_learner)
    interval = ", mean and 95% interval" if several else ""
    figure, all_axes = panels(
        len(all_learners), most=2, size=(3.5, 2.6), head=1.0,
        title=f"Accuracy by number of labels{interval}",
    )  # fmt: skip
    chance = {item.protocol: _chance(configurations, item.protocol) for item in all_learners}
    for learner, of_learner, axes in zip(all_learners, rows, all_axes, strict=True):
        curves = [[row for row in of_learner if row["line"] == name] for name in groups]
        draw_means(
            axes,
            [
                [[float(row[n]) for row in curve] for n in ("labels", "mean", "low", "high")]
                for curve in curves
            ],
            looked.values(),
        )
        if (guess := chance[learner.protocol]) is not None:
            axes.axhline(guess, color=MUTED, linestyle=":", linewidth=1.1, zorder=1.5)
        set_panel(axes, learner.title)
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(numticks=6))
        axes.xaxis.set_minor_locator(NullLocator())
        number_ticks(axes.xaxis)
        axes.set_xlabel("labels")
    # One scale for all panels, so that learners can be compared.
    lows, highs = zip(*(axes.get_ylim() for axes in all_axes), strict=True)
    for axes in all_axes:
        axes.set_ylim(min(lows), max(highs))
    n = len(configurations)
    notes = [f"Each line is the mean over all configurations of an objective, {n} in all."]
    notes = notes if len(groups) != n else []
    notes += [
        f"Dotted: the commonest value of each factor{f' under {name[1:]}' if name else ''}, "
        f"{number(guess)}."
        for name, guess in chance.items()
        if guess is not None
    ]
    legend(figure, looked, across=2, notes=notes)
    return DataFigure(figure, [row for of_learner in rows for row in of_learner])


def _groups(configurations: Sequence[Configuration]) -> dict[str, list[int]]:
    """The places of configurations that share a line: one, or all of an objective."""
    few = len(configurations) <= MOST_LINES
    groups: dict[str, list[int]] = {}
    for i, configuration in enumerate(configurations):
        groups.setdefault(configuration.label if few else configuration.objective, []).append(i)
    return groups


def _rows(
    results: Results, learner: Learner, groups: Mapping[str, Sequence[int]]
) -> list[dict[str, Any]]:
    """The points of lines, each over the configurations that have a number; none where none has.

    The ends of intervals are NaN where some configuration has too few seeds.
    """
    means, _ = results.means([*learner.columns.values()])
    rows = []
    for line, places in groups.items():
        configurations = [results.configurations[i] for i in places]
        for k, (labels, score) in enumerate(learner.columns.items()):
            there = [i for i in places if not np.isnan(means[i, k])]
            if not there:
                continue
            samples = [results.configurations[i].sample(score).values for i in there]
            low, high = pooled_interval(samples, results.level, results.bounds(score))
            rows.append(
                {
                    "data": results.configurations[0].data,
                    "learner": learner.name,
                    "line": line,
                    "score": score,
                    "labels": labels,
                    "settings": len(there),
                    "n": _count(configurations, score),
                    "mean": float(means[there, k].mean()),
                    "low": low,
                    "high": high,
                }
            )
    return rows


def _count(configurations: Sequence[Configuration], score: str) -> int:
    """Runs with a number."""
    return sum(len(c.sample(score).values) for c in configurations)


def _chance(configurations: Sequence[Configuration], protocol: str) -> float | None:
    """What is right without a code; by protocol, as rows differ."""
    name = f"efficiency.chance{protocol}"
    if name not in configurations[0].runs or not _count(configurations, name):
        return None
    return float(np.concatenate([c.sample(name).values for c in configurations]).mean())
