"""What a study's page is made of: parts, figures with their files, and tables that sort."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from unknot.analysis import Results
from unknot.analysis.comparison import Comparison
from unknot.analysis.configurations import is_number
from unknot.analysis.documents import Document, PrintedCorrelation, PrintedMatch
from unknot.core.csv_files import csv_text
from unknot.core.errors import DamageError, UnknotError, WriteError
from unknot.core.files import inside, write_whole
from unknot.core.text import decimals, setting_text, value_text
from unknot.report.html import data_uri
from unknot.report.study.baselines import Baseline
from unknot.report.study.style import DataFigure
from unknot.studies.study import Study

P = ParamSpec("P")
T = TypeVar("T")
TOLERATED: tuple[type[Exception], ...] = (Exception,)
"""What may go wrong with one figure; mistakes of ours too, but not in our tests."""
FIGURES = "figures"
"""Folder of the figures, beside the page."""


@dataclass(frozen=True, eq=False)
class Printed:
    """What a document prints, and ours beside it."""

    document: Document
    values: list[PrintedMatch]
    correlations: list[tuple[PrintedCorrelation, float, int]]
    """Printed ones, and ours with the number of our runs."""


@dataclass(frozen=True, eq=False)
class Part:
    """What a part of the page is drawn from: the runs of one dataset, or those of all."""

    results: Results
    prefix: str = ""
    """Start of the names of its files."""
    baselines: Sequence[Baseline] = ()
    study: Study | None = None
    comparison: Comparison | None = None
    """With published runs, where there are any."""
    note: str = ""
    """What to know of that comparison."""
    printed: Printed | None = None
    """Ours next to the values that a document prints, where one was named."""
    unlabelled: Sequence[Any] = ()
    """Of data without labels what `unknot.report.study.without_labels` measures."""
    chance: Mapping[str, float] = field(default_factory=dict)
    """What codes that know nothing score."""
    references: Sequence[Baseline] = ()
    """What codes score that nobody trained."""

    @property
    def levels(self) -> list[Baseline]:
        """What scores are compared with: baselines, codes that nobody trained, and chance."""
        chance = [Baseline("chance", self.chance)] if self.chance else []
        return [*self.baselines, *self.references, *chance]


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure that a part of the page has."""

    section: str
    name: str
    """Of its files, after the prefix of its part."""
    draw: Callable[[], DataFigure]
    summary: str = ""
    """The line under which it opens on request; empty where it is in sight."""


@dataclass(frozen=True)
class PageFigure:
    """A figure on the page."""

    name: str
    """Of its files, without the ending."""
    uri: str
    alt: str
    inches: float
    """Its width, so that letters have one size in all figures."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str
    key: str
    """What it is sorted by: a number or text; empty goes last."""
    small: str = ""
    share: float | None = None
    """From 0 to 1: how dark it is."""
    alarm: bool = False
    muted: bool = False
    """Whether it is grey: it says nothing."""
    href: str = ""
    """What it leads to, if anything."""
    place: int = 0
    """1 for the best of its column, which is bold, and 2 for the second, which is underlined."""


NOTHING = Cell("–", "")


@dataclass(frozen=True)
class Grid:
    """A table that sorts."""

    head: list[str]
    rows: list[list[Cell]]
    heat: bool = False
    note: str = ""
    title: str = ""
    file: str = ""
    """Name of the CSV file with these numbers."""
    prose: bool = False
    """Its cells are sentences, which are broken into lines."""


@dataclass(frozen=True)
class More:
    """What opens on request."""

    summary: str
    grids: list[Grid] = field(default_factory=list)
    figures: list[PageFigure] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A heading, text, and what stands below it."""

    id: str
    title: str
    text: str
    grids: list[Grid] = field(default_factory=list)
    figures: list[PageFigure] = field(default_factory=list)
    more: list[More] = field(default_factory=list)
    paired: bool = False
    """Whether figures stand side by side where there is room."""
    folded: bool = False
    """Whether it opens on request."""


class FigureFolder:
    """The folder that figures and tables go to, and a list of the files written there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[Path] = []

    def add(self, name: str, data_figure: DataFigure) -> PageFigure:
        """Write a figure as PNG, SVG and CSV, and give it for the page."""
        files = data_figure.save(inside(self.folder, FIGURES), name)
        self.files.extend(files)
        width = float(data_figure.figure.get_size_inches()[0])
        return PageFigure(
            name, data_uri(files[0].read_bytes()), data_figure.figure.get_suptitle(), width
        )

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> str:
        """Write rows as a CSV file; gives its name."""
        return self.file(f"{name}.csv", csv_text(rows).encode())

    def file(self, name: str, data: bytes) -> str:
        """Write a file beside the figures; gives its name."""
        path = inside(self.folder, FIGURES, name)
        write_whole(path, data)
        self.files.append(path)
        return name


class FigureKeeper:
    """Draws figures into a folder, and lists why one cannot be drawn.

    A page must not fail for one of many figures; what may go wrong without stopping it is
    `TOLERATED`.
    """

    def __init__(self, folder: FigureFolder) -> None:
        self.folder = folder
        self.left_out: list[str] = []
        """Names of figures that are missing, and why."""
        self.damage: list[str] = []
        """What is damaged in the study, so that something is missing."""

    def __call__(self, name: str, draw: Callable[[], DataFigure]) -> list[PageFigure]:
        """Keep a figure, if it can be drawn."""
        return self.attempt(name, lambda: [self.folder.add(name, draw())])

    def attempt(
        self, name: str, function: Callable[P, list[T]], *args: P.args, **kwargs: P.kwargs
    ) -> list[T]:
        """What a function gives, or nothing where it fails."""
        try:
            return function(*args, **kwargs)
        except WriteError:
            raise
        except TOLERATED as error:
            ours = isinstance(error, UnknotError)
            reason = str(error) if ours else f"{type(error).__name__}: {error}"
            self.left_out.append(f"{name}: {reason}")
            if isinstance(error, DamageError):
                self.damage.append(reason)
            return []


def text_cell(text: str) -> Cell:
    """A cell of text."""
    return Cell(text, text)


def number_cell(
    value: float | None, *, small: str = "", digits: int = 3, share: float | None = None
) -> Cell:
    """A cell of a number; a dash where there is none.

    Example:
        >>> [number_cell(v).text for v in (0.12345, 113.125, 1234567.0, float("nan"))]
        ['0.123', '113.1', '1,234,567', '–']
    """
    if value is None or math.isnan(value):
        return NOTHING
    return Cell(decimals(value, digits), repr(float(value)), small, share)


def interval_text(low: float, high: float, digits: int = 3) -> str:
    """From one end to the other; nothing where there is none.

    Example:
        >>> interval_text(0.1234, 0.2345)
        '0.123 to 0.234'
    """
    return "" if math.isnan(low) else f"{decimals(low, digits)} to {decimals(high, digits)}"


def interval_cell(low: float, high: float, digits: int = 3) -> Cell:
    """A cell of an interval, sorted by its lower end."""
    return NOTHING if math.isnan(low) else Cell(interval_text(low, high, digits), repr(float(low)))


def count_cell(n: int) -> Cell:
    """A cell of a whole number."""
    return Cell(f"{n:,}", str(n))


def share_cell(share: float) -> Cell:
    """A cell of a share, in percent."""
    return NOTHING if math.isnan(share) else Cell(share_text(share), repr(float(share)))


def share_text(share: float) -> str:
    """An estimated share in percent: never 0 or 100, which would claim certainty.

    Example:
        >>> [share_text(share) for share in (0.0, 0.004, 0.25, 0.996, 1.0)]
        ['< 1%', '< 1%', '25%', '> 99%', '> 99%']
    """
    if not 0.005 <= share < 0.995:
        return "> 99%" if share > 0.5 else "< 1%"
    return f"{share:.0%}"


def setting_cell(value: Any) -> Cell:
    """A cell of a setting, which is not rounded; empty where there is none.

    Example:
        >>> [setting_cell(v).text for v in (0.0001, 0.0316, 16.0, "mws", None)]
        ['0.0001', '0.0316', '16', 'mws', '']
    """
    if value is None:
        return text_cell("")
    key = repr(float(value)) if is_number(value) else setting_text(value)
    return Cell(setting_text(value), key)


def value_cell(value: Any) -> Cell:
    """A cell of whatever a table of runs holds; empty where that is nothing.

    Example:
        >>> [value_cell(v).text for v in (0.12345, 16.0, 115200, "mws", True, None)]
        ['0.123', '16', '115,200', 'mws', 'yes', '']
    """
    if value is None:
        return text_cell("")
    if not is_number(value):
        return text_cell(value_text(value))
    integral = float(value).is_integer()
    return Cell(value_text(value), repr(float(value))) if integral else number_cell(value)
