"""Figure of a study: a score against what it costs in reconstruction."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.lines import setting_lines
from unknot.core.files import file_stem
from unknot.report.study.baselines import Baseline, describe_baselines, draw_baselines
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.foreign_table import TERMS
from unknot.report.study.style import (
    DataFigure,
    Mark,
    label_points,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import INK, RULE, set_panel, styled


def applies(part: Part) -> Iterator[Figure]:
    """For each score that two configurations have, beside the reconstruction."""
    for i, score in enumerate(scores_with_cost(part.results)):
        show = partial(draw, part.results, score, baselines=part.baselines)
        summary = "The other scores against reconstruction" if i else ""
        yield Figure("trade-offs", f"trade-off-{file_stem(score)}", show, summary)


def scores_with_cost(results: Results) -> list[str]:
    """Scores that two configurations or more have together with the cost."""
    return [
        score
        for score in results.scores
        if score.partition(".")[0] not in TERMS
        and sum(c.has(score, results.cost) for c in results.configurations) > 1
    ]


@styled
def draw(
    results: Results,
    score: str,
    *,
    cost: str = "recon",
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Mean score against mean reconstruction loss, a point for each configuration, and the front.

    Rings mark configurations that no other beats in one without losing in the other, and the grey
    stairs what they leave unreached. Points carry their swept value, and are joined by it where
    `setting_lines` finds an order; bars are standard errors.

    Args:
        results: Of one dataset.
        score: Name of a column.
        cost: Name of a column of which lower is better.
        baselines: Of the score, and of the cost where they have it.
    """
    front = results.front(score, cost)
    configurations, x, y = front.configurations, front.price, front.gain
    looked = looks(c.objective for c in configurations)
    figure, (axes,) = panels(1, size=(6.6, 4.5), head=0.5, title=f"{score} against {cost}")
    errors = np.array([[_se(c, name) for name in (cost, score)] for c in configurations])
    on = [i for i in np.argsort(x) if front.on[i]]
    axes.step(
        x[on], y[on], where="post", color=RULE, linewidth=5, zorder=0, alpha=0.7,
        solid_joinstyle="miter",
    )  # fmt: skip
    place = {id(c): i for i, c in enumerate(configurations)}
    for line in setting_lines(configurations):
        places, look = [place[id(c)] for c in line.configurations], looked[line.objective]
        axes.errorbar(
            x[places], y[places], xerr=errors[places, 0], yerr=errors[places, 1], color=look.color,
            marker=look.marker, linestyle=look.dash if line.ordered else "none", markersize=4.5,
            linewidth=0.9, elinewidth=0.7,
        )  # fmt: skip
    axes.plot(
        x[on], y[on], "o", markersize=9.5, markerfacecolor="none", markeredgecolor=INK,
        markeredgewidth=1.0,
    )  # fmt: skip
    draw_baselines(axes, baselines, score, "y")
    draw_baselines(axes, baselines, cost, "x")
    set_panel(axes, "", grid="both", ticks=5)
    maybe_log(axes, "x", x)
    axes.set_xlabel(f"{cost}, lower is better")
    axes.set_ylabel(score)
    notes = *front.remarks, describe_baselines(baselines, (score, cost))
    legend(figure, looked, notes=notes)
    marks: list[Mark] = list(zip(x.tolist(), y.tolist(), configurations, strict=True))
    first = [*on, *(i for i in range(len(marks)) if not front.on[i])]
    label_points(figure, axes, [marks[i] for i in first], looked, joined=marks)
    return DataFigure(figure, front.rows())


def _se(configuration: Configuration, score: str) -> float:
    values = configuration.sample(score).values
    return float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0
