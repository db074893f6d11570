"""Figure of a study: scores over a swept value."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from unknot.analysis import Results
from unknot.analysis.configurations import hashable
from unknot.analysis.intervals import FEW, SPARSE
from unknot.analysis.lines import Line
from unknot.core.errors import ConfigError
from unknot.core.text import setting_label, value_text
from unknot.report.study.baselines import Baseline, describe_baselines, draw_baselines
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.style import (
    DASHES,
    FAR_APART,
    DataFigure,
    Look,
    MeansLine,
    across,
    draw_means,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import number_ticks, set_panel, styled

MOST_ACROSS = 3
"""Panels side by side."""
LEGEND_ROW = 0.18
"""Inches of a line of a legend in the column of a paper."""
MARGIN = 0.6
"""Inches beside the places of a panel."""
MOST_TOGETHER = 16
"""Lines of a panel, where objectives have several each."""
MANY = 8
"""Lines from which on panels are larger, and two side by side."""
MOST_SCALES = 3
"""Rows of values below an axis that objectives share."""
LETTER = 0.075
"""Inches of a letter below an axis, and a little more."""
DECADES = 20.0
"""Times the smallest value from which on powers of ten are ticks enough."""


def applies(part: Part) -> Iterator[Figure]:
    """Where numbers put configurations in order, and lines are few enough to be followed."""
    results = part.results
    # Configurations that no number puts in order cannot be a line.
    if objectives := {line.objective for line in ordered_lines(results)}:
        show = partial(draw, results, results.panels, baselines=part.baselines)
        yield Figure("swept-value", "swept-value", partial(show, objectives=objectives))


def over_datasets(part: Part) -> Iterator[Figure]:
    """A figure for each objective of which a value is swept, with lines of each dataset."""
    several = {line.objective for line in part.results.lines if len(line.configurations) > 1}
    for name in (c.objective for c in part.results.objectives if c.objective in several):
        show = partial(draw, part.results, lines="data", objectives=[name])
        yield Figure("datasets", f"datasets-{name}", show, name)


def ordered_lines(results: Results) -> list[Line]:
    """The lines that a figure can have; none where there are too many."""
    lines = [line for line in results.lines if line.ordered]
    most = max(MOST_TOGETHER, len({line.objective for line in lines}))
    return lines if len(lines) <= most else []


def axis_name(lines: Sequence[Line]) -> str:
    """What lines go over: strength for numbers of objectives, and others by their names.

    Example:
        >>> axis_name([Line("vae", "", "data.spacing", {}, (), ())])
        'spacing'
    """
    strengths = ("objective", "strength", "")
    names = (
        "strength" if line.axis.partition(".")[0] in strengths else last_name(line.axis)
        for line in lines
    )
    return " or ".join(dict.fromkeys(names))


def describe_lines(lines: Sequence[Line]) -> str:
    """What the points of lines are, what order they have, and what may be compared.

    Example:
        >>> from unknot.analysis.configurations import Configuration
        >>> runs = {"objective": ["vae"]}
        >>> two = tuple(Configuration("vae", float(x), "data.spacing", {}, runs) for x in (1, 8))
        >>> describe_lines([Line("vae", "", "data.spacing", {}, (1.0, 8.0), two)])
        'One run per configuration, from the smallest to the largest spacing.'
    """
    sizes = {c.size for line in lines for c in line.configurations}
    text = "Means over seeds" if max(sizes) > 1 else "One run per configuration"
    text += " with 95% intervals" if max(sizes) >= FEW else ""
    axis = axis_name(lines)
    if axis == "strength":
        text += ", from the weakest to the strongest regularisation of each objective."
    else:
        text += f", from the smallest to the largest {axis}."
    text += " Dots are runs." if 1 < min(sizes) < SPARSE else ""
    if any(line.apart for line in lines):
        text += " Configurations that also differ in something else have lines of their own."
    if len({line.axis for line in lines}) > 1:
        text += (
            " Strengths of two objectives are different quantities: compare the shapes of lines, "
            "not their positions."
        )
    return text


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    lines: Literal["objective", "data"] = "objective",
    objectives: Collection[str] | None = None,
    baselines: Sequence[Baseline] = (),
    width: float | None = None,
) -> DataFigure:
    """Mean score over swept values, lines of each objective or dataset, with 95% intervals.

    Intervals take five seeds; of fewer than ten seeds each run is a dot.

    Where configurations differ in several settings, the one that makes the fewest lines is the
    axis, and every other has a line for each of its values; see
    `unknot.analysis.lines.setting_lines`.

    Strengths of different objectives are numbers of different things, so they stand at their
    places, smallest first; where all lines go over the same setting, the numbers stand below.

    Args:
        results: Of any number of datasets.
        scores: A panel each; all there are unless given.
        lines: What has lines of its own. The other of the two must have one value.
        objectives: Those that are shown; all there are unless given.
        baselines: Lines across the panels.
        width: Inches of a paper's column that it is made for, with a caption for title and notes.
    """
    names = results.choose(scores)
    selected = [
        line for line in results.lines if objectives is None or line.objective in objectives
    ]
    other = "data" if lines == "objective" else "objective"
    if len(mixed := {getattr(line, other) for line in selected}) > 1:
        raise ConfigError(
            f"A line for each {lines} needs one {other}; got {', '.join(sorted(mixed))}. Take "
            "the runs of one."
        )
    groups = [getattr(line, lines) for line in selected]
    apart = [_difference_text(line, selected) for line in selected]
    looked, labels = _looks(groups, apart), _labels(groups, apart, selected)
    summaries = [[results.summary(c, names) for c in line.configurations] for line in selected]
    counts = {point[score].n for points in summaries for point in points for score in names}
    interval = ", mean and 95% interval" if max(counts) >= FEW else ""
    many = len(selected) > MANY and width is None
    most, size = (2, (4.4, 3.4)) if many else (MOST_ACROSS, (2.9, 2.1))
    figure, all_axes = panels(
        len(names), most=most, size=size, width=width,
        head=1.0 if width is None else LEGEND_ROW * len(labels),
        title=f"Scores over {axis_name(selected)}{interval}",
    )  # fmt: skip
    columns = 1 if width else across(len(names), most)
    room = float(figure.get_size_inches()[0]) / columns - MARGIN
    for score, axes in zip(names, all_axes, strict=True):
        curves: list[MeansLine] = []
        for line, points in zip(selected, summaries, strict=True):
            mean, low, high = (
                [getattr(point[score], name) for point in points]
                for name in ("mean", "mean_low", "mean_high")
            )
            curves.append((_places(line, selected), mean, low, high))
        runs = [
            [point[score].values if 1 < point[score].n < SPARSE else () for point in points]
            for points in summaries
        ]
        draw_means(axes, curves, looked, runs)
        draw_baselines(axes, baselines, score, "y")
        set_panel(axes, score)
        _label_axis(axes, selected, room)
        maybe_log(axes, "y", results.values(score), FAR_APART)
    notes = () if width else (describe_baselines(baselines, names),)
    entries = dict(zip(labels, looked, strict=True))
    legend(figure, entries, across=1 if width else 2, notes=notes)
    rows = [
        {**point[score].row(), "swept_value": value, "axis": line.axis, "line": label}
        for line, label, points in zip(selected, labels, summaries, strict=True)
        for value, point in zip(line.values, points, strict=True)
        for score in names
    ]
    return DataFigure(figure, rows)


def line_looks(lines: Sequence[Line]) -> dict[str, Look]:
    """A look for each line by its name, objectives in colours."""
    groups = [line.objective for line in lines]
    apart = [_difference_text(line, lines) for line in lines]
    names = [", ".join(filter(None, pair)) for pair in zip(groups, apart, strict=True)]
    return dict(zip(names, _looks(groups, apart), strict=True))


def _looks(groups: Sequence[str], apart: Sequence[str]) -> list[Look]:
    """A colour for each group, a dash for what tells its lines apart.

    Where there is more of the latter it has the colours, since eyes follow these better.
    """
    first, second = groups, apart
    if len(set(apart)) > len(set(groups)):
        first, second = apart, groups
    colors, dashes = looks(first), list(dict.fromkeys(second))
    if len(set(apart)) == 1:
        return [colors[group] for group in first]
    return [
        replace(colors[a], dash=DASHES[dashes.index(b) % len(DASHES)])
        for a, b in zip(first, second, strict=True)
    ]


def _difference_text(line: Line, lines: Sequence[Line]) -> str:
    """What tells a line from others of its objective."""
    parts = []
    for name, value in line.apart.items():
        values = list(dict.fromkeys(hashable(o.apart[name]) for o in lines if name in o.apart))
        parts.append(f"{last_name(name)} {distinct_texts(values)[values.index(hashable(value))]}")
    return ", ".join(parts)


def _labels(groups: Sequence[str], apart: Sequence[str], lines: Sequence[Line]) -> list[str]:
    """Names of lines, with their values where the axis does not have them."""
    names = [", ".join(filter(None, pair)) for pair in zip(groups, apart, strict=True)]
    if _has_numbers(lines) or len(_scales(lines)) <= MOST_SCALES:
        return names
    return [
        f"{name}: {last_name(line.axis)} {', '.join(distinct_texts(line.values))}"
        if line.axis
        else name
        for name, line in zip(names, lines, strict=True)
    ]


# The axis: where points stand, and what its ticks say


def last_name(name: str) -> str:
    """A setting's name without all that it is in."""
    return setting_label(name).rpartition(".")[2]


def distinct_texts(values: Sequence[Any]) -> list[str]:
    """Values for people: three digits, or as many more as tell them apart.

    Example:
        >>> distinct_texts([0.0517734, 12.0, 115200, "none"]), distinct_texts([1.0001, 1.0002])
        (['0.0518', '12', '115,200', 'none'], ['1.0001', '1.0002'])
    """
    texts: list[str] = []
    for digits in range(3, 7):
        texts = [value_text(value, digits) for value in values]
        if len(set(texts)) == len(set(values)):
            break
    return texts


def _shared(lines: Sequence[Line]) -> bool:
    """Whether all lines have the same values of the same setting."""
    return len({(line.axis, line.values) for line in lines}) == 1


def _on_numbers(lines: Sequence[Line]) -> bool:
    """Whether lines have other values of the same setting: then they stand where these are."""
    shared = len({line.axis for line in lines}) == 1 and all(line.ordered for line in lines)
    return shared and not _shared(lines)


def _has_numbers(lines: Sequence[Line]) -> bool:
    """Whether the axis says what the values of all lines are."""
    return _shared(lines) or _on_numbers(lines)


def _places(line: Line, lines: Sequence[Line]) -> list[float]:
    """Where a line's points stand.

    At their values where lines have different ones of the same setting; else one beside the other,
    since values of different settings are numbers of different things.
    """
    values = line.values if _on_numbers(lines) else range(1, len(line.values) + 1)
    return [float(value) for value in values]


def _label_axis(axes: Axes, lines: Sequence[Line], room: float) -> None:
    """Ticks that do not overlap in so many inches, and the name of the setting."""
    if _on_numbers(lines):
        values = np.array([value for line in lines for value in line.values])
        number_ticks(axes.xaxis, 4)
        maybe_log(axes, "x", values)
        if axes.get_xscale() == "log" and values.max() > DECADES * values.min():
            axes.xaxis.set_major_locator(LogLocator(numticks=5))
    else:
        places = range(1, max(len(line.values) for line in lines) + 1)
        texts = _tick_texts(lines, len(places))
        # At places of equal distance, so many have room beside each other.
        longest = max(len(part) for text in texts for part in text.split("\n"))
        fit = max(1, int(room / (LETTER * (longest + 1))))
        step = -(-len(texts) // fit)
        axes.set_xticks(places, [text if i % step == 0 else "" for i, text in enumerate(texts)])
        axes.set_xlim(0.6, len(places) + 0.4)
    scales = _scales(lines)
    if _has_numbers(lines) and lines[0].axis:
        axes.set_xlabel(last_name(lines[0].axis))
    elif len(scales) <= MOST_SCALES:
        axes.set_xlabel("\n".join(last_name(axis) or axis_name(lines) for axis, _ in scales))
    else:
        axes.set_xlabel(f"{axis_name(lines)}, smallest first")


def _scales(lines: Sequence[Line]) -> list[tuple[str, tuple[Any, ...]]]:
    """The settings that lines go over, each with its values, as often as they differ."""
    return list(dict.fromkeys((line.axis, tuple(line.values)) for line in lines))


def _tick_texts(lines: Sequence[Line], n: int) -> list[str]:
    """What stands below n places: values, a row for each scale; of many scales, places."""
    scales = [distinct_texts(values) for _, values in _scales(lines)]
    if len(scales) > MOST_SCALES:
        return [str(place) for place in range(1, n + 1)]
    padded = [[*texts, *[""] * (n - len(texts))] for texts in scales]
    return ["\n".join(column) for column in zip(*padded, strict=True)]
