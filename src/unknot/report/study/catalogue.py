"""What a figure of a study's page is, before it is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unknot.analysis import Results
from unknot.analysis.comparison import Comparison
from unknot.report.study.baselines import Baseline
from unknot.report.study.style import DataFigure
from unknot.studies.study import Study


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


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure that a part of the page has."""

    section: str
    name: str
    """Of its files, after the prefix of its part."""
    draw: Callable[[], DataFigure]
    summary: str = ""
    """The line under which it opens on request; empty where it is in sight."""
