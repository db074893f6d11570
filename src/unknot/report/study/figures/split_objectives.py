"""Figure of a study: all runs of two objectives back to back."""

from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes

from unknot.analysis import Results
from unknot.analysis.configurations import Sample
from unknot.core.errors import ConfigError
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_boxes import (
    half,
    mark_missing,
    missing_words,
    run_rows,
)
from unknot.report.study_style import (
    FEW,
    DataFigure,
    Look,
    across,
    legend,
    looks,
    panels,
)
from unknot.report.style import (
    INK,
    set_panel,
    styled,
)

TITLE = "Scores by objective, back to back"
WHOLE = 0.8
"""Inches of a row whose violins hold all runs."""
WORDS = f"Width: density of the runs; bar: median; cross: mean; dots: up to {FEW} runs."


def applies(part: Part) -> Iterator[Figure]:
    """Where there are two objectives and more configurations."""
    results, shown = part.results, part.results.panels
    if len(results.objectives) == 2 and len(results.configurations) > 2:
        yield Figure(
            "spread", "split-objective", TITLE, notes(results, shown, part.baselines),
            lambda: draw(results, shown, across=across(len(shown)), baselines=part.baselines),
            "All runs of both objectives, back to back",
        )  # fmt: skip


def over_datasets(part: Part) -> Iterator[Figure]:
    """Where there are two objectives."""
    results, shown = part.results, part.results.scores
    if len(results.objectives) == 2:
        yield Figure(
            "datasets", "datasets-split", TITLE, notes(results, shown, ()),
            lambda: draw(results, shown), "Both objectives, all runs back to back",
        )  # fmt: skip


def notes(results: Results, names: Sequence[str], baselines: Sequence[Baseline]) -> tuple[str, ...]:
    """What marks mean, and which runs have none."""
    every = [one for part in results.by_data.values() for one in part.objectives]
    return WORDS, missing_words(every, names), named(baselines, names)


@styled
def draw(
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
    """
    names = results.choose(scores)
    parts = results.by_data
    found = {where: {c.objective: c for c in part.objectives} for where, part in parts.items()}
    looked = looks(map(str, results.table["objective"]))
    if len(looked) != 2:
        raise ConfigError(f"A violin has two halves; got the objectives {', '.join(looked)}.")
    figure, drawn = panels(
        len(names), across=across, size=(2.15, WHOLE * len(parts) + 0.6), head=0.9,
        title=TITLE,
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
    said = notes(results, names, baselines)
    legend(figure, {n: Look(v.colour, "s", "") for n, v in looked.items()}, notes=said)
    return DataFigure(figure, rows)


def _mark_mean(axes: Axes, own: Sample, y: float) -> None:
    if len(own.values):
        axes.plot([own.values.mean()], [y], "x", color=INK, markersize=4, zorder=4)
