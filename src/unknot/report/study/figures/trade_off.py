"""Figure of a study: a score against what it costs in reconstruction."""

from collections.abc import Iterator, Sequence

import numpy as np

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.lines import setting_lines
from unknot.core.text import setting_text
from unknot.report.labels import place_labels
from unknot.report.study.catalogue import Figure, Part, slug
from unknot.report.study_baselines import Baseline, mark, named
from unknot.report.study_style import (
    DataFigure,
    darker,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import (
    INK,
    RULE,
    set_panel,
    styled,
)

LOGGED = ("recon", "kl", "loss")
"""What is no score."""


def applies(part: Part) -> Iterator[Figure]:
    """For each score that two configurations have, beside the reconstruction."""
    results = part.results
    for i, score in enumerate(scores_with_cost(results)):
        yield Figure(
            "trade-offs", f"trade-off-{slug(score)}", title(score, results.cost),
            notes(results, score, results.cost, part.baselines),
            lambda score=score: draw(results, score, baselines=part.baselines),  # type: ignore[misc]
            "The other scores against reconstruction" if i else "",
        )  # fmt: skip


def scores_with_cost(results: Results) -> list[str]:
    """Scores that two configurations or more have together with the cost."""
    return [
        score
        for score in results.scores
        if score not in LOGGED
        and sum(one.has(score, results.cost) for one in results.configurations) > 1
    ]


def title(score: str, cost: str) -> str:
    """What stands above the panel."""
    return f"{score} against {cost}"


def notes(
    results: Results, score: str, cost: str, baselines: Sequence[Baseline]
) -> tuple[str, ...]:
    """What is left out, and what the dashed lines are."""
    return *results.front(score, cost).remarks, named(baselines, (score, cost))


@styled
def draw(
    results: Results,
    score: str,
    *,
    cost: str = "recon",
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Mean score against mean reconstruction loss, a point for each setting, and the front.

    Rings mark settings that no other beats in one without losing in the other, and the grey stairs
    what they leave unreached. Points carry their strength, and are joined by it where
    `setting_lines` finds an order; bars are standard errors.

    Args:
        results: Of one dataset.
        score: Name of a column.
        cost: Name of a column of which lower is better.
        baselines: Of the score, and of the cost where they have it.
    """
    found = results.front(score, cost)
    looked = looks(cell.objective for cell in found.configurations)
    figure, (axes,) = panels(1, across=1, size=(6.6, 4.5), head=0.5, title=title(score, cost))
    errors = np.array(
        [[_se(cell, name) for name in (cost, score)] for cell in found.configurations]
    )
    order = np.argsort(found.price)
    on = [i for i in order if found.on[i]]
    axes.step(
        found.price[on], found.gain[on], where="post", color=RULE, linewidth=5, zorder=0,
        alpha=0.7, solid_joinstyle="miter",
    )  # fmt: skip
    place = {id(cell): i for i, cell in enumerate(found.configurations)}
    for line in setting_lines(found.configurations):
        own, look = [place[id(cell)] for cell in line.configurations], looked[line.objective]
        x, y = found.price[own], found.gain[own]
        axes.errorbar(
            x, y, xerr=errors[own, 0], yerr=errors[own, 1], color=look.colour, marker=look.marker,
            linestyle=look.dash if line.ordered else "none", markersize=4.5, linewidth=0.9,
            elinewidth=0.7,
        )  # fmt: skip
    axes.plot(
        found.price[on], found.gain[on], "o", markersize=9.5, markerfacecolor="none",
        markeredgecolor=INK, markeredgewidth=1.0,
    )  # fmt: skip
    mark(axes, baselines, score, "y")
    mark(axes, baselines, cost, "x")
    set_panel(axes, "", grid="both", ticks=5)
    maybe_log(axes, "x", found.price)
    axes.set_xlabel(f"{cost}, lower is better")
    axes.set_ylabel(score)
    legend(figure, looked, notes=notes(results, score, cost, baselines))
    points = [(float(x), float(y)) for x, y in zip(found.price, found.gain, strict=True)]
    first = [*on, *(i for i in range(len(points)) if not found.on[i])]
    place_labels(
        figure,
        axes,
        [points[i] for i in first],
        [setting_text(found.configurations[i].strength) for i in first],
        [darker(looked[found.configurations[i].objective].colour) for i in first],
        paths=[
            [
                point
                for point, cell in zip(points, found.configurations, strict=True)
                if cell.objective == name
            ]
            for name in looked
        ],
    )
    return DataFigure(figure, found.rows())


def _se(cell: Configuration, score: str) -> float:
    values = cell.sample(score).values
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
