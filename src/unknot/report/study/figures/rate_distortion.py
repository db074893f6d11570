"""Figure of a study: what codes say about images against how well images are reconstructed."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from unknot.analysis import Results
from unknot.analysis.configurations import FINISHED, Configuration, has_diverged
from unknot.analysis.plain_table import numbers
from unknot.core.text import number
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import run_rows
from unknot.report.study.style import (
    DataFigure,
    Mark,
    label_points,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import MUTED, PAPER, RULE, SMALL, set_panel, styled


def applies(part: Part) -> Iterator[Figure]:
    """Where two runs have both, and one of them finished."""
    results, pair = part.results, ("kl", "recon")
    both = any(c.has(*pair) for c in results.configurations)
    if both and results.runs_with(*pair) > 1:
        yield Figure("trade-offs", "rate-distortion", partial(draw, results))


@styled
def draw(results: Results, *, rate: str = "kl", distortion: str = "recon") -> DataFigure:
    """Reconstruction loss against divergence, in nats: runs as dots, means over seeds as marks.

    Along a grey line the ELBO, minus the sum of the two, is the same.

    Paper: Alemi et al. 2018, "Fixing a broken ELBO", for the plane.

    Args:
        results: Of one dataset.
        rate: Name of a column.
        distortion: Name of a column.
    """
    results.choose([rate, distortion])
    looked = looks(c.objective for c in results.configurations)
    figure, (axes,) = panels(1, size=(6.6, 4.5), head=0.5, title="Rate and distortion, in nats")
    rows: list[dict[str, Any]] = []
    marks: list[Mark] = []
    dots = np.empty((2, 0))
    for configuration in results.configurations:
        complete, points = _points(configuration, rate, distortion)
        columns = {name: configuration.runs[name] for name in (rate, distortion)}
        rows += run_rows(configuration, **columns, shown=complete)
        if points.size:
            color = looked[configuration.objective].color
            axes.plot(*points, ".", color=color, markersize=2.5, alpha=0.35, markeredgewidth=0)
            marks.append((*points.mean(1).tolist(), configuration))
            dots = np.concatenate([dots, points], axis=1)
    for name, look in looked.items():
        means = [(x, y) for x, y, c in marks if c.objective == name]
        swept = all(c.axis for *_, c in marks if c.objective == name)
        axes.plot(
            *np.array(means).reshape(-1, 2).T, color=look.color, marker=look.marker,
            linestyle=look.dash if swept else "none", linewidth=0.9, markersize=5,
            markeredgecolor=PAPER, markeredgewidth=0.6,
        )  # fmt: skip
    set_panel(axes, "", grid="both", ticks=5)
    x, y = dots if dots.size else np.ones((2, 1))
    maybe_log(axes, "x", x)
    maybe_log(axes, "y", y)
    names = _same_elbo(axes, x, y)
    axes.set_xlabel(f"rate, {rate}")
    axes.set_ylabel(f"distortion, {distortion}")
    lost = len(rows) - dots.shape[1]
    note = f"{lost} runs that diverged or lack one of the two are not shown." if lost else ""
    legend(figure, looked, notes=(note,))
    first = {mark[2].objective: mark for mark in reversed(marks)}
    last = {mark[2].objective: mark for mark in marks}
    ends = [mark for mark in marks if mark in (first[mark[2].objective], last[mark[2].objective])]
    label_points(figure, axes, ends, looked, joined=marks, texts=names)
    return DataFigure(figure, rows)


def _same_elbo(axes: Axes, x: np.ndarray, y: np.ndarray) -> list[Text]:
    """Lines of equal sums, at round numbers, and their names where they come in."""
    names: list[Text] = []
    limits = axes.get_xlim(), axes.get_ylim()
    sums = x + y
    along = np.geomspace(max(limits[0][0], 1e-9), limits[0][1], 200)
    if axes.get_xscale() == "linear":
        along = np.linspace(*limits[0], 200)
    for total in MaxNLocator(6).tick_values(float(sums.min()), float(sums.max())):
        inside = (total - along > limits[1][0]) & (total - along < limits[1][1])
        if inside.sum() < 2:
            continue
        axes.plot(along[inside], total - along[inside], color=RULE, linewidth=0.9, zorder=0)
        begin = along[inside][0], total - along[inside][0]
        on_top = begin[0] > along[0]
        names.append(
            axes.annotate(
                f"ELBO {number(-float(total))}", begin, xytext=(7, -7) if on_top else (3, 2),
                textcoords="offset points", fontsize=SMALL, color=MUTED, zorder=0,
            )
        )  # fmt: skip
    axes.set_xlim(*limits[0])
    axes.set_ylim(*limits[1])
    return names


def _points(configuration: Configuration, *names: str) -> tuple[list[bool], np.ndarray]:
    """Which runs ended, did not diverge and have both numbers; and these numbers."""
    ended = [
        s is None or s in FINISHED
        for s in configuration.runs.get("status", [None] * configuration.size)
    ]
    values = np.stack([numbers(configuration.runs, name) for name in names])
    complete = (
        np.array(ended) & ~np.array(has_diverged(configuration.runs)) & ~np.isnan(values).any(0)
    )
    return complete.tolist(), values[:, complete]
