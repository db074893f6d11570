"""Figure of a study: all runs of each objective, pooled over datasets or over scores."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from unknot.analysis import Results
from unknot.core.errors import DataError
from unknot.metrics.parts.facts import score_bounds
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import missing_runs, plot_rows, score_rows
from unknot.report.study.figures.spread import LEGENDS
from unknot.report.study.style import ROW, DataFigure, configuration_rows, looks, panels
from unknot.report.style import footnote, set_panel, styled, wrap

WIDTH = 2.15
"""Inches of a panel."""

Panel = Mapping[str, np.ndarray]
"""The values in the row of each objective."""


def over_datasets(part: Part) -> Iterator[Figure]:
    """Where there are two objectives and what may be pooled."""
    results = part.results
    if len(results.objectives) < 2:
        return
    if comparable(results):
        show = partial(draw, results)
        yield Figure("datasets", "datasets-pooled", show, "Each score, pooled over datasets")
    if len(unit_scores(results)) > 1:
        show = partial(draw_scores, results)
        yield Figure("datasets", "datasets-pooled-scores", show, "All scores, pooled by dataset")


def comparable(results: Results) -> list[str]:
    """Scores that are no losses: the scale of a loss goes with the images."""
    return [score for score in results.scores if score not in results.losses]


def unit_scores(results: Results) -> list[str]:
    """Scores whose values may stand side by side: from 0 to 1, and higher is better.

    Example:
        >>> rows = {"objective": ["vae"], "mig": [0.1], "elbo": [-20.0], "sap": [0.2]}
        >>> unit_scores(Results(rows))
        ['mig', 'sap']
    """
    return [s for s in results.ranked if s not in results.lower and score_bounds(s) == (0, 1)]


@styled
def draw(results: Results, scores: Sequence[str] | None = None) -> DataFigure:
    """Each score over all runs of each objective, on all datasets together.

    A dataset weighs as much as it has runs.

    Args:
        results: Of any number of datasets.
        scores: A panel each; all that are no losses unless given.
    """
    names = comparable(results) if scores is None else results.choose(scores)
    if not names:
        raise DataError("Losses of several datasets are not pooled, and there are no other scores.")
    plots = {s: {c.objective: c.sample(s).values for c in results.objectives} for s in names}
    data = list(results.by_data)
    title = f"Scores by objective, {len(data)} datasets pooled"
    return _draw(results, names, plots, title, f"Datasets: {', '.join(data)}.")


@styled
def draw_scores(results: Results, scores: Sequence[str] | None = None) -> DataFigure:
    """The values of all scores together, of all runs of each objective, a panel for each dataset.

    Args:
        results: Of any number of datasets.
        scores: Those that are pooled; all that go from 0 to 1 unless given.
    """
    names = unit_scores(results) if scores is None else results.choose(scores)
    plots = {
        data: {
            c.objective: np.concatenate([c.sample(score).values for score in names])
            for c in of_data.objectives
        }
        for data, of_data in results.by_data.items()
    }
    title = f"{len(names)} scores pooled, by dataset"
    note = f"Scores: {', '.join(names)}. Each has a scale of its own: compare objectives only."
    return _draw(results, names, plots, title, note)


def _draw(
    results: Results, scores: Sequence[str], plots: Mapping[str, Panel], title: str, note: str
) -> DataFigure:
    layout = configuration_rows(results.objectives)
    looked = looks(c.objective for c in results.objectives)
    size = (WIDTH, ROW * (layout.length + 1.5) + 0.35)
    figure, all_axes = panels(len(plots), size=size, head=0.85, title=title)
    for (name, values), axes in zip(plots.items(), all_axes, strict=True):
        for objective, place in zip(looked, layout.places, strict=True):
            row = place, values.get(objective, np.empty(0))
            plot_rows(axes, [row], "box", looked[objective].color)
        set_panel(axes, name, grid="x", ticks=3)
        layout.label_axis(axes, looked)
    missing = missing_runs(results.objectives, scores)
    footnote(
        figure, (LEGENDS["box"], wrap(note, figure), f"Not shown: {missing}." if missing else "")
    )
    rows = [
        {"data": data, **row}
        for data, of_data in results.by_data.items()
        for c in of_data.objectives
        for score in scores
        for row in score_rows(c, score)
    ]
    return DataFigure(figure, rows)
