"""Figure of a study: how scores spread over seeds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_boxes import (
    Row,
    mark_missing,
    missing_words,
    plot_rows,
    run_rows,
)
from unknot.report.study_style import (
    FEW,
    ROW,
    DataFigure,
    across,
    lines_of,
    looks,
    panels,
)
from unknot.report.style import (
    footnote,
    set_panel,
    styled,
)

MOST_ROWS = 64
"""Configurations that have a row each; beyond, objectives have one."""
LEGENDS = {
    "box": f"Box: middle 50 %; bar: median; cross: mean; dots: outliers (all runs if ≤ {FEW}).",
    "violin": f"Width: density of the runs; notch: median; cross: mean; dots: up to {FEW} runs.",
}


def applies(part: Part) -> Iterator[Figure]:
    """One figure, and where objectives have several configurations each also all their runs."""
    results, found = part.results, part.results.configurations
    many, n = len(found) > MOST_ROWS, len(results.objectives)
    yield _figure(part, "spread", "objective" if many else "setting", "box")
    if n > 2 and not many and len(found) > n:
        pooled = _figure(part, "spread-objectives", "objective", "violin")
        yield replace(pooled, summary="All runs of each objective, as violins")


def title(by: str) -> str:
    """What stands above the panels."""
    return f"Scores by {'configuration' if by == 'setting' else by}"


def notes(
    found: Sequence[Configuration], names: Sequence[str], kind: str, baselines: Sequence[Baseline]
) -> tuple[str, ...]:
    """What marks mean, and which runs have none."""
    return LEGENDS[kind], missing_words(found, names), named(baselines, names)


def _figure(
    part: Part, name: str, by: Literal["setting", "objective"], kind: Literal["box", "violin"]
) -> Figure:
    results, shown = part.results, part.results.panels
    found = results.configurations if by == "setting" else results.objectives
    return Figure(
        "spread", name, title(by), notes(found, shown, kind, part.baselines),
        lambda: draw(
            results, shown, kind=kind, by=by, across=across(len(shown)), baselines=part.baselines
        ),
    )  # fmt: skip


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    kind: Literal["box", "violin"] = "box",
    by: Literal["setting", "objective"] = "setting",
    across: int = 4,
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Each score over the seeds of each setting, or over all runs of each objective.

    A box is the middle half, its line the median, the cross the mean; whiskers reach to the last
    run within one and a half boxes, runs beyond are dots. Of ten runs and fewer all are dots.

    Args:
        results: Of one dataset.
        scores: A panel each; all there are unless given.
        kind: Boxes, or violins, whose width is the density of the runs.
        by: What has a box of its own.
        across: Panels side by side.
        baselines: Lines across the panels.
    """
    names = results.choose(scores)
    found = results.configurations if by == "setting" else results.objectives
    lines, looked = lines_of(found), looks(cell.objective for cell in found)
    size = (2.15, ROW * (lines.length + 1.5) + 0.35)
    figure, drawn = panels(len(names), across=across, size=size, head=0.75, title=title(by))
    rows = []
    for i, (score, axes) in enumerate(zip(names, drawn, strict=True)):
        mark(axes, baselines, score, "x")
        held: dict[str, list[Row]] = {}
        for cell, place in zip(found, lines.places, strict=True):
            own = cell.sample(score)
            held.setdefault(cell.objective, []).append((place, own.values))
            mark_missing(axes, own, place)
            rows += run_rows(cell, score)
        for objective, together in held.items():
            plot_rows(axes, together, kind, looked[objective].colour)
        set_panel(axes, score, grid="x", ticks=3)
        lines.label_axis(axes, looked, first=i % across == 0)
    footnote(figure, notes(found, names, kind, baselines))
    return DataFigure(figure, rows)
