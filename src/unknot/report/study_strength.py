"""Figures of a study: what strength does, and what it costs."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration, hashable
from unknot.analysis.lines import Line, setting_lines
from unknot.core.errors import ConfigError
from unknot.core.text import setting_text
from unknot.report.labels import place_labels
from unknot.report.study_axis import (
    axis_words,
    has_numbers,
    label_axis,
    last_word,
    places,
    told_apart,
)
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_style import (
    DASHES,
    SHIFT,
    DataFigure,
    Look,
    darker,
    legend,
    looks,
    maybe_log,
    means_line,
    panels,
)
from unknot.report.style import INK, RULE, set_panel, styled

MARGIN = 0.6
"""Inches beside the places of a panel."""


@styled
def strength_lines(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    lines: Literal["objective", "data"] = "objective",
    objectives: Collection[str] | None = None,
    across: int = 3,
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Mean score over strengths, lines of each objective or dataset, with 95 % intervals.

    Where settings differ in several things, the one that makes the fewest lines is the axis, and
    every other has a line for each of its values; see `unknot.analysis.lines.setting_lines`.

    Strengths of different objectives are numbers of different things, so they stand at their
    places, smallest first; where all lines go over the same setting, the numbers stand below.

    Args:
        results: Of any number of datasets.
        scores: A panel each; all there are unless given.
        lines: What has lines of its own. The other of the two must have one value.
        objectives: Those that are shown; all there are unless given.
        across: Panels side by side.
        baselines: Lines across the panels.

    Raises:
        ConfigError: There is no such score, or a line would mix datasets or objectives.
    """
    names = results.choose(scores)
    found = [line for line in results.lines if objectives is None or line.objective in objectives]
    other = "data" if lines == "objective" else "objective"
    if len(mixed := {getattr(line, other) for line in found}) > 1:
        raise ConfigError(
            f"A line for each {lines} needs one {other}; got {', '.join(sorted(mixed))}. Take "
            "the runs of one."
        )
    said = [_apart(line, found) for line in found]
    looked = _looks([getattr(line, lines) for line in found], said)
    held = [[results.summary(one, names) for one in line.configurations] for line in found]
    several = any(one[score].n > 1 for own in held for one in own for score in names)
    figure, drawn = panels(
        len(names), across=across, size=(2.9, 2.1), head=1.0,
        title=f"Scores over {axis_words(found)}{', mean and 95 % interval' if several else ''}",
    )  # fmt: skip
    room = float(figure.get_size_inches()[0]) / min(across, len(names)) - MARGIN
    for score, axes in zip(names, drawn, strict=True):
        for i, line in enumerate(found):
            own = [one[score] for one in held[i]]
            numbers = ([getattr(s, n) for s in own] for n in ("mean", "mean_low", "mean_high"))
            means_line(axes, places(line, found), *numbers, look=looked[i],
                       shift=several * SHIFT * (i - (len(found) - 1) / 2))  # fmt: skip
        mark(axes, baselines, score, "y")
        set_panel(axes, score)
        label_axis(axes, found, room)
    words = [
        _words(getattr(line, lines), apart, line, has_numbers(found))
        for line, apart in zip(found, said, strict=True)
    ]
    notes = (named(baselines, names),)
    legend(figure, dict(zip(words, looked, strict=True)), across=2, notes=notes)
    rows = [
        {**one[score].row(), "strength": value, "axis": line.axis, "line": word}
        for line, word, own in zip(found, words, held, strict=True)
        for value, one in zip(line.values, own, strict=True)
        for score in names
    ]
    return DataFigure(figure, rows)


@styled
def trade_off(
    results: Results,
    score: str,
    *,
    cost: str = "recon",
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Mean score against mean reconstruction loss, a point for each setting, and the front.

    Rings mark settings that no other beats in one without losing in the other, and the grey stairs
    what they leave unreached. Points carry their strength, and are joined by it where
    `setting_lines` finds an order; bars are standard errors.

    Args:
        results: Of one dataset.
        score: Name of a column.
        cost: Name of a column of which less is better.
        baselines: Of the score, and of the cost where they have it.

    Raises:
        ConfigError: There is no such column, or there are several datasets.
        DataError: No cell has both.
    """
    found = results.front(score, cost)
    looked = looks(cell.objective for cell in found.configurations)
    figure, (axes,) = panels(
        1, across=1, size=(6.6, 4.5), head=0.5, title=f"{score} against {cost}"
    )
    errors = np.array(
        [[_se(cell, name) for name in (cost, score)] for cell in found.configurations]
    )
    order = np.argsort(found.price)
    on = [i for i in order if found.on[i]]
    axes.step(
        found.price[on], found.gain[on], where="post", color=RULE, linewidth=5, zorder=0,
        alpha=0.7, solid_joinstyle="miter",
    )  # fmt: skip
    place = {id(cell): i for i, cell in enumerate(found.configurations)}
    for line in setting_lines(found.configurations):
        own, look = [place[id(cell)] for cell in line.configurations], looked[line.objective]
        x, y = found.price[own], found.gain[own]
        axes.errorbar(
            x, y, xerr=errors[own, 0], yerr=errors[own, 1], color=look.colour, marker=look.marker,
            linestyle=look.dash if line.ordered else "none", markersize=4.5, linewidth=0.9,
            elinewidth=0.7,
        )  # fmt: skip
    axes.plot(
        found.price[on], found.gain[on], "o", markersize=9.5, markerfacecolor="none",
        markeredgecolor=INK, markeredgewidth=1.0,
    )  # fmt: skip
    mark(axes, baselines, score, "y")
    mark(axes, baselines, cost, "x")
    set_panel(axes, "", grid="both", ticks=5)
    maybe_log(axes, "x", found.price)
    axes.set_xlabel(f"{cost}, less is better")
    axes.set_ylabel(score)
    legend(figure, looked, notes=(*found.remarks, named(baselines, (score, cost))))
    points = [(float(x), float(y)) for x, y in zip(found.price, found.gain, strict=True)]
    first = [*on, *(i for i in range(len(points)) if not found.on[i])]
    place_labels(
        figure,
        axes,
        [points[i] for i in first],
        [setting_text(found.configurations[i].strength) for i in first],
        [darker(looked[found.configurations[i].objective].colour) for i in first],
        paths=[
            [
                point
                for point, cell in zip(points, found.configurations, strict=True)
                if cell.objective == name
            ]
            for name in looked
        ],
    )
    return DataFigure(figure, found.rows())


def _looks(groups: Sequence[str], apart: Sequence[str]) -> list[Look]:
    """A colour for each group, a dash for what tells its lines apart.

    Where there is more of the latter it has the colours, since eyes follow these better.
    """
    if len(set(apart)) == 1:
        own = looks(groups)
        return [own[group] for group in groups]
    first, second = groups, apart
    if len(set(apart)) > len(set(groups)):
        first, second = apart, groups
    own, dashed = looks(first), list(dict.fromkeys(second))
    return [
        replace(own[a], dash=DASHES[dashed.index(b) % len(DASHES)])
        for a, b in zip(first, second, strict=True)
    ]


def _apart(line: Line, found: Sequence[Line]) -> str:
    """What tells a line from others of its objective, in words."""
    said = []
    for name, value in line.apart.items():
        every = list(dict.fromkeys(hashable(o.apart[name]) for o in found if name in o.apart))
        said.append(f"{last_word(name)} {told_apart(every)[every.index(hashable(value))]}")
    return ", ".join(said)


def _words(group: str, apart: str, line: Line, same: bool) -> str:
    """A line's name, with its strengths where the axis does not have them."""
    name = ", ".join(word for word in (group, apart) if word)
    if same or not line.axis:
        return name
    return f"{name}: {last_word(line.axis)} {', '.join(told_apart(line.values))}"


def _se(cell: Configuration, score: str) -> float:
    values = cell.sample(score).values
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
