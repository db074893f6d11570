"""Figure of a study: how scores spread over seeds."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from unknot.analysis import Results
from unknot.report.study.baselines import Baseline, describe_baselines, draw_baselines
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import Row, describe_missing, mark_missing, plot_rows, score_rows
from unknot.report.study.style import (
    FAR_APART,
    FEW,
    ROW,
    DataFigure,
    across,
    configuration_rows,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import LONGEST_LABEL, footnote, set_panel, styled

MOST_ROWS = 64
"""Configurations that have a row each; beyond, objectives have one."""
IN_SIGHT = 24
"""Configurations that differ in several settings and are in sight; more open on request."""
LONG = 30
"""Letters of a row's name beyond which it has room of its own, beside fewer panels."""
LETTER, PANEL, PAGE = 0.085, 2.0, 9.2
"""Inches of a letter, of such a panel at least, and of the page."""
DOTS = "Dots: runs; cross: mean."
LEGENDS = {
    "box": f"Box: middle 50 %; bar: median; cross: mean; dots: outliers (all runs if ≤ {FEW}).",
    "violin": f"Width: density of the runs; notch: median; cross: mean; dots: up to {FEW} runs.",
}


def applies(part: Part) -> Iterator[Figure]:
    """One figure, and where objectives have several configurations each also all their runs."""
    results, size = part.results, len(part.results.configurations)
    show = partial(draw, results, results.panels, baselines=part.baselines)
    many, n = size > MOST_ROWS, len(results.objectives)
    if not many and size > IN_SIGHT and not all(c.axis for c in results.configurations):
        yield Figure("spread", "spread-objectives", partial(show, by="objective", kind="violin"))
        yield Figure("spread", "spread", show, f"Each of the {size} configurations")
        return
    yield Figure("spread", "spread", partial(show, by="objective" if many else "setting"))
    if n > 2 and not many and size > n:
        yield Figure(
            "spread",
            "spread-objectives",
            partial(show, by="objective", kind="violin"),
            "All runs of each objective, as violins",
        )


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    kind: Literal["box", "violin"] = "box",
    by: Literal["setting", "objective"] = "setting",
    baselines: Sequence[Baseline] = (),
    width: float | None = None,
) -> DataFigure:
    """Each score over the seeds of each configuration, or over all runs of each objective.

    A box is the middle half, its line the median, the cross the mean; whiskers reach to the last
    run within one and a half boxes, runs beyond are dots. Of ten runs and fewer all are dots.

    Args:
        results: Of one dataset.
        scores: A panel each; all there are unless given.
        kind: Boxes, or violins, whose width is the density of the runs.
        by: What has a box of its own.
        baselines: Lines across the panels.
        width: Inches of a paper's column that it is made for, with a caption for title and notes.
    """
    names = results.choose(scores)
    configurations = results.configurations if by == "setting" else results.objectives
    layout, looked = configuration_rows(configurations), looks(c.objective for c in configurations)
    wide, most = _panel_width(max(map(len, layout.names)), len(names))
    figure, all_axes = panels(
        len(names), size=(wide, ROW * (layout.length + 1.5) + 0.35), most=most, width=width,
        head=0.0 if width else 0.75,
        title=f"Scores by {'configuration' if by == 'setting' else by}",
    )  # fmt: skip
    rows = []
    for score, axes in zip(names, all_axes, strict=True):
        draw_baselines(axes, baselines, score, "x")
        boxes: dict[str, list[Row]] = {}
        for configuration, place in zip(configurations, layout.places, strict=True):
            sample = configuration.sample(score)
            boxes.setdefault(configuration.objective, []).append((place, sample.values))
            mark_missing(axes, sample, place)
            rows += score_rows(configuration, score)
        for objective, together in boxes.items():
            plot_rows(axes, together, kind, looked[objective].color)
        set_panel(axes, score, grid="x", ticks=3)
        maybe_log(axes, "x", results.values(score), FAR_APART)
        layout.label_axis(axes, looked)
    if width is None:
        missing = describe_missing(configurations, names)
        few = all(len(c.sample(name).values) <= FEW for c in configurations for name in names)
        marks = DOTS if few else LEGENDS[kind]
        footnote(figure, (marks, missing, describe_baselines(baselines, names)))
    return DataFigure(figure, rows)


def _panel_width(letters: int, n: int) -> tuple[float, int]:
    """Inches of a panel, and how many stand side by side, by the longest name of a row."""
    if letters <= LONG:
        return 2.15, 5
    names = LETTER * min(letters, LONGEST_LABEL)
    most = max(1, int((PAGE - names) / PANEL))
    return PANEL + names / across(n, most), most
