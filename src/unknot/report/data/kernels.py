"""Pictures of kernels: learnt ones, and those of blurs."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unknot.core.text import number, shorten
from unknot.learnt_loss.blurs import BlurScore
from unknot.learnt_loss.learn import Correlations
from unknot.report.style import (
    ACCENT,
    ALARM,
    CYCLE,
    DEPTHS,
    INK,
    SMALL,
    footnote,
    nested_width,
    new_figure,
    number_ticks,
    show_frame,
    styled,
)

PANEL = 1.25
"""Inches of a kernel among others."""
WIDEST = 8
"""Kernels side by side."""
MOST = 128
"""Kernels of a figure."""
LONGEST_LINE = 20
"""Characters of a line above a kernel."""
MARKERS = ("o", "s", "^", "D", "v")


@styled
def kernel_figure(kernel: Float[Tensor, "k k"], *, title: str) -> Figure:
    """A kernel as an image, and its middle row and column as lines."""
    values = kernel.detach().double().cpu().numpy()
    radius = len(values) // 2
    figure = new_figure((6.6, 3.2), title)
    image, lines = figure.subplots(1, 2, width_ratios=(1, 1.1))
    edge = radius + 0.5
    heatmap = image.imshow(
        values,
        cmap=DEPTHS,
        vmin=min(float(values.min()), 0.0),
        extent=(-edge, edge, edge, -edge),
        interpolation="nearest",
    )
    bar = figure.colorbar(heatmap, ax=image, fraction=0.046, pad=0.03)
    number_ticks(bar.ax.yaxis)
    reach = np.arange(-radius, radius + 1)
    lines.plot(reach, values[radius], color=ACCENT, linewidth=1.6, label="middle row")
    lines.plot(reach, values[:, radius], "--", color=ALARM, linewidth=1.6, label="column")
    lines.legend(ncols=2, loc="lower right", bbox_to_anchor=(1.0, 0.99))
    lines.grid(visible=True)
    number_ticks(lines.yaxis)
    for axes in (image, lines):
        show_frame(axes, "frame")
    lines.set_xlabel("pixels from the centre")
    return figure


@styled
def kernels_figure(
    kernels: Sequence[Float[Tensor, "k k"]],
    labels: Sequence[Sequence[str]],
    ranks: Sequence[float],
    *,
    title: str,
    columns: int,
) -> Figure:
    """Kernels side by side, each in colours from 0 to its own largest weight.

    Args:
        kernels: Of any sizes; the first 128 are drawn.
        labels: Lines above each.
        ranks: The rank correlation below each.
        title: Of the figure.
        columns: Kernels of a row; at most 8 are.
    """
    count = min(len(kernels), MOST)
    columns = max(1, min(columns, WIDEST, count))
    rows = -(-count // columns)
    lines = max(map(len, labels))
    height = rows * (PANEL + 0.28 + 0.13 * lines) + 0.6
    figure = new_figure((max(columns * PANEL + 0.3, 5.2), height), title)
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes in panels[count:]:
        axes.set_visible(False)
    for axes, kernel, label, rank in zip(panels, kernels, labels, ranks, strict=False):
        values = kernel.detach().double().cpu().numpy()
        axes.imshow(values, cmap=DEPTHS, vmin=min(float(values.min()), 0.0))
        axes.set_title("\n".join(shorten(x, LONGEST_LINE) for x in label), fontsize=SMALL)
        axes.set_xlabel(f"{rank:.3f}", fontsize=SMALL)
        axes.set_xticks([])
        axes.set_yticks([])
        show_frame(axes, "frame")
    notes = ["Below each kernel: rank correlation along factors.", "Colours: 0 to largest weight."]
    if count < len(kernels):
        notes.append(f"The first {count} of {len(kernels):,} kernels.")
    footnote(figure, notes)
    return figure


@styled
def blurs_figure(scores: Sequence[BlurScore], pixels: Correlations, *, title: str) -> Figure:
    """Correlations over the radius, a line for each weight; linear and rank for each kernel.

    Args:
        scores: By `unknot.learnt_loss.blurs.score_blurs`.
        pixels: Correlations of the squared error alone, the dotted line.
        title: Of the figure.
    """
    kernels = [*dict.fromkeys(score.kernel for score in scores)]
    kinds = [(kernel, kind) for kernel in kernels for kind in ("linear", "rank")]
    weights = sorted({score.weight for score in scores})
    rows = {"factor": "pairs along factors", "random": "random pairs"}
    figure = new_figure((1.6 + 2.1 * len(kinds), 4.6), title)
    panels = figure.subplots(len(rows), len(kinds), squeeze=False, sharex=True, sharey="row")
    for (pairs, label), line in zip(rows.items(), panels, strict=True):
        for (kernel, kind), axes in zip(kinds, line, strict=True):
            column = f"{pairs}_{kind}"
            axes.set_title(f"{kernel}, {kind}")
            below = getattr(pixels, column)
            axes.axhline(below, color=INK, linestyle=":", linewidth=1.2, label="pixels alone")
            for place, weight in enumerate(weights):
                found = sorted(
                    (score.radius, getattr(score.correlations, column))
                    for score in scores
                    if (score.kernel, score.weight) == (kernel, weight)
                )
                axes.plot(
                    *zip(*found, strict=True),
                    color=CYCLE[place % len(CYCLE)],
                    marker=MARKERS[place % len(MARKERS)],
                    markersize=2.5 * nested_width(place, len(weights)),
                    linewidth=nested_width(place, len(weights)),
                    label=f"weight {number(weight)}",
                )
            axes.grid(visible=True)
            number_ticks(axes.yaxis, 5)
            number_ticks(axes.xaxis, 5, integer=True)
        line[0].set_ylabel(label)
    for axes in panels[-1]:
        axes.set_xlabel("radius in pixels")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside right upper")
    notes = [
        "Correlation of distances of images with distances of their factors: linear is Pearson's, "
        "rank Spearman's."
    ]
    if len(weights) > 1:
        notes.append("Lines of several weights may coincide: wider ones lie below.")
    footnote(figure, notes)
    return figure
