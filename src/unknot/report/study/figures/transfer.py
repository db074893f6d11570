"""Figure of a study: whether configurations that are good on one dataset are good on another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from unknot.analysis import Results
from unknot.analysis.agreements import FEWEST, agreement
from unknot.analysis.configurations import Configuration, hashable, is_number
from unknot.analysis.ranking import DIGITS
from unknot.core.errors import DataError
from unknot.core.files import file_stem
from unknot.report.labels import place_labels
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.figures.correlations import CHANCE
from unknot.report.study.style import DataFigure, Look, darker, legend, looks, panels, swept_text
from unknot.report.style import INK, PAPER, RULE, arrange, set_panel, styled

MOST_PAIRS = 6
"""Pairs of datasets that have panels: all of four datasets."""
APART = 3.0
"""Times the wider of two ranges that both may span together, for two axes of one scale."""
ROOM = 0.07
"""Share of an axis that stays free at either end."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two datasets, and a score of the configurations that both have."""

    first: str
    second: str
    settings: tuple[tuple[Configuration, Configuration], ...]
    """Each on the first and on the second."""
    x: np.ndarray
    """Means on the first."""
    y: np.ndarray
    """Means on the second."""
    spearman: float
    """NaN where means do not differ."""
    p: float

    @property
    def correlation(self) -> str:
        """Spearman's for people, in brackets where it may be chance."""
        if np.isnan(self.spearman):
            return "none"
        text = f"{self.spearman:.2f}".replace("-", "−")
        return f"({text})" if self.p > CHANCE else text

    @property
    def one_scale(self) -> bool:
        """Whether levels are so near that two axes of one scale do not squeeze the points."""
        both = np.concatenate([self.x, self.y])
        return bool(np.ptp(both) <= APART * max(np.ptp(self.x), np.ptp(self.y)))


def dataset_pairs(configurations: Sequence[Configuration], score: str) -> list[Pair]:
    """Pairs of datasets on which three configurations or more have the score, as first met.

    A configuration is the same on two datasets if the objective's numbers agree, and all that
    varies on one dataset. What else differs goes along with the dataset, such as steps or the
    likelihood.
    """
    names = _distinctive(configurations)
    by_data: dict[str, dict[Any, Configuration]] = {}
    for configuration in (c for c in configurations if c.has(score)):
        key = (
            configuration.objective,
            *(hashable(configuration.settings.get(name)) for name in names),
        )
        by_data.setdefault(configuration.data, {})[key] = configuration
    pairs = []
    for first, second in combinations(by_data, 2):
        ours, theirs = by_data[first], by_data[second]
        both = tuple((ours[key], theirs[key]) for key in ours if key in theirs)
        if len(both) < FEWEST:
            continue
        x, y = (
            np.array([pair[side].sample(score).values.mean() for pair in both]) for side in (0, 1)
        )
        rho, p = agreement({"x": x.tolist(), "y": y.tolist()}).between("x", "y")
        if not (np.ptp(x) and np.ptp(y)):
            rho = p = np.nan
        pairs.append(Pair(first, second, both, x, y, rho, p))
    return pairs


def over_datasets(part: Part) -> Iterator[Figure]:
    """For each score of three configurations that two datasets share."""
    results = part.results
    for score in results.scores:
        if dataset_pairs(results.configurations, score):
            yield Figure(
                "datasets",
                f"datasets-transfer-{file_stem(score)}",
                partial(draw, results, score),
                "Are configurations that are good on one dataset good on another?",
            )


@styled
def draw(results: Results, score: str) -> DataFigure:
    """Mean score of each configuration on one dataset against another, a panel for each pair.

    Spearman's correlation over configurations stands above: 1 where both datasets order them
    alike, so that what was tuned on one serves the other. On the diagonal both have the same score.
    Rings mark the best configuration of each, if there is one. Where levels are so far apart that
    one scale would squeeze the points, axes have their own, and there is no diagonal.

    Paper: Hartmann 2021, who asks whether the best value is that of another dataset.

    Args:
        results: Of any number of datasets.
        score: Name of a column.
    """
    results.choose([score])
    pairs = dataset_pairs(results.configurations, score)
    if not pairs:
        raise DataError(
            f"No two datasets have {FEWEST} settings with '{score}' in common: all must agree but "
            "what goes along with the dataset."
        )
    first = pairs[:MOST_PAIRS]
    looked = {
        name: replace(look, dash="none")
        for name, look in looks(c.objective for pair in pairs for c, _ in pair.settings).items()
    }
    figure, all_axes = panels(
        len(first), most=3, size=(2.9, 3.2), head=0.9,
        title=f"{score} of each configuration, from dataset to dataset",
    )  # fmt: skip
    for pair, axes in zip(first, all_axes, strict=True):
        _draw_pair(axes, pair, looked)
    legend(figure, looked, notes=_notes(pairs))
    for pair, axes in zip(first, all_axes, strict=True):
        _name_best(figure, axes, pair, results.sign(score), looked)
    return DataFigure(figure, [row for pair in pairs for row in _rows(pair, score, pair in first)])


def _distinctive(configurations: Sequence[Configuration]) -> list[str]:
    """Settings that tell one configuration from another on whatever dataset.

    Numbers of objectives: one tuned for each dataset is not the same. Others where they differ
    among the configurations of an objective on one dataset.
    """
    groups: dict[tuple[str, str], list[Configuration]] = {}
    for configuration in configurations:
        groups.setdefault((configuration.data, configuration.objective), []).append(configuration)
    return [
        name
        for name in dict.fromkeys(name for c in configurations for name in c.settings)
        if _is_objective_number(configurations, name)
        or any(len({hashable(c.settings.get(name)) for c in g}) > 1 for g in groups.values())
    ]


def _is_objective_number(configurations: Sequence[Configuration], name: str) -> bool:
    """Whether it is a number of objectives."""
    values = [c.settings.get(name) for c in configurations]
    swept = ("objective", "strength", "swept_value")
    return any(map(is_number, values)) and name.partition(".")[0] in swept


def _draw_pair(axes: Axes, pair: Pair, looked: dict[str, Look]) -> None:
    for name, look in looked.items():
        places = [i for i, (c, _) in enumerate(pair.settings) if c.objective == name]
        axes.plot(
            pair.x[places], pair.y[places], marker=look.marker, linestyle="none", color=look.color,
            markersize=5.5, markeredgecolor=PAPER, markeredgewidth=0.4, zorder=3,
        )  # fmt: skip
    limits = [_limits(pair.x), _limits(pair.y)]
    if pair.one_scale:
        limits = [_limits(np.concatenate([pair.x, pair.y]))] * 2
        axes.plot(*limits, color=RULE, linewidth=1.2, zorder=1)
    set_panel(axes, f"Spearman’s {pair.correlation}", grid="both")
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
    """Rings and names for the best configuration of each dataset: the others are too many."""
    tops = []
    for values in (sign * pair.x, sign * pair.y):
        top = np.flatnonzero(values.round(DIGITS) == values.max().round(DIGITS))
        # None where several tie, such as at the most that can be had.
        tops += top.tolist() if len(top) == 1 else []
    best = list(dict.fromkeys(tops))
    axes.plot(
        pair.x[best], pair.y[best], "o", markersize=9.5, markerfacecolor="none",
        markeredgecolor=INK, markeredgewidth=1.0, zorder=4,
    )  # fmt: skip
    # Words are placed by where points lie, and a square panel is not square before this.
    arrange(figure)
    axes.apply_aspect()
    order = [*best, *(i for i in range(len(pair.x)) if i not in best)]
    configurations = [pair.settings[i][0] for i in best]
    place_labels(
        figure,
        axes,
        [(float(pair.x[i]), float(pair.y[i])) for i in order],
        [swept_text(c) for c in configurations],
        [darker(looked[c.objective].color) for c in configurations],
    )


def _notes(pairs: Sequence[Pair]) -> list[str]:
    """What marks mean, and how many pairs are shown."""
    first = pairs[:MOST_PAIRS]
    notes = ["Each point is a configuration. Rings: the best on each dataset."]
    if any(pair.one_scale for pair in first):
        notes.append("Grey line: equal scores on both.")
    if not all(pair.one_scale for pair in first):
        notes.append("No grey line: the levels differ, so each axis has its own scale.")
    if any(pair.p > CHANCE for pair in first):
        notes.append(f"In brackets: p above {CHANCE:g}.")
    if len(pairs) > len(first):
        notes.append(
            f"{len(first)} of {len(pairs)} pairs of datasets are shown; the file has the others."
        )
    return notes


def _rows(pair: Pair, score: str, is_shown: bool) -> list[dict[str, Any]]:
    return [
        {
            "score": score,
            "first": pair.first,
            "second": pair.second,
            "objective": c.objective,
            "swept_value": c.swept_value,
            "axis": c.axis,
            "first_n": len(c.sample(score).values),
            "second_n": len(other.sample(score).values),
            "first_mean": float(x),
            "second_mean": float(y),
            "spearman": pair.spearman,
            "p": pair.p,
            "shown": is_shown,
        }
        for (c, other), x, y in zip(pair.settings, pair.x, pair.y, strict=True)
    ]
