"""What figures of a study share: looks of objectives, panels, rows of configurations, files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import offset_copy

from unknot.analysis.configurations import Configuration
from unknot.analysis.statistics import Summary
from unknot.core.csv_files import csv_text
from unknot.core.files import inside, write_whole
from unknot.core.text import setting_label, setting_text
from unknot.report.labels import place_labels
from unknot.report.style import (
    CYCLE,
    INK,
    LONGEST_ENTRY,
    MUTED,
    RULE,
    new_figure,
    number_ticks,
    png,
    svg,
)

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
HATCHES = ("", "////", "....", "xxxx")
WIDE = 3.0
"""Times the smallest value from which on an axis is logarithmic."""
FAR_APART = 1e5
"""The same of scores, of which a plain axis would show the largest alone; powers of ten are ticks
enough there."""
ROW = 0.165
"""Inches of one configuration."""
FEW = 10
"""Runs up to which each is a dot of its own: quartiles of fewer say nothing."""
SHIFT = 1.5
"""Points of a panel that a line is drawn beside the next."""

HANDLE = 0.5
"""Inches of an entry of a legend without its name."""
LONG_ROW = 32
"""Letters of the name of a row, beyond which it has the values of settings alone."""
LETTER = 0.07
"""Inches of a letter in a legend."""

MeansLine = Sequence[Sequence[float]]
"""Places, means, and lower and upper ends of intervals."""
Mark = tuple[float, float, Configuration]
"""A configuration and where it stands."""


@dataclass(frozen=True, eq=False)
class DataFigure:
    """A figure, and the numbers in it as rows."""

    figure: Figure
    rows: list[dict[str, Any]]

    @property
    def csv(self) -> str:
        """The rows as the text of a CSV file; what is not a number stays empty."""
        return csv_text(self.rows)

    @property
    def svg(self) -> bytes:
        """The figure as the bytes of an SVG file, the same at every call."""
        return svg(self.figure)

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write figure and numbers as PNG, SVG and CSV."""
        parts = {"png": png(self.figure), "svg": self.svg, "csv": self.csv.encode()}
        paths = [inside(folder, f"{name}.{ending}") for ending in parts]
        for path, data in zip(paths, parts.values(), strict=True):
            write_whole(path, data)
        return paths


@dataclass(frozen=True)
class Look:
    """How one of several groups is drawn: told apart by colour, and without it."""

    color: str
    marker: str
    dash: Any
    fill: str | None = None
    """Of its markers, where it is another colour."""


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look for each name, always the same for the same list."""
    distinct = dict.fromkeys(names)
    return {
        name: Look(
            CYCLE[i % len(CYCLE)],
            MARKERS[(i + i // len(CYCLE)) % len(MARKERS)],
            DASHES[(i + i // len(CYCLE)) % len(DASHES)],
        )
        for i, name in enumerate(distinct)
    }


def across(n: int, most: int = 5) -> int:
    """Panels side by side, so that rows are about equally long.

    Example:
        >>> [across(n) for n in (1, 4, 6, 8, 9, 11)]
        [1, 4, 3, 4, 5, 4]
    """
    return -(-n // -(-n // most))


def panels(
    n: int,
    *,
    size: tuple[float, float],
    head: float,
    title: str,
    most: int = 5,
    width: float | None = None,
) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels of a size in inches, row by row, and room for a title.

    At most so many are side by side. In the column of a paper, of a width in inches, each has a row
    of its own, and the caption says what the title would.
    """
    wide = across(n, most) if width is None else 1
    down = -(-n // wide)
    figure = new_figure(
        (width or max(size[0] * wide, 4.6), size[1] * down + head), "" if width else title
    )
    return figure, [figure.add_subplot(down, wide, i + 1) for i in range(n)]


def is_leftmost(axes: Axes) -> bool:
    """Whether a panel stands at the left of its figure."""
    place = axes.get_subplotspec()
    return place is None or place.is_first_col()


def maybe_log(axes: Axes, which: str, values: np.ndarray, wide: float = WIDE) -> None:
    """A logarithmic axis for what spans more than so many times its smallest value."""
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    if low <= 0 or high < wide * low:
        return
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    far = high > FAR_APART * low
    axis.set_major_locator(LogLocator(numticks=4) if far else LogLocator(subs=(1, 2, 3, 5)))
    axis.set_minor_formatter(NullFormatter())
    number_ticks(axis)


def draw_means(
    axes: Axes,
    lines: Sequence[MeansLine],
    looks: Iterable[Look],
    runs: Sequence[Sequence[Sequence[float]]] = (),
) -> None:
    """Lines of means and their intervals, side by side where these would hide others.

    Args:
        axes: A panel.
        lines: Of means.
        looks: Of the lines.
        runs: For each line the values behind each of its means, where they are to be seen.
    """
    dotted = any(len(values) for of_line in runs for values in of_line)
    several = dotted or any(low == low for *_, lows, _ in lines for low in lows)
    for i, ((x, mean, low, high), look) in enumerate(zip(lines, looks, strict=True)):
        (line,) = axes.plot(
            x, mean, color=look.color, linestyle=look.dash, marker=look.marker, markersize=3.8,
            linewidth=1.3,
        )  # fmt: skip
        bars = axes.vlines(x, low, high, color=look.color, linewidth=1.3)
        # Only now: the limits of a panel go by points that lie where their values are.
        shift = several * SHIFT * (i - (len(lines) - 1) / 2)
        shifted = offset_copy(axes.transData, axes.get_figure(root=True), x=shift, units="points")
        line.set_transform(shifted)
        bars.set_transform(shifted)
        if runs and any(map(len, runs[i])):
            places = np.repeat(x, [len(values) for values in runs[i]])
            dots = axes.scatter(
                places, np.concatenate(runs[i]), s=6, color=look.color, alpha=0.5, linewidth=0
            )
            dots.set_offset_transform(shifted)


def label_points(
    figure: Figure,
    axes: Axes,
    points: Sequence[Mark],
    looks: Mapping[str, Look],
    *,
    joined: Sequence[Mark],
    texts: Sequence[Text] = (),
) -> None:
    """Swept values beside points, away from the lines that join configurations, and from texts."""
    place_labels(
        figure,
        axes,
        [(x, y) for x, y, _ in points],
        [setting_text(c.swept_value) for *_, c in points],
        [darker(looks[c.objective].color) for *_, c in points],
        paths=[[(x, y) for x, y, c in joined if c.objective == name] for name in looks],
        texts=texts,
    )


def legend(
    figure: Figure,
    looks: Mapping[str, Look | Artist],
    *,
    across: int = 3,
    notes: Sequence[str] = (),
) -> None:
    """The looks in rows below the panels, and lines above them that say what else to know.

    At most so many are side by side, and fewer where their names would not fit.
    """
    handles = [
        Line2D(
            [], [], color=look.color, marker=look.marker, markersize=4.5, linestyle=look.dash,
            linewidth=1.6, markerfacecolor=look.fill or look.color,
        )
        if isinstance(look, Look)
        else look
        for look in looks.values()
    ]  # fmt: skip
    letters = max(min(len(name), LONGEST_ENTRY) for name in looks) if looks else 0
    fitting = int(float(figure.get_size_inches()[0]) / (HANDLE + LETTER * letters))
    box = figure.legend(
        handles, list(looks), loc="outside lower left",
        ncols=max(1, min(len(looks), across, fitting)),
        alignment="left", title="\n".join(note for note in notes if note) or None,
    )  # fmt: skip
    box.get_title().set_color(MUTED)


def darker(color: str) -> str:
    """A colour for letters: light ones cannot be read."""
    light, ink = np.array(to_rgb(color)), np.array(to_rgb(INK))
    red, green, blue = (0.6 * light + 0.4 * ink).tolist()
    return to_hex((red, green, blue))


@dataclass(frozen=True)
class ConfigurationRows:
    """Configurations one below the other, each objective under its name."""

    places: tuple[float, ...]
    """Of the configurations, from the top down."""
    names: tuple[str, ...]
    heads: tuple[tuple[float, str, str], ...]
    """Where objectives stand, their names, and the settings whose values name their rows."""
    length: float

    def label_axis(self, axes: Axes, looks: Mapping[str, Look] | None = None) -> None:
        """Name the rows, objectives in the colours of their looks; only at the left of a figure."""
        first = is_leftmost(axes)
        axes.set_ylim(self.length - 0.4, -0.8)
        axes.set_yticks(
            [*self.places, *(place for place, _, _ in self.heads)],
            [*self.names, *(f"{name}{settings}" for _, name, settings in self.heads)]
            if first
            else None,
        )
        axes.tick_params(axis="y", length=0, labelcolor=INK, labelleft=first)
        for place, _, _ in self.heads:
            axes.axhline(place - 0.55, color=RULE, linewidth=0.6)
        if first:
            labels = axes.get_yticklabels()[len(self.places) :]
            for label, (_, name, _) in zip(labels, self.heads, strict=True):
                label.set_fontweight("bold")
                label.set_color(darker(looks[name].color) if looks else INK)


def configuration_rows(configurations: Sequence[Configuration]) -> ConfigurationRows:
    """Where each stands; an objective of one configuration needs no line of its own.

    Where names of rows would be cut off, so that some look alike, rows have the values of settings
    and the objective has their names.

    Example:
        >>> settings = [{"net": "convolutional", "batch": 64, "steps": steps} for steps in (1, 2)]
        >>> settings += [{"net": "mlp", "batch": 128, "steps": 1}]
        >>> named = [", ".join(f"{k} {v}" for k, v in s.items()) for s in settings]
        >>> rows = configuration_rows([
        ...     Configuration("vae", name, "", s, {}) for name, s in zip(named, settings)])
        >>> rows.heads, rows.names
        (((0.0, 'vae', ': net · batch · steps'),), ('convolutional · 64 · 1', ...))
    """
    places, names, heads = [], [], []
    place = 0.0
    by_objective: dict[str, list[Configuration]] = {}
    for configuration in configurations:
        by_objective.setdefault(configuration.objective, []).append(configuration)
    settings = {name: _row_settings(group) for name, group in by_objective.items()}
    previous = None
    for configuration in configurations:
        name, alone = configuration.objective, len(by_objective[configuration.objective]) == 1
        if name != previous and not alone:
            labels = " · ".join(map(setting_label, settings[name]))
            heads.append((place, name, f": {labels}" if labels else ""))
            place += 1
        previous = name
        places.append(place)
        values = [setting_text(configuration.settings.get(s, "–")) for s in settings[name]]
        text = " · ".join(values) or swept_text(configuration)
        names.append(configuration.label if alone else text)
        place += 1
    return ConfigurationRows(tuple(places), tuple(names), tuple(heads), place)


def _row_settings(configurations: Sequence[Configuration]) -> list[str]:
    """The settings whose values tell rows with long names apart; none where all names are short."""
    if all(len(swept_text(c)) <= LONG_ROW for c in configurations):
        return []
    names = dict.fromkeys(name for c in configurations for name in c.settings)
    return [
        name
        for name in names
        if len({setting_text(c.settings.get(name)) for c in configurations}) > 1
        and any(setting_label(name) in swept_text(c) for c in configurations)
    ]


def swept_text(item: Configuration | Summary) -> str:
    """The swept value of a configuration, with the name of its setting."""
    parts = setting_label(item.axis), setting_text(item.swept_value)
    return " ".join(part for part in parts if part)
