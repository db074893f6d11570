"""Figure of a study: whether settings that are good on one dataset are good on another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from unknot.analysis import Results
from unknot.analysis.agreements import FEWEST, agreement
from unknot.analysis.configurations import Configuration, hashable
from unknot.analysis.ranking import DIGITS
from unknot.core.errors import DataError
from unknot.report.labels import place_labels
from unknot.report.study.catalogue import Figure, Part, slug
from unknot.report.study.figures.correlations import CHANCE
from unknot.report.study_style import (
    DataFigure,
    Look,
    below,
    darker,
    looks,
    panels,
    strength_words,
)
from unknot.report.style import (
    INK,
    PAPER,
    RULE,
    arrange,
    set_panel,
    styled,
)

MOST_PAIRS = 6
"""Pairs of datasets that have panels: all of four datasets."""
APART = 3.0
"""Times the wider of two ranges that both may span together, for two axes of one scale."""
ROOM = 0.07
"""Share of an axis that stays free at either end."""

Meeting = tuple[Configuration, Configuration]
"""One setting on two datasets."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two datasets, and a score of the settings that both have."""

    first: str
    second: str
    settings: tuple[Meeting, ...]
    x: np.ndarray
    """Means on the first."""
    y: np.ndarray
    """Means on the second."""
    spearman: float
    """NaN where means do not differ."""
    p: float

    @property
    def words(self) -> str:
        """The correlation for people, in brackets where it may be chance."""
        if np.isnan(self.spearman):
            return "none"
        said = f"{self.spearman:.2f}".replace("-", "−")
        return f"({said})" if self.p > CHANCE else said

    @property
    def together(self) -> bool:
        """Whether levels are so near that two axes of one scale do not squeeze the points."""
        both = np.concatenate([self.x, self.y])
        return bool(np.ptp(both) <= APART * max(np.ptp(self.x), np.ptp(self.y)))


def dataset_pairs(found: Sequence[Configuration], score: str) -> list[Pair]:
    """Pairs of datasets on which three settings or more have the score, as they are first met.

    A setting is the same on two datasets if the objective's numbers agree, and all that varies on
    one dataset. What else differs goes along with the dataset, such as steps or the likelihood.
    """
    known = [c for c in found if score in c.runs and len(c.sample(score).values)]
    names = _telling(found)
    held: dict[str, dict[Any, Configuration]] = {}
    for cell in known:
        key = (cell.objective, *(hashable(cell.settings.get(name)) for name in names))
        held.setdefault(cell.data, {})[key] = cell
    pairs = []
    for first, second in combinations(held, 2):
        both = [(cell, held[second][k]) for k, cell in held[first].items() if k in held[second]]
        if len(both) >= FEWEST:
            pairs.append(_pair(first, second, both, score))
    return pairs


def over_datasets(part: Part) -> Iterator[Figure]:
    """For each score of three configurations that two datasets share."""
    results = part.results
    for score in results.scores:
        if pairs := dataset_pairs(results.configurations, score):
            yield Figure(
                "datasets", f"datasets-transfer-{slug(score)}", title(score), notes(pairs),
                lambda score=score: draw(results, score),  # type: ignore[misc]
                "Are configurations that are good on one dataset good on another?",
            )  # fmt: skip


def title(score: str) -> str:
    """What stands above the panels."""
    return f"{score} of each setting, from dataset to dataset"


@styled
def draw(results: Results, score: str) -> DataFigure:
    """Mean score of each setting on one dataset against that on another, a panel for each pair.

    Spearman's correlation over settings stands above: 1 where both datasets order settings alike,
    so that what was tuned on one serves the other. On the diagonal both have the same score. Rings
    mark the best setting of each, if there is one. Where levels are so far apart that one scale
    would squeeze the points, axes have their own, and there is no diagonal.

    Paper: Hartmann 2021, who asks whether the best strength is that of another dataset.

    Args:
        results: Of any number of datasets.
        score: Name of a column.
    """
    results.choose([score])
    every = dataset_pairs(results.configurations, score)
    if not every:
        raise DataError(
            f"No two datasets have {FEWEST} settings with '{score}' in common: all must agree but "
            "what goes along with the dataset."
        )
    shown = every[:MOST_PAIRS]
    looked = looks(cell.objective for pair in every for cell, _ in pair.settings)
    figure, drawn = panels(
        len(shown), across=2 if len(shown) == 4 else 3, size=(2.9, 3.2), head=0.9,
        title=title(score),
    )  # fmt: skip
    for pair, axes in zip(shown, drawn, strict=True):
        _draw(axes, pair, looked)
    marks = [Line2D([], [], color=look.colour, marker=look.marker, markersize=5, linestyle="none")
             for look in looked.values()]  # fmt: skip
    below(figure, marks, list(looked), across=3, notes=notes(every))
    for pair, axes in zip(shown, drawn, strict=True):
        _name_best(figure, axes, pair, results.sign(score), looked)
    rows = [row for pair in every for row in _rows(pair, score, shown=pair in shown)]
    return DataFigure(figure, rows)


def _telling(found: Sequence[Configuration]) -> list[str]:
    """Settings that tell one setting from another on whatever dataset."""
    together: dict[tuple[str, str], list[Configuration]] = {}
    for cell in found:
        together.setdefault((cell.data, cell.objective), []).append(cell)
    names = dict.fromkeys(name for cell in found for name in cell.settings)
    return [
        name
        for name in names
        if _is_strength(found, name) or any(_differs(own, name) for own in together.values())
    ]


def _is_strength(found: Sequence[Configuration], name: str) -> bool:
    """Whether it is a number of objectives: one tuned for each dataset is not the same setting."""
    held = [cell.settings.get(name) for cell in found]
    numbers = any(isinstance(v, int | float) and not isinstance(v, bool) for v in held)
    return numbers and name.partition(".")[0] in ("objective", "strength")


def _differs(own: Sequence[Configuration], name: str) -> bool:
    return len({hashable(cell.settings.get(name)) for cell in own}) > 1


def _pair(first: str, second: str, both: Sequence[Meeting], score: str) -> Pair:
    x, y = (
        np.array([meeting[side].sample(score).values.mean() for meeting in both]) for side in (0, 1)
    )
    rho, p = agreement({"x": x.tolist(), "y": y.tolist()}).between("x", "y")
    flat = not (np.ptp(x) and np.ptp(y))
    return Pair(first, second, tuple(both), x, y, *((np.nan, np.nan) if flat else (rho, p)))


def _draw(axes: Axes, pair: Pair, looked: dict[str, Look]) -> None:
    for name, look in looked.items():
        own = [i for i, (cell, _) in enumerate(pair.settings) if cell.objective == name]
        axes.plot(
            pair.x[own], pair.y[own], marker=look.marker, linestyle="none", color=look.colour,
            markersize=5.5, markeredgecolor=PAPER, markeredgewidth=0.4, zorder=3,
        )  # fmt: skip
    limits = [_limits(pair.x), _limits(pair.y)]
    if pair.together:
        limits = [_limits(np.concatenate([pair.x, pair.y]))] * 2
        axes.plot(*limits, color=RULE, linewidth=1.2, zorder=1)
    set_panel(axes, f"Spearman’s {pair.words}", grid="both")
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    axes.set_box_aspect(1)
    axes.set_xlabel(pair.first, loc="center")
    axes.set_ylabel(pair.second)


def _limits(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = ROOM * (high - low) or 0.5
    return low - room, high + room


def _name_best(
    figure: Canvas, axes: Axes, pair: Pair, sign: float, looked: dict[str, Look]
) -> None:
    """Rings and names for the best setting of each dataset: the others are too many."""
    signed = [sign * values for values in (pair.x, pair.y)]
    best = list(dict.fromkeys(i for values in signed for i in _best(values)))
    axes.plot(
        pair.x[best], pair.y[best], "o", markersize=9.5, markerfacecolor="none",
        markeredgecolor=INK, markeredgewidth=1.0, zorder=4,
    )  # fmt: skip
    # Words are placed by where points lie, and a square panel is not square before this.
    arrange(figure)
    axes.apply_aspect()
    order = [*best, *(i for i in range(len(pair.x)) if i not in best)]
    own = [pair.settings[i][0] for i in best]
    place_labels(
        figure,
        axes,
        [(float(pair.x[i]), float(pair.y[i])) for i in order],
        [strength_words(cell) for cell in own],
        [darker(looked[cell.objective].colour) for cell in own],
    )


def _best(values: np.ndarray) -> list[int]:
    """The place of the largest; none where several tie, such as at the most that can be had."""
    top = np.flatnonzero(values.round(DIGITS) == values.max().round(DIGITS))
    return top.tolist() if len(top) == 1 else []


def notes(every: Sequence[Pair]) -> list[str]:
    """What marks mean, and how many pairs are shown."""
    shown = every[:MOST_PAIRS]
    said = ["Each point is a configuration. Rings: the best on each dataset."]
    if any(pair.together for pair in shown):
        said.append("Grey line: equal scores on both.")
    if not all(pair.together for pair in shown):
        said.append("No grey line: the levels differ, so each axis has its own scale.")
    if any(pair.p > CHANCE for pair in shown):
        said.append(f"In brackets: p above {CHANCE:g}.")
    if len(every) > len(shown):
        said.append(
            f"{len(shown)} of {len(every)} pairs of datasets are shown; the file has the others."
        )
    return said


def _rows(pair: Pair, score: str, *, shown: bool) -> list[dict[str, Any]]:
    return [
        {
            "score": score,
            "first": pair.first,
            "second": pair.second,
            "objective": cell.objective,
            "strength": cell.strength,
            "axis": cell.axis,
            "first_n": len(cell.sample(score).values),
            "second_n": len(other.sample(score).values),
            "first_mean": float(x),
            "second_mean": float(y),
            "spearman": pair.spearman,
            "p": pair.p,
            "shown": shown,
        }
        for (cell, other), x, y in zip(pair.settings, pair.x, pair.y, strict=True)
    ]
