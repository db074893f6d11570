"""Figure of a study: all runs of two objectives back to back."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from unknot.analysis import Results
from unknot.core.errors import ConfigError
from unknot.report.study.baselines import Baseline, describe_baselines, draw_baselines
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import describe_missing, half_violin, mark_missing, score_rows
from unknot.report.study.style import FEW, DataFigure, is_leftmost, legend, looks, panels
from unknot.report.style import INK, set_panel, styled

WIDTH = 0.8
"""Inches of a row whose violins hold all runs."""
MARKS = f"Width: density of the runs; bar: median; cross: mean; dots: up to {FEW} runs."


def applies(part: Part) -> Iterator[Figure]:
    """Where there are two objectives and more configurations."""
    results = part.results
    if len(results.objectives) == 2 and len(results.configurations) > 2:
        show = partial(draw, results, results.panels, baselines=part.baselines)
        summary = "All runs of both objectives, back to back"
        yield Figure("spread", "split-objective", show, summary)


def over_datasets(part: Part) -> Iterator[Figure]:
    """Where there are two objectives."""
    results = part.results
    if len(results.objectives) == 2:
        summary = "Both objectives, all runs back to back"
        yield Figure("datasets", "datasets-split", partial(draw, results), summary)


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """All runs of two objectives back to back, a row for each dataset; crosses are means.

    Args:
        results: Of any number of datasets.
        scores: A panel each; all there are unless given.
        baselines: Lines across the panels.
    """
    names, parts = results.choose(scores), results.by_data
    looked = looks(map(str, results.table["objective"]))
    if len(looked) != 2:
        raise ConfigError(f"A violin has two halves; got the objectives {', '.join(looked)}.")
    figure, all_axes = panels(
        len(names), size=(2.15, WIDTH * len(parts) + 0.6), head=0.9,
        title="Scores by objective, back to back",
    )  # fmt: skip
    rows = []
    for score, axes in zip(names, all_axes, strict=True):
        draw_baselines(axes, baselines, score, "x")
        for place, (data, part) in enumerate(parts.items()):
            objectives = {c.objective: c for c in part.objectives}
            for side, (objective, look) in zip((-1, 1), looked.items(), strict=True):
                if objective in objectives:
                    sample = objectives[objective].sample(score)
                    half_violin(axes, sample.values, float(place), side, look.color)
                    if len(sample.values):
                        mean, height = [sample.values.mean()], [place + 0.2 * side]
                        axes.plot(mean, height, "x", color=INK, markersize=4, zorder=4)
                    mark_missing(axes, sample, place + 0.25 * side)
                    runs = score_rows(objectives[objective], score)
                    rows += [{"data": data, **row} for row in runs]
        set_panel(axes, score, grid="x", ticks=3)
        axes.set_ylim(len(parts) - 0.5, -0.5)
        axes.set_yticks(range(len(parts)), list(parts))
        axes.tick_params(axis="y", length=0, labelcolor=INK, labelleft=is_leftmost(axes))
    configurations = [c for part in parts.values() for c in part.objectives]
    notes = MARKS, describe_missing(configurations, names), describe_baselines(baselines, names)
    squares = {name: replace(look, marker="s", dash="") for name, look in looked.items()}
    legend(figure, squares, notes=notes)
    return DataFigure(figure, rows)
