"""Figure of a study: what codes say about images against how well images are reconstructed."""

import math
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
from unknot.core.files import file_stem
from unknot.core.text import number
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import run_rows
from unknot.report.study.likelihoods import NATS, likelihood_name
from unknot.report.study.style import (
    DataFigure,
    Mark,
    label_points,
    legend,
    looks,
    maybe_log,
    panels,
)
from unknot.report.style import INK, MUTED, PAPER, RULE, SMALL, set_panel, styled

IMAGES = {"dsprites": 737_280}
"""Datasets of black and white images of which none is seen more often than another."""
MANY = 400
"""Runs from which on points are small and faint."""
PLAIN: tuple[Any, ...] = (None, False, "singles", (), [], "()", "[]")
"""Settings of data and samplers with which every image is drawn equally often, as it is."""


def applies(part: Part) -> Iterator[Figure]:
    """For each likelihood with two runs that have both, of which one finished."""
    results, pair = part.results, ("kl", "recon")
    if results.runs_with(*pair) < 2:
        return
    names = list(map(likelihood_name, results.configurations))
    distinct = list(dict.fromkeys(names))
    for likelihood in distinct:
        rows = [c for c, name in zip(results.configurations, names, strict=True)
                if name == likelihood]  # fmt: skip
        alone = len(distinct) == 1
        if any(c.has(*pair) for c in rows) and sum(c.size for c in rows) > 1:
            suffix = "" if alone else f"-{file_stem(likelihood or 'unknown')}"
            show = partial(draw, results, likelihood=likelihood)
            yield Figure("trade-offs", f"rate-distortion{suffix}", show)


def entropy(configuration: Configuration) -> float:
    """Nats of information in an image, where all are black and white and equally likely; else NaN.

    Images are counted as if no two were alike, so it is the largest that the entropy can be.

    Example:
        >>> round(entropy(Configuration("vae", "", "", {"data": "dsprites"}, {}, "dsprites")), 2)
        13.51
    """
    settings = configuration.settings
    names = [name for name in settings if name.startswith(("data.", "sampler"))]
    plain = all(settings[name] in PLAIN for name in names)
    count = IMAGES.get(configuration.data, 0)
    return math.log(count) if count and plain else math.nan


@styled
def draw(
    results: Results,
    *,
    rate: str = "kl",
    distortion: str = "recon",
    likelihood: str = "",
) -> DataFigure:
    """Reconstruction loss against divergence: runs as dots, means over seeds as marks.

    Under a likelihood whose loss is in nats, the ELBO, minus the sum of the two, is the same along
    a grey line. Where the entropy H of the images is known too, the information in the codes lies
    between H − distortion and the rate: no model is below the line on which these are equal.

    Paper: Alemi et al. 2018, "Fixing a broken ELBO", for the plane.

    Args:
        results: Of one dataset.
        rate: Name of a column.
        distortion: Name of a column.
        likelihood: Whose configurations are shown; empty for those of which none is known.
    """
    configurations = [c for c in results.configurations if likelihood_name(c) == likelihood]
    nats = likelihood in NATS
    results.choose([rate, distortion])
    looked = looks(c.objective for c in configurations)
    title = "Rate and distortion" + (", in nats" if nats else f", {likelihood}" * bool(likelihood))
    figure, (axes,) = panels(1, size=(6.6, 4.5), head=0.5, title=title)
    rows: list[dict[str, Any]] = []
    marks: list[Mark] = []
    dots = np.empty((2, 0))
    for configuration in configurations:
        complete, points = _points(configuration, rate, distortion)
        columns = {name: configuration.runs[name] for name in (rate, distortion)}
        rows += run_rows(configuration, **columns, shown=complete)
        if points.size:
            color = looked[configuration.objective].color
            faint = len(results.table["objective"]) > MANY
            axes.plot(
                *points, ".", color=color, markersize=2.5 if faint else 5, markeredgewidth=0,
                alpha=0.35 if faint else 0.6,
            )  # fmt: skip
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
    bounds = {entropy(c) for c in configurations} if likelihood == "bernoulli" else set[float]()
    bound = bounds.pop() if len(bounds) == 1 else math.nan
    names: list[Text] = []
    if math.isnan(bound):
        maybe_log(axes, "x", x)
        maybe_log(axes, "y", y)
    else:
        axes.set_xlim(0, 1.05 * max(float(x.max()), bound))
        axes.set_ylim(0, 1.05 * max(float(y.max()), bound))
    if nats:
        names = _same_elbo(axes, x, y)
    if not math.isnan(bound):
        axes.fill([0, bound, 0], [0, 0, bound], color=RULE, alpha=0.6, linewidth=0, zorder=0)
        axes.plot([0, bound], [bound, 0], color=INK, linewidth=1.0, zorder=1)
    axes.set_xlabel(f"rate, {rate}" + (" (nats)" if nats or likelihood else ""))
    axes.set_ylabel(f"distortion, {distortion}" + (" (nats)" if nats else ""))
    lost = len(rows) - dots.shape[1]
    notes = [_describe(likelihood, nats, bound)]
    if lost:
        notes.insert(0, f"{lost} runs that diverged or lack one of the two are not shown.")
    legend(figure, looked, notes=notes)
    first = {mark[2].objective: mark for mark in reversed(marks)}
    last = {mark[2].objective: mark for mark in marks}
    ends = [mark for mark in marks if mark in (first[mark[2].objective], last[mark[2].objective])]
    label_points(figure, axes, ends, looked, joined=marks, texts=names)
    return DataFigure(figure, rows)


def _describe(likelihood: str, nats: bool, bound: float) -> str:
    """What lines there are, or why there are none."""
    if not math.isnan(bound):
        return (
            "Grey lines: equal ELBO. Shaded: no model can be there, since\n"
            "H − distortion ≤ information ≤ rate. "
            f"Its corners are the entropy H = {bound:.2f} nats, if no\ntwo images are alike."
        )
    if nats:
        return "Grey lines: equal ELBO, −(rate + distortion)."
    if likelihood:
        return "This reconstruction loss is no log-likelihood: the sum of the two is no ELBO."
    return "The table does not say which likelihood was used: no lines of equal ELBO."


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
