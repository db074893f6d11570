"""Figure of a study: all runs of two values of a setting back to back, pooled over the others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.effects import pooled_settings, setting_values
from unknot.analysis.plain_table import split_table
from unknot.core.errors import ConfigError
from unknot.core.files import file_stem
from unknot.core.text import setting_label, setting_text
from unknot.report.study.baselines import Baseline, describe_baselines, draw_baselines
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import describe_missing, half_violin, mark_missing, score_rows
from unknot.report.study.figures.effects import compared_scores
from unknot.report.study.style import FEW, DataFigure, is_leftmost, legend, looks, panels
from unknot.report.style import INK, set_panel, styled

WIDTH = 0.8
"""Inches of a row whose violins hold all runs."""
MARKS = f"Width: density of the runs; bar: median; cross: mean; dots: up to {FEW} runs."


def applies(part: Part) -> Iterator[Figure]:
    """For two objectives of more configurations, and each setting of two values that is pooled."""
    results = part.results
    if len(results.objectives) == 2 and len(results.configurations) > 2:
        show = partial(draw, results, results.panels, baselines=part.baselines)
        summary = "All runs of both objectives, back to back"
        yield Figure("spread", "split-objective", show, summary)
    for name in pooled_settings(results.table, results.settings):
        if name != "objective" and len(setting_values(results.table, name)) == 2:
            scores = compared_scores(results, name)
            show = partial(draw, results, scores, by=name, baselines=part.baselines)
            summary = f"All runs by {setting_label(name)}, back to back"
            if scores:
                yield Figure("spread", f"split-all-{file_stem(name)}", show, summary)


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
    by: str = "objective",
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """All runs of two values of a setting back to back, a row for each dataset; crosses are means.

    Args:
        results: Of any number of datasets.
        scores: A panel each; all there are unless given.
        by: Name of a setting of two values: the first above, the second below the line.
        baselines: Lines across the panels.
    """
    names, parts = results.choose(scores), results.by_data
    looked = looks(map(setting_text, setting_values(results.table, by)))
    if len(looked) != 2:
        raise ConfigError(
            f"A violin has two halves; '{by}' has {len(looked)} values: {', '.join(looked)}."
        )
    figure, all_axes = panels(
        len(names), size=(2.15, WIDTH * len(parts) + 0.6), head=0.9,
        title=f"Scores by {setting_label(by)}, back to back",
    )  # fmt: skip
    rows = []
    for score, axes in zip(names, all_axes, strict=True):
        draw_baselines(axes, baselines, score, "x")
        for place, (data, part) in enumerate(parts.items()):
            sides = _sides(part, by)
            for side, (value, look) in zip((-1, 1), looked.items(), strict=True):
                if value in sides:
                    sample = sides[value].sample(score)
                    half_violin(axes, sample.values, float(place), side, look.color)
                    if len(sample.values):
                        mean, height = [sample.values.mean()], [place + 0.2 * side]
                        axes.plot(mean, height, "x", color=INK, markersize=4, zorder=4)
                    mark_missing(axes, sample, place + 0.25 * side)
                    label = {} if by == "objective" else {by: value}
                    runs = score_rows(sides[value], score)
                    rows += [{"data": data, **label, **row} for row in runs]
        set_panel(axes, score, grid="x", ticks=3)
        axes.set_ylim(len(parts) - 0.5, -0.5)
        axes.set_yticks(range(len(parts)), list(parts))
        axes.tick_params(axis="y", length=0, labelcolor=INK, labelleft=is_leftmost(axes))
    configurations = [c for part in parts.values() for c in _sides(part, by).values()]
    notes = MARKS, describe_missing(configurations, names), describe_baselines(baselines, names)
    squares = {name: replace(look, marker="s", dash="") for name, look in looked.items()}
    legend(figure, squares, notes=notes)
    return DataFigure(figure, rows)


def _sides(part: Results, by: str) -> dict[str, Configuration]:
    """All runs of each value of a setting together; those without one are on no side."""
    return {
        setting_text(value): Configuration(setting_text(value), "", "", {}, runs)
        for value, runs in split_table(part.table, by).items()
        if value is not None
    }
