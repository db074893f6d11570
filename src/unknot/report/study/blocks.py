"""Blocks of a study's page: figures with their files, and tables that sort."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from unknot.core.csv_files import csv_text
from unknot.core.errors import UnknotError, WriteError
from unknot.core.files import write_whole
from unknot.core.text import decimals
from unknot.report.html import data_uri
from unknot.report.study_style import DataFigure

T = TypeVar("T")
TOLERATED: tuple[type[Exception], ...] = (Exception,)
"""What may go wrong with one figure; mistakes of ours too, but not in our tests."""
FIGURES = "figures"
"""Folder of the figures, beside the page."""


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
class Entry:
    """A cell of a table."""

    text: str
    key: str
    """What it is sorted by: a number or words; empty goes last."""
    small: str = ""
    share: float | None = None
    """From 0 to 1: how dark it is."""
    alarm: bool = False
    href: str = ""
    """What it leads to, if anything."""


@dataclass(frozen=True)
class Grid:
    """A table that sorts."""

    head: list[str]
    rows: list[list[Entry]]
    heat: bool = False
    note: str = ""
    title: str = ""
    file: str = ""
    """Name of the CSV file with these numbers."""


@dataclass(frozen=True)
class More:
    """What opens on request."""

    summary: str
    grids: list[Grid] = field(default_factory=list)
    figures: list[PageFigure] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A heading, words, and what stands below them."""

    id: str
    title: str
    words: str
    grids: list[Grid] = field(default_factory=list)
    figures: list[PageFigure] = field(default_factory=list)
    more: list[More] = field(default_factory=list)
    paired: bool = False
    """Whether figures stand side by side where there is room."""


class FigureFolder:
    """The folder that figures and tables go to, and a list of the files written there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files: list[Path] = []

    def add(self, name: str, drawn: DataFigure, alt: str = "") -> PageFigure:
        """Write a figure as PNG, SVG and CSV, and give it for the page."""
        files = drawn.save(self.folder / FIGURES, name)
        self.files.extend(files)
        width = float(drawn.figure.get_size_inches()[0])
        title = drawn.figure.get_suptitle()
        return PageFigure(name, data_uri(files[0].read_bytes()), alt or title, width)

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> str:
        """Write rows as a CSV file; gives its name."""
        return self.file(f"{name}.csv", csv_text(rows).encode())

    def file(self, name: str, data: bytes) -> str:
        """Write a file beside the figures; gives its name."""
        path = self.folder / FIGURES / name
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

    def __call__(self, name: str, draw: Callable[[], DataFigure]) -> list[PageFigure]:
        """Keep a figure, if it can be drawn."""
        return self.attempt(name, lambda: [self.folder.add(name, draw())])

    def attempt(self, name: str, function: Callable[[], list[T]]) -> list[T]:
        """What a function gives, or nothing where it fails."""
        try:
            return function()
        except WriteError:
            raise
        except TOLERATED as error:
            self.left_out.append(f"{name}: {reason(error)}")
            return []


def reason(error: Exception) -> str:
    """Why a figure is not there, for the list of these; of whatever kind, mistakes of ours too."""
    return str(error) if isinstance(error, UnknotError) else f"{type(error).__name__}: {error}"


def words(text: str, *, key: str | None = None) -> Entry:
    """A cell of words."""
    return Entry(text, text if key is None else key)


def value(
    number_: float | None, *, small: str = "", digits: int = 3, share: float | None = None
) -> Entry:
    """A cell of a number; a dash where there is none.

    Example:
        >>> [value(v).text for v in (0.12345, 113.125, 1234567.0, float("nan"))]
        ['0.123', '113.1', '1,234,567', '–']
    """
    if number_ is None or math.isnan(number_):
        return Entry("–", "")
    return Entry(decimals(number_, digits), repr(float(number_)), small, share)


def interval(low: float, high: float, digits: int = 3) -> str:
    """From one end to the other; nothing where there is none.

    Example:
        >>> interval(0.1234, 0.2345)
        '0.123 to 0.234'
    """
    return "" if math.isnan(low) else f"{decimals(low, digits)} to {decimals(high, digits)}"


def count(n: int) -> Entry:
    """A cell of a whole number."""
    return Entry(f"{n:,}", str(n))


def percent(share: float) -> Entry:
    """A cell of a share."""
    return Entry("–", "") if math.isnan(share) else Entry(f"{share:.0%}", repr(float(share)))
