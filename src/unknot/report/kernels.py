"""Pictures of kernels: learnt ones, and those of blurs."""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from torch import Tensor

from unknot.report.distances import colour_scale
from unknot.report.style import LIGHT, Theme, number


def kernel_figure(kernel: Float[Tensor, "k k"], *, title: str, theme: Theme = LIGHT) -> Figure:
    """A kernel as an image, and its middle row and column as lines."""
    shown = kernel.detach().double().cpu().numpy()
    radius = len(shown) // 2
    figure = Figure(figsize=(6.6, 3.2), layout="constrained", facecolor=theme.paper)
    figure.suptitle(title, x=0.012, ha="left", fontsize=10.5, fontweight="bold", color=theme.ink)
    image, lines = figure.subplots(1, 2, width_ratios=(1, 1.1))
    edge = radius + 0.5
    drawn = image.imshow(
        shown,
        cmap=colour_scale(theme),
        vmin=min(float(shown.min()), 0.0),
        extent=(-edge, edge, edge, -edge),
        interpolation="nearest",
    )
    bar = figure.colorbar(drawn, ax=image, fraction=0.046, pad=0.03)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))
    bar.outline.set_edgecolor(theme.rule)
    reach = np.arange(-radius, radius + 1)
    lines.plot(reach, shown[radius], color=theme.accent, linewidth=1.6, label="middle row")
    lines.plot(reach, shown[:, radius], "--", color=theme.alarm, linewidth=1.6, label="column")
    lines.set_facecolor(theme.paper)
    lines.legend(
        fontsize=8.5,
        frameon=False,
        labelcolor=theme.ink,
        ncols=2,
        loc="lower right",
        bbox_to_anchor=(1.0, 0.99),
    )
    lines.grid(color=theme.rule, linewidth=0.6, alpha=0.6)
    lines.yaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))
    for axes in (image, lines, bar.ax):
        axes.tick_params(labelsize=8.5, labelcolor=theme.muted, color=theme.rule, length=3)
        for spine in axes.spines.values():
            spine.set_color(theme.rule)
    lines.set_xlabel("pixels from the centre", fontsize=9, color=theme.muted, loc="right")
    return figure
