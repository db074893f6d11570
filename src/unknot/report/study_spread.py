"""Figures of a study: how scores spread over seeds."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration, Sample
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_boxes import Row, draw
from unknot.report.study_style import (
    FEW,
    ROW,
    DataFigure,
    Look,
    legend,
    lines_of,
    looks,
    panels,
)
from unknot.report.style import ALARM, SMALL, footnote, set_panel, styled


@styled
def spread(
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

    Raises:
        ConfigError: There is no such score.
    """
    names = results.choose(scores)
    found = results.configurations if by == "setting" else results.objectives
    lines, looked = lines_of(found), looks(cell.objective for cell in found)
    size = (2.15, ROW * (lines.length + 1.5) + 0.35)
    figure, drawn = panels(len(names), across=across, size=size, head=0.75, title=f"Scores by {by}")
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
            draw(axes, together, kind, looked[objective].colour)
        set_panel(axes, score, grid="x", ticks=3)
        lines.label_axis(axes, looked, first=i % across == 0)
    said = (_legend_words(kind), missing_words(found, names), named(baselines, names))
    footnote(figure, said)
    return DataFigure(figure, rows)


@styled
def cumulative(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    by: Literal["setting", "objective"] = "objective",
    across: int = 3,
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Share of runs up to each value of a score, a line for each objective or setting.

    Runs without the score, diverged ones among them, count as below all others: a line that starts
    above 0 has lost as many.

    Args:
        results: Of one dataset.
        scores: A panel each; all there are unless given.
        by: What has a line of its own.
        across: Panels side by side.
        baselines: Lines across the panels.

    Raises:
        ConfigError: There is no such score.
    """
    names = results.choose(scores)
    found = results.configurations if by == "setting" else results.objectives
    looked = looks(cell.label for cell in found)
    figure, drawn = panels(
        len(names), across=across, size=(2.9, 2.1), head=0.85,
        title="Share of runs up to a score",
    )  # fmt: skip
    rows = []
    for score, axes in zip(names, drawn, strict=True):
        for cell in found:
            own = cell.sample(score)
            values = np.sort(own.values)
            share = (own.runs - len(values) + np.arange(1, len(values) + 1)) / own.runs
            look = looked[cell.label]
            if len(values):
                axes.step(
                    np.concatenate([values[:1], values]),
                    np.concatenate([[(own.runs - len(values)) / own.runs], share]),
                    where="post", color=look.colour, linestyle=look.dash, linewidth=1.5,
                )  # fmt: skip
            rows += [
                {"objective": cell.objective, "strength": cell.strength, "score": score,
                 "value": float(v), "share": float(s)}
                for v, s in zip(values, share, strict=True)
            ]  # fmt: skip
        mark(axes, baselines, score, "x")
        set_panel(axes, score, grid="both")
        axes.set_ylim(0, 1.02)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    plain = {name: Look(look.colour, "", look.dash) for name, look in looked.items()}
    said = (_lost_words(found, names), named(baselines, names))
    legend(figure, plain, across=4, notes=said)
    return DataFigure(figure, rows)


def mark_missing(axes: Axes, own: Sample, y: float) -> None:
    """Say at the right of a row how many runs it lacks."""
    if own.missing:
        axes.annotate(
            f"−{own.missing}", (1, y), xycoords=axes.get_yaxis_transform(), xytext=(1, 0),
            textcoords="offset points", va="center", fontsize=SMALL, color=ALARM,
            annotation_clip=False,
        )  # fmt: skip


def run_rows(cell: Configuration, score: str) -> list[dict[str, Any]]:
    """The runs of a cell as rows of a CSV file."""
    names = ("seed", "status")
    return [
        {
            "objective": cell.objective,
            "strength": cell.strength,
            **{n: cell.runs[n][i] for n in names if n in cell.runs},
            "score": score,
            "value": value,
        }
        for i, value in enumerate(cell.runs[score])
    ]


def _legend_words(kind: str) -> str:
    if kind == "violin":
        return f"Width: density of the runs; notch: median; cross: mean; dots: up to {FEW} runs."
    return f"Box: middle half; bar: median; cross: mean; dots: far runs, or all of up to {FEW}."


def missing_words(found: Sequence[Configuration], scores: Sequence[str]) -> str:
    """What `mark_missing` has counted."""
    said = lost(found, scores)
    return f"Not shown, counted at the right of their rows: {said}." if said else ""


def _lost_words(found: Sequence[Configuration], scores: Sequence[str]) -> str:
    said = lost(found, scores)
    return f"Counted as below all others: {said}." if said else ""


def lost(found: Sequence[Configuration], scores: Sequence[str]) -> str:
    """How many runs of these cells lack a score, by what became of them."""
    most = {
        why: sum(max(getattr(c.sample(s), why) for s in scores) for c in found)
        for why in ("diverged", "undefined", "unfinished")
    }
    return ", ".join(f"{n} {why}" for why, n in most.items() if n)
