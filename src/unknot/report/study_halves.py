"""Figures of a study: two halves of a violin, back to back."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from unknot.analysis import Results
from unknot.analysis.configurations import Sample
from unknot.analysis.plain_table import split_table
from unknot.core.errors import ConfigError
from unknot.core.text import setting_text
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_boxes import half
from unknot.report.study_spread import mark_missing, missing_words, run_rows
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
from unknot.report.style import INK, set_panel, styled

WHOLE = 0.8
"""Inches of a row whose violins hold all runs."""
WORDS = f"Width: density of the runs; bar: median; cross: mean; dots: up to {FEW} runs."


@styled
def split_violins(results: Results, score: str, halves: str, *, title: str = "") -> DataFigure:
    """One score over seeds, two values of a column back to back at each setting.

    Args:
        results: Of any number of datasets.
        score: Name of a column.
        halves: Name of a column of two values: the first above, the second below the line.
        title: What is shown.

    Raises:
        ConfigError: There is no such column, or it has not two values.
    """
    results.choose([score, halves])
    parts = split_table(results.table, halves)
    if len(parts) != 2:
        raise ConfigError(
            f"A violin has two halves; '{halves}' has {len(parts)} values: "
            f"{', '.join(map(setting_text, parts))}."
        )
    looked = looks(map(setting_text, parts))
    sides = [
        {cell.label: cell for cell in results.only(halves, [value]).without(halves).configurations}
        for value in parts
    ]
    order = list({**sides[1], **sides[0]}.values())
    lines = lines_of(order)
    size = (5.6, ROW * 1.35 * (lines.length + 1.5) + 0.3)
    figure, (axes,) = panels(
        1, across=1, size=size, head=0.9, title=title or f"{score}, by {halves}"
    )
    rows: list[dict[str, Any]] = []
    for side, value, own in zip((-1, 1), parts, sides, strict=True):
        for cell, place in zip(order, lines.places, strict=True):
            if cell.label not in own:
                continue
            runs = own[cell.label].sample(score)
            half(axes, runs.values, float(place), side, looked[setting_text(value)].colour)
            mark_missing(axes, runs, place + 0.25 * side)
            rows += [{halves: value, **row} for row in run_rows(own[cell.label], score)]
    set_panel(axes, "", grid="x", ticks=6)
    plain = {cell.objective: Look(INK, "", "-") for cell in order}
    lines.label_axis(axes, plain, first=True)
    axes.set_xlabel(score)
    bars = {name: Look(look.colour, "s", "") for name, look in looked.items()}
    legend(
        figure,
        bars,
        notes=(missing_words([*sides[0].values(), *sides[1].values()], [score]),),
    )
    return DataFigure(figure, rows)


@styled
def split_objectives(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    across: int = 4,
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """All runs of two objectives back to back, a row for each dataset; crosses are means.

    Args:
        results: Of any number of datasets.
        scores: A panel each; all there are unless given.
        across: Panels side by side.
        baselines: Lines across the panels.

    Raises:
        ConfigError: There is no such score, or there are not two objectives.
    """
    names = results.choose(scores)
    parts = results.by_data
    found = {where: {c.objective: c for c in part.objectives} for where, part in parts.items()}
    looked = looks(map(str, results.table["objective"]))
    if len(looked) != 2:
        raise ConfigError(f"A violin has two halves; got the objectives {', '.join(looked)}.")
    figure, drawn = panels(
        len(names), across=across, size=(2.15, WHOLE * len(parts) + 0.6), head=0.9,
        title="Scores by objective, back to back",
    )  # fmt: skip
    rows = []
    for i, (score, axes) in enumerate(zip(names, drawn, strict=True)):
        mark(axes, baselines, score, "x")
        for place, (where, own) in enumerate(found.items()):
            for side, (objective, look) in zip((-1, 1), looked.items(), strict=True):
                if objective in own:
                    runs = own[objective].sample(score)
                    half(axes, runs.values, float(place), side, look.colour)
                    _mark_mean(axes, runs, place + 0.2 * side)
                    mark_missing(axes, runs, place + 0.25 * side)
                    rows += [{"data": where, **row} for row in run_rows(own[objective], score)]
        set_panel(axes, score, grid="x", ticks=3)
        axes.set_ylim(len(parts) - 0.5, -0.5)
        axes.set_yticks(range(len(parts)), [str(where) for where in parts])
        axes.tick_params(axis="y", length=0, labelcolor=INK, labelleft=i % across == 0)
    every = [cell for own in found.values() for cell in own.values()]
    said = (WORDS, missing_words(every, names), named(baselines, names))
    legend(figure, {n: Look(v.colour, "s", "") for n, v in looked.items()}, notes=said)
    return DataFigure(figure, rows)


def _mark_mean(axes: Axes, own: Sample, y: float) -> None:
    if len(own.values):
        axes.plot([own.values.mean()], [y], "x", color=INK, markersize=4, zorder=4)
