"""Figure of a study: a score of each run against its reconstruction, a point for each seed."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_hex

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration, has_diverged
from unknot.analysis.plain_table import numbers
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import run_rows
from unknot.report.study.figures.trade_off import scores_with_cost
from unknot.report.study.likelihoods import likelihood_parts
from unknot.report.study.style import (
    FAR_APART,
    MARKERS,
    DataFigure,
    Look,
    legend,
    looks,
    maybe_log,
    panels,
    swept_text,
)
from unknot.report.style import set_panel, styled

MOST_VALUES = 10
"""Configurations of a lone objective that have a colour each."""
MANY = 400
"""Runs from which on points are faint."""


def applies(part: Part) -> Iterator[Figure]:
    """For each likelihood where some configuration has two runs with a score and reconstruction."""
    for likelihood, suffix, results in likelihood_parts(part.results):
        scores = scores_with_cost(results)
        if scores and max(c.size for c in results.configurations) > 1:
            summary = "Each run: a point for each seed"
            show = partial(draw, results, scores, likelihood=likelihood)
            yield Figure("trade-offs", f"trade-off-runs{suffix}", show, summary)


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    cost: str = "recon",
    likelihood: str = "",
) -> DataFigure:
    """Scores against reconstruction, a point for each run.

    Colours are objectives; of one objective alone they are its configurations.

    Args:
        results: Of one dataset and likelihood.
        scores: A panel each; all that two configurations have with the cost unless given.
        cost: Name of a column of which lower is better.
        likelihood: That the cost belongs to, for the axis.
    """
    names = scores_with_cost(results) if scores is None else results.choose(scores)
    results.choose([cost])
    groups = _groups(results)
    looked = _looks(groups, alone=len(results.objectives) == 1)
    figure, all_axes = panels(
        len(names), most=3, size=(2.9, 2.3), head=1.0, title=f"Scores against {cost}, run by run"
    )
    rows = []
    for score, axes in zip(names, all_axes, strict=True):
        both = [np.empty((2, 0))]
        for name, configurations in groups.items():
            points = np.concatenate([_points(c, cost, score) for c in configurations], axis=1)
            look = looked[name]
            axes.plot(
                *points, look.marker, color=look.color, markersize=3.4, markeredgewidth=0,
                alpha=0.35 if len(results.table["objective"]) > MANY else 0.75,
            )  # fmt: skip
            both.append(points)
        set_panel(axes, score, grid="both")
        x, y = np.concatenate(both, axis=1)
        maybe_log(axes, "x", x)
        maybe_log(axes, "y", y, FAR_APART)
        axes.set_xlabel(f"{cost} ({likelihood})" if likelihood else cost)
        rows += [
            {"score": score, **row}
            for c in results.configurations
            if score in c.runs
            for row in run_rows(c, **{cost: c.runs[cost], "value": c.runs[score]})
        ]
    notes = ["Each point is a run. Runs that diverged are not shown."]
    legend(figure, looked, across=3, notes=notes)
    return DataFigure(figure, rows)


def _groups(results: Results) -> dict[str, list[Configuration]]:
    """Configurations that share a colour."""
    alone = len(results.objectives) == 1 and len(results.configurations) <= MOST_VALUES
    groups: dict[str, list[Configuration]] = {}
    for c in results.configurations:
        groups.setdefault(swept_text(c) or c.label if alone else c.objective, []).append(c)
    return groups


def _looks(groups: Mapping[str, list[Configuration]], *, alone: bool) -> dict[str, Look]:
    """Those of objectives; of values that are in order, a ramp of colours."""
    if not alone or len(groups) == 1:
        return {name: Look(look.color, look.marker, "") for name, look in looks(groups).items()}
    places = np.linspace(0, 0.85, len(groups))
    return {
        name: Look(to_hex(colormaps["viridis"](place)), MARKERS[i % len(MARKERS)], "")
        for i, (name, place) in enumerate(zip(groups, places, strict=True))
    }


def _points(configuration: Configuration, *names: str) -> np.ndarray:
    """The numbers of runs that have all of them and did not diverge, a row for each name."""
    if any(name not in configuration.runs for name in names):
        return np.empty((len(names), 0))
    values = np.stack([numbers(configuration.runs, name) for name in names])
    there = np.isfinite(values).all(0) & ~np.array(has_diverged(configuration.runs))
    return values[:, there]
