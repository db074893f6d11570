"""Pictures of kernels: learnt ones, and those of blurs."""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unknot.report.style import ACCENT, ALARM, DEPTHS, new_figure, number_ticks, show_frame, styled


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
