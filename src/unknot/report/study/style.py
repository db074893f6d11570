"""What figures of a study share: looks of objectives, panels, rows of settings, files."""

import math
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
from matplotlib.ticker import LogLocator, NullFormatter
from matplotlib.transforms import offset_copy

from unknot.analysis.configurations import Configuration
from unknot.core.csv_files import csv_text
from unknot.core.files import write_whole
from unknot.core.text import setting_label, setting_text
from unknot.report.style import CYCLE, INK, MUTED, RULE, new_figure, number_ticks, png, svg

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
HATCHES = ("", "////", "....", "xxxx")
WIDE = 3.0
"""Times the smallest value from which on an axis is logarithmic."""
ROW = 0.165
"""Inches of one setting."""
FEW = 10
"""Runs up to which each is a dot of its own: quartiles of fewer say nothing."""
LETTERS = 10
"""Of a title that go into an inch."""
SHIFT = 1.5
"""Points of a panel that a line is drawn beside the next."""


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
        for ending, data in parts.items():
            write_whole(folder / f"{name}.{ending}", data)
        return [folder / f"{name}.{ending}" for ending in parts]


@dataclass(frozen=True)
class Look:
    """How one of several groups is drawn: told apart by colour, and without it."""

    colour: str
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


def panels(
    n: int, *, across: int, size: tuple[float, float], head: float, title: str
) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels of a size in inches, row by row, and room for a title."""
    across = min(n, across)
    down = math.ceil(n / across)
    width = max(size[0] * across, 4.6)
    figure = new_figure((width, size[1] * down + head), title)
    return figure, [figure.add_subplot(down, across, i + 1) for i in range(n)]


def across(n: int) -> int:
    """Panels side by side, so that rows are about equally long.

    Example:
        >>> [across(n) for n in (1, 4, 6, 8, 9, 11)]
        [1, 4, 3, 4, 5, 4]
    """
    return n if n <= 4 else -(-n // -(-n // 5))


def maybe_log(axes: Axes, which: str, values: np.ndarray) -> None:
    """A logarithmic axis for what spans more than a few times its smallest value."""
    low, high = float(values.min()), float(values.max())
    if low <= 0 or high < WIDE * low:
        return
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    axis.set_minor_formatter(NullFormatter())
    number_ticks(axis)


def means_line(
    axes: Axes,
    x: Sequence[float],
    mean: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    *,
    look: Look,
    shift: float,
) -> None:
    """Means and their intervals, some points to the side, so that intervals do not hide others."""
    (line,) = axes.plot(
        x, mean, color=look.colour, linestyle=look.dash, marker=look.marker, markersize=3.8,
        linewidth=1.3,
    )  # fmt: skip
    bars = axes.vlines(x, low, high, color=look.colour, linewidth=1.3)
    # Not before they are drawn: the limits of a panel go by points that lie where their values are.
    beside = offset_copy(axes.transData, axes.get_figure(root=True), x=shift, units="points")
    line.set_transform(beside)
    bars.set_transform(beside)


def legend(
    figure: Figure,
    names: Mapping[str, Look],
    *,
    across: int = 3,
    notes: Sequence[str] = (),
) -> None:
    """The looks in rows below the panels, and lines above them that say what else to know."""
    shown = [
        Line2D(
            [], [], color=look.colour, marker=look.marker, markersize=4.5, linestyle=look.dash,
            linewidth=1.6, markerfacecolor=look.fill or look.colour,
        )
        for look in names.values()
    ]  # fmt: skip
    below(figure, shown, list(names), across=across, notes=notes)


def below(
    figure: Figure,
    shown: Sequence[Artist],
    names: Sequence[str],
    *,
    across: int,
    notes: Sequence[str] = (),
) -> None:
    """A legend of these below the panels."""
    placed = figure.legend(
        shown, names, loc="outside lower left", ncols=min(len(names), across), alignment="left",
        title="\n".join(note for note in notes if note) or None,
    )  # fmt: skip
    placed.get_title().set_color(MUTED)


def darker(colour: str) -> str:
    """A colour for letters: light ones cannot be read."""
    own, ink = np.array(to_rgb(colour)), np.array(to_rgb(INK))
    red, green, blue = (0.6 * own + 0.4 * ink).tolist()
    return to_hex((red, green, blue))


@dataclass(frozen=True)
class Lines:
    """Settings one below the other, each objective under its name."""

    places: tuple[float, ...]
    """Of the settings, from the top down."""
    names: tuple[str, ...]
    heads: tuple[tuple[float, str], ...]
    """Names of objectives and where they stand."""
    length: float

    def label_axis(self, axes: Axes, named: Mapping[str, Look], *, first: bool) -> None:
        """Put the words on the axis; only the first panel of a row has them."""
        axes.set_ylim(self.length - 0.4, -0.8)
        axes.set_yticks(
            [*self.places, *(place for place, _ in self.heads)],
            [*self.names, *(name for _, name in self.heads)] if first else None,
        )
        axes.tick_params(axis="y", length=0, labelcolor=INK, labelleft=first)
        for place, _ in self.heads:
            axes.axhline(place - 0.55, color=RULE, linewidth=0.6)
        if first:
            for label in axes.get_yticklabels()[len(self.places) :]:
                label.set_fontweight("bold")
                label.set_color(darker(named[label.get_text()].colour))


def lines_of(cells: Sequence[Configuration]) -> Lines:
    """Where each cell stands; an objective of one cell needs no line of its own."""
    places, names, heads = [], [], []
    at = 0.0
    previous = None
    for cell in cells:
        alone = sum(other.objective == cell.objective for other in cells) == 1
        if cell.objective != previous and not alone:
            heads.append((at, cell.objective))
            at += 1
        previous = cell.objective
        places.append(at)
        names.append(cell.label if alone else strength_words(cell))
        at += 1
    return Lines(tuple(places), tuple(names), tuple(heads), at)


def strength_words(cell: Configuration) -> str:
    """A cell's strength with the name of its setting."""
    return " ".join(
        word for word in (setting_label(cell.axis), setting_text(cell.strength)) if word
    )
