"""Figure of a study: how well factors are told from codes by the number of labels."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullLocator

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.statistics import NAN, tails
from unknot.core.errors import DataError
from unknot.core.text import number
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_style import (
    SHIFT,
    DataFigure,
    Look,
    legend,
    looks,
    means_line,
    panels,
)
from unknot.report.style import (
    MUTED,
    number_ticks,
    set_panel,
    styled,
)

MOST_SETTINGS = 8
"""Settings that have lines of their own; of more, objectives have them."""
ACCURACY = re.compile(r"efficiency\.(?P<learner>\w+)_(?P<labels>\d+)(?P<protocol>@.+)?")
WORDS = {
    "boosting": "boosted trees",
    "linear": "logistic regression",
    "linear_cv": "logistic regression, cross-validated",
}
"""Learners for people."""
ACROSS = 36
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
    def words(self) -> str:
        """Its name for people, in lines that a panel has room for."""
        said = WORDS.get(self.name, self.name.replace("_", " "))
        return fill(f"{said} ({self.protocol[1:]})" if self.protocol else said, ACROSS)


@dataclass(frozen=True)
class Group:
    """Settings that share a line."""

    name: str
    cells: tuple[int, ...]
    """Their places among all."""


@dataclass(frozen=True)
class Point:
    """Accuracy of a learner at one number of labels; the ends are NaN without a second seed."""

    score: str
    labels: int
    settings: int
    """That have a number."""
    n: int
    """Runs that have."""
    mean: float
    low: float
    high: float


def learners(found: Sequence[Configuration]) -> list[Learner]:
    """Those of which some run has an accuracy at two numbers of labels or more.

    Example:
        >>> from unknot.analysis import Results
        >>> one = {"efficiency.linear_100": 0.7, "efficiency.linear_10": 0.5, "mig": 0.1}
        >>> rows = [{"objective": "vae", "efficiency.tree_10": 0.4, **one}]
        >>> own = learners(Results(rows).configurations)
        >>> [(learner.words, list(learner.columns)) for learner in own]
        [('logistic regression', [10, 100])]
    """
    held: dict[tuple[str, str], dict[int, str]] = {}
    for name in dict.fromkeys(name for cell in found for name in cell.runs):
        match = ACCURACY.fullmatch(name)
        if match and _count(found, name):
            key = match["learner"], match["protocol"] or ""
            held.setdefault(key, {})[int(match["labels"])] = name
    return [Learner(*key, dict(sorted(own.items()))) for key, own in held.items() if len(own) > 1]


def applies(part: Part) -> Iterator[Figure]:
    """Where runs were scored for it."""
    results, found = part.results, part.results.configurations
    if columns := [name for one in learners(found) for name in one.columns.values()]:
        several = any(len(one.sample(name).values) > 1 for one in found for name in columns)
        yield Figure("labels", "labels", title(several), notes(found), lambda: draw(results))


def title(several: bool) -> str:
    """What stands above the panels."""
    return f"Accuracy by number of labels{', mean and 95 % interval' if several else ''}"


def notes(found: Sequence[Configuration]) -> list[str]:
    """That lines are of several configurations, where they are, and what is right by chance."""
    said = []
    if len(_groups(found)) != len(found):
        said = [
            f"Each line is the mean over all configurations of an objective, {len(found)} in all."
        ]
    for protocol in dict.fromkeys(one.protocol for one in learners(found)):
        where = f" under {protocol[1:]}" if protocol else ""
        if (guess := chance(found, protocol)) is not None:
            said.append(f"Dotted: the commonest value of each factor{where}, {number(guess)}.")
    return said


@styled
def draw(results: Results) -> DataFigure:
    """Accuracy over the number of labels, a panel for each learner of the score ``efficiency``.

    A line for each setting, or where there are more than eight for each objective: the mean of the
    means of its settings, so that each weighs the same. Intervals are of seeds drawn anew within
    settings, as those of a ranking. Settings without a number are in no mean; the rows say how
    many have one.

    Args:
        results: Of one dataset.
    """
    found = results.configurations
    shown = learners(found)
    if not shown:
        raise DataError(
            "Accuracies by number of labels are columns such as efficiency.linear_100, for two "
            "numbers or more; the table has none. Score the runs with 'efficiency'."
        )
    groups = _groups(found)
    looked = looks(group.name for group in groups)
    curves = [[_curve(results, one, group) for group in groups] for one in shown]
    several = any(point.low == point.low for own in curves for curve in own for point in curve)
    figure, drawn = panels(
        len(shown), across=2, size=(3.5, 2.6), head=1.0,
        title=title(several),
    )  # fmt: skip
    for one, own, axes in zip(shown, curves, drawn, strict=True):
        for i, (look, curve) in enumerate(zip(looked.values(), own, strict=True)):
            _draw(axes, curve, look, several * SHIFT * (i - (len(groups) - 1) / 2))
        if (guess := chance(found, one.protocol)) is not None:
            axes.axhline(guess, color=MUTED, linestyle=":", linewidth=1.1, zorder=1.5)
        set_panel(axes, one.words)
        _label_axis(axes)
    _same_height(drawn)
    legend(figure, looked, across=2, notes=notes(found))
    rows = [
        {"data": found[0].data, "learner": one.name, "line": group.name, **asdict(point)}
        for one, own in zip(shown, curves, strict=True)
        for group, curve in zip(groups, own, strict=True)
        for point in curve
    ]
    return DataFigure(figure, rows)


def _groups(found: Sequence[Configuration]) -> list[Group]:
    """Each setting by itself, or all of an objective where these are too many to follow."""
    if len(found) <= MOST_SETTINGS:
        return [Group(cell.label, (i,)) for i, cell in enumerate(found)]
    own: dict[str, list[int]] = {}
    for i, cell in enumerate(found):
        own.setdefault(cell.objective, []).append(i)
    return [Group(name, tuple(places)) for name, places in own.items()]


def _curve(results: Results, one: Learner, group: Group) -> list[Point]:
    """Over the settings that have a number; no point where none has."""
    own = [results.configurations[i] for i in group.cells]
    means, drawn = (part[..., group.cells, :] for part in results.means([*one.columns.values()]))
    points = []
    for k, (labels, name) in enumerate(one.columns.items()):
        there = ~np.isnan(means[:, k])
        if not there.any():
            continue
        again = drawn[:, there, k].mean(1)
        ends = np.quantile(again, tails(results.level)).tolist()
        if max(len(cell.sample(name).values) for cell in own) < 2:
            ends = [NAN, NAN]
        mean = float(means[there, k].mean())
        points.append(Point(name, labels, int(there.sum()), _count(own, name), mean, *ends))
    return points


def _draw(axes: Axes, curve: Sequence[Point], look: Look, shift: float) -> None:
    x = [float(point.labels) for point in curve]
    numbers = ([getattr(point, name) for point in curve] for name in ("mean", "low", "high"))
    means_line(axes, x, *numbers, look=look, shift=shift)


def _count(found: Sequence[Configuration], name: str) -> int:
    """Runs with a number."""
    return sum(len(cell.sample(name).values) for cell in found)


def chance(found: Sequence[Configuration], protocol: str) -> float | None:
    """What is right without a code; by protocol, as rows differ."""
    name = f"efficiency.chance{protocol}"
    if name not in found[0].runs or not _count(found, name):
        return None
    return float(np.concatenate([one.sample(name).values for one in found]).mean())


def _label_axis(axes: Axes) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(numticks=6))
    axes.xaxis.set_minor_locator(NullLocator())
    number_ticks(axes.xaxis)
    axes.set_xlabel("labels")


def _same_height(drawn: Sequence[Axes]) -> None:
    """One scale for all panels, so that learners can be compared."""
    ends = np.array([axes.get_ylim() for axes in drawn])
    for axes in drawn:
        axes.set_ylim(float(ends[:, 0].min()), float(ends[:, 1].max()))
