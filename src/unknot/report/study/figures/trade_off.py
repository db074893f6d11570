"""Figure of a study: a score against what it costs in reconstruction."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import FEW, cut_off
from unknot.analysis.lines import setting_lines
from unknot.core.files import file_stem
from unknot.core.text import setting_text
from unknot.report.study.baselines import Baseline, describe_baselines, draw_baselines
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.foreign_table import TERMS
from unknot.report.study.likelihoods import likelihood_parts
from unknot.report.study.style import (
    FAR_APART,
    DataFigure,
    Mark,
    label_points,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import INK, RULE, set_panel, styled

MANY = 40
"""Configurations from which on they have no lines, no bars, and labels on the front alone."""
LONG = 12
"""Letters of labels beyond which they are on the front alone, too."""


def applies(part: Part) -> Iterator[Figure]:
    """For each score and likelihood with two configurations, beside the reconstruction."""
    parts = likelihood_parts(part.results)
    for i, score in enumerate(scores_with_cost(part.results)):
        for likelihood, suffix, results in parts:
            if score in scores_with_cost(results):
                show = partial(
                    draw, results, score, likelihood=likelihood, baselines=part.baselines
                )
                summary = "The other scores against reconstruction" if i else ""
                yield Figure("trade-offs", f"trade-off-{file_stem(score)}{suffix}", show, summary)


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
    likelihood: str = "",
    baselines: Sequence[Baseline] = (),
) -> DataFigure:
    """Mean score against mean reconstruction loss, a point for each configuration, and the front.

    Rings mark configurations that no other beats in one without losing in the other, and the grey
    stairs what they leave unreached. Points carry their swept value, and are joined by it where
    `setting_lines` finds an order. Bars are standard errors, or ranges where some configuration has
    fewer than five seeds. From `MANY` configurations on there are points, and labels on the front.

    Args:
        results: Of one dataset and likelihood.
        score: Name of a column.
        cost: Name of a column of which lower is better.
        likelihood: That the cost belongs to, for the axis.
        baselines: Of the score, and of the cost where they have it.
    """
    front = results.front(score, cost)
    configurations, x, y = front.configurations, front.price, front.gain
    looked = looks(c.objective for c in configurations)
    figure, (axes,) = panels(1, size=(6.6, 4.5), head=0.5, title=f"{score} against {cost}")
    many = len(configurations) >= MANY
    ranges = min(len(c.sample(n).values) for c in configurations for n in (cost, score)) < FEW
    bars = [
        np.array([_bar(results, c, n, ranges=ranges) for c in configurations])
        for n in (cost, score)
    ]
    on = [i for i in np.argsort(x) if front.on[i]]
    axes.step(
        x[on], y[on], where="post", color=RULE, linewidth=5, zorder=0, alpha=0.7,
        solid_joinstyle="miter",
    )  # fmt: skip
    place = {id(c): i for i, c in enumerate(configurations)}
    for line in setting_lines(configurations):
        places, look = [place[id(c)] for c in line.configurations], looked[line.objective]
        axes.errorbar(
            x[places], y[places], color=look.color, marker=look.marker,
            xerr=None if many else bars[0][places].T, yerr=None if many else bars[1][places].T,
            linestyle=look.dash if line.ordered and not many else "none",
            markersize=4.5, linewidth=0.9, elinewidth=0.7,
        )  # fmt: skip
    axes.plot(
        x[on], y[on], "o", markersize=9.5, markerfacecolor="none", markeredgecolor=INK,
        markeredgewidth=1.0,
    )  # fmt: skip
    draw_baselines(axes, baselines, score, "y")
    draw_baselines(axes, baselines, cost, "x")
    set_panel(axes, "", grid="both", ticks=5)
    maybe_log(axes, "x", x)
    maybe_log(axes, "y", y, FAR_APART)
    of_likelihood = f" ({likelihood})" if likelihood else ""
    axes.set_xlabel(f"{cost}{of_likelihood}, lower is better")
    axes.set_ylabel(score, labelpad=8)
    notes = [*front.remarks, describe_baselines(baselines, (score, cost))]
    if not many and any(bar.any() for bar in bars):
        notes.insert(0, "Bars: range of the seeds." if ranges else "Bars: standard errors.")
    legend(figure, looked, notes=notes)
    marks: list[Mark] = list(zip(x.tolist(), y.tolist(), configurations, strict=True))
    crowded = many or max(len(setting_text(c.swept_value)) for c in configurations) > LONG
    first = [*on, *(i for i in range(len(marks)) if not front.on[i] and not crowded)]
    label_points(figure, axes, [marks[i] for i in first], looked, joined=marks)
    return DataFigure(figure, front.rows())


def _bar(
    results: Results, configuration: Configuration, score: str, *, ranges: bool
) -> tuple[float, float]:
    """What a bar has below and above a mean, within the score's bounds; nothing of one seed."""
    values = configuration.sample(score).values
    if len(values) < 2:
        return 0.0, 0.0
    mean = float(values.mean())
    if ranges:
        return mean - float(values.min()), float(values.max()) - mean
    error = float(values.std(ddof=1) / len(values) ** 0.5)
    low, high = cut_off(mean - error, mean + error, results.bounds(score))
    return mean - low, high - mean
