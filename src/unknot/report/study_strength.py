"""Figures of a study: what strength does, and what it costs."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes

from unknot.core.errors import ConfigError
from unknot.metrics.plain_table import PlainTable
from unknot.report.labels import place_labels
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_style import (
    Drawn,
    darker,
    dress,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import LIGHT, Theme
from unknot.study.cells import Cell, chosen_scores, plain_columns, short, taken, text
from unknot.study.fronts import front
from unknot.study.statistics import Summary, summaries


def strength_lines(
    table: PlainTable,
    scores: Sequence[str] | None = None,
    *,
    lines: Literal["objective", "data"] = "objective",
    across: int = 3,
    baselines: Sequence[Baseline] = (),
    theme: Theme = LIGHT,
) -> Drawn:
    """Mean score over strengths, a line for each objective or dataset, with 95 % intervals.

    Strengths of different objectives are numbers of different things, so they stand at their
    places, smallest first; where all lines have the same, the numbers stand below.

    Args:
        table: One row a run.
        scores: A panel each; all there are unless given.
        lines: What has a line of its own. The other of the two must have one value.
        across: Panels side by side.
        baselines: Lines across the panels.
        theme: Colours.

    Raises:
        ConfigError: There is no such score, or a line would mix datasets or objectives.
    """
    given = plain_columns(table)
    names = chosen_scores(given, scores)
    found = summaries(given, names)
    other = "data" if lines == "objective" else "objective"
    if len(mixed := {getattr(s, other) for s in found}) > 1:
        raise ConfigError(
            f"A line for each {lines} needs one {other}; got {', '.join(sorted(mixed))}. Take "
            "the runs of one."
        )
    groups = list(dict.fromkeys(getattr(s, lines) for s in found))
    looked = looks(groups)
    scales = {g: _scale([s for s in found if getattr(s, lines) == g]) for g in groups}
    same = len({tuple(scale) for scale in scales.values()}) == len({s.axis for s in found}) == 1
    figure, drawn = panels(
        len(names), across=across, size=(2.9, 2.1), head=1.0,
        title="Scores over strength, mean and 95 % interval", theme=theme,
    )  # fmt: skip
    for score, axes in zip(names, drawn, strict=True):
        for place, group in enumerate(groups):
            own = [s for s in found if s.score == score and getattr(s, lines) == group]
            look = looked[group]
            # Side by side, so that intervals do not hide each other.
            x = np.arange(1, len(own) + 1) + 0.06 * (place - (len(groups) - 1) / 2)
            mean = np.array([s.mean for s in own])
            low, high = (np.array([getattr(s, n) for s in own]) for n in ("mean_low", "mean_high"))
            axes.plot(
                x, mean, color=look.colour, linestyle=look.dash, marker=look.marker, markersize=3.8,
                linewidth=1.3,
            )  # fmt: skip
            axes.vlines(x, low, high, color=look.colour, linewidth=1.3)
        mark(axes, baselines, score, "y", theme)
        dress(axes, score, theme)
        _strength_axis(axes, scales[groups[0]] if same else [], max(map(len, scales.values())))
        axes.set_xlabel(
            short(found[0].axis) if same and found[0].axis else "strength, smallest first",
            fontsize=8, color=theme.muted, loc="right", labelpad=2,
        )  # fmt: skip
    words = {g: _words(g, [s for s in found if getattr(s, lines) == g], same) for g in groups}
    notes = (named(baselines, names),)
    legend(figure, {words[g]: looked[g] for g in groups}, theme, across=2, notes=notes)
    return Drawn(figure, [s.row() for s in found])


def trade_off(
    table: PlainTable,
    score: str,
    *,
    cost: str = "recon",
    baselines: Sequence[Baseline] = (),
    theme: Theme = LIGHT,
) -> Drawn:
    """Mean score against mean reconstruction loss, a point for each setting, and the front.

    Rings mark settings that no other beats in one without losing in the other, and the grey stairs
    what they leave unreached. Points of an objective are joined by strength and carry it; bars are
    standard errors.

    Args:
        table: One row a run, of one dataset.
        score: Name of a column.
        cost: Name of a column of which less is better.
        baselines: Of the score, and of the cost where they have it.
        theme: Colours.

    Raises:
        ConfigError: There is no such column, or there are several datasets.
        DataError: No cell has both.
    """
    found = front(table, score, cost=cost)
    looked = looks(cell.objective for cell in found.cells)
    figure, (axes,) = panels(
        1, across=1, size=(6.6, 4.5), head=0.5, title=f"{score} against {cost}", theme=theme
    )
    errors = np.array([[_se(cell, name) for name in (cost, score)] for cell in found.cells])
    order = np.argsort(found.price)
    on = [i for i in order if found.on[i]]
    axes.step(
        found.price[on], found.gain[on], where="post", color=theme.rule, linewidth=5, zorder=0,
        alpha=0.7, solid_joinstyle="miter",
    )  # fmt: skip
    for name, look in looked.items():
        own = [i for i, cell in enumerate(found.cells) if cell.objective == name]
        x, y = found.price[own], found.gain[own]
        axes.errorbar(
            x, y, xerr=errors[own, 0], yerr=errors[own, 1], color=look.colour, marker=look.marker,
            linestyle=look.dash, markersize=4.5, linewidth=0.9, elinewidth=0.7,
        )  # fmt: skip
    axes.plot(
        found.price[on], found.gain[on], "o", markersize=9.5, markerfacecolor="none",
        markeredgecolor=theme.ink, markeredgewidth=1.0,
    )  # fmt: skip
    mark(axes, baselines, score, "y", theme)
    mark(axes, baselines, cost, "x", theme)
    dress(axes, "", theme, grid="both", ticks=5)
    maybe_log(axes, "x", found.price)
    axes.set_xlabel(f"{cost}, less is better", fontsize=8.5, color=theme.muted, loc="right")
    axes.set_ylabel(score, fontsize=8.5, color=theme.muted)
    legend(figure, looked, theme, notes=(*found.remarks, named(baselines, (score, cost))))
    points = [(float(x), float(y)) for x, y in zip(found.price, found.gain, strict=True)]
    first = [*on, *(i for i in range(len(points)) if not found.on[i])]
    place_labels(
        figure,
        axes,
        [points[i] for i in first],
        [text(found.cells[i].strength) for i in first],
        [darker(looked[found.cells[i].objective].colour, theme) for i in first],
        paths=[
            [
                point
                for point, cell in zip(points, found.cells, strict=True)
                if cell.objective == name
            ]
            for name in looked
        ],
    )
    return Drawn(figure, found.rows())


def _scale(own: list[Summary]) -> list[float | str]:
    return list(dict.fromkeys(s.strength for s in own))


def _words(group: str, own: list[Summary], same: bool) -> str:
    """A line's name, with its strengths where the axis does not have them."""
    scale = _scale(own)
    if same or not own[0].axis:
        return group
    return f"{group}: {short(own[0].axis)} {', '.join(text(s) for s in scale)}"


def _strength_axis(axes: Axes, scale: list[float | str], longest: int) -> None:
    ticks = range(1, longest + 1)
    axes.set_xticks(list(ticks), [text(s) for s in scale] if scale else [str(t) for t in ticks])
    axes.set_xlim(0.6, longest + 0.4)


def _se(cell: Cell, score: str) -> float:
    values = taken(cell.runs, score).values
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
