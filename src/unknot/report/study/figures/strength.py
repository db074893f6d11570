"""Figure of a study: scores over a swept value."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from unknot.analysis import Results
from unknot.analysis.configurations import hashable
from unknot.analysis.lines import Line
from unknot.core.errors import ConfigError
from unknot.report.study.catalogue import Figure, Part
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
    legend,
    looks,
    means_line,
    panels,
)
from unknot.report.style import (
    set_panel,
    styled,
)

MARGIN = 0.6
"""Inches beside the places of a panel."""
MOST_TOGETHER = 16
"""Lines of a panel, where objectives have several each."""


def applies(part: Part) -> Iterator[Figure]:
    """Where numbers put configurations in order, and lines are few enough to be followed."""
    results, shown = part.results, part.results.panels
    # Configurations that no number puts in order cannot be a line.
    objectives = {line.objective for line in ordered_lines(results)}
    if objectives:
        yield Figure(
            "strength", "strength", *_words_of(results, shown, objectives, part.baselines),
            lambda: draw(
                results, shown, objectives=objectives,
                across=2 if len(shown) in (2, 4) else 3, baselines=part.baselines,
            ),
        )  # fmt: skip


def over_datasets(part: Part) -> Iterator[Figure]:
    """A figure for each objective, with lines of each dataset."""
    results, shown = part.results, part.results.scores
    for name in (one.objective for one in results.objectives):
        yield Figure(
            "datasets", f"datasets-{name}", *_words_of(results, shown, [name], ()),
            lambda name=name: draw(results, shown, lines="data", objectives=[name]),  # type: ignore[misc]
            name,
        )  # fmt: skip


def ordered_lines(results: Results) -> list[Line]:
    """The lines that a figure can have; none where there are too many."""
    lines = [line for line in results.lines if line.ordered]
    most = max(MOST_TOGETHER, len({line.objective for line in lines}))
    return lines if len(lines) <= most else []


def title(lines: Sequence[Line], several: bool) -> str:
    """What stands above the panels."""
    return f"Scores over {axis_words(lines)}{', mean and 95 % interval' if several else ''}"


def _words_of(
    results: Results,
    shown: Sequence[str],
    objectives: Collection[str],
    baselines: Sequence[Baseline],
) -> tuple[str, tuple[str, ...]]:
    lines = [line for line in results.lines if line.objective in objectives]
    several = any(
        len(one.sample(score).values) > 1
        for line in lines for one in line.configurations for score in shown
    )  # fmt: skip
    return title(lines, several), (named(baselines, shown),)


@styled
def draw(
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
        title=title(found, several),
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
    legend(
        figure, dict(zip(words, looked, strict=True)), across=2, notes=(named(baselines, names),)
    )
    rows = [
        {**one[score].row(), "strength": value, "axis": line.axis, "line": word}
        for line, word, own in zip(found, words, held, strict=True)
        for value, one in zip(line.values, own, strict=True)
        for score in names
    ]
    return DataFigure(figure, rows)


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
