"""Figures of a model of signals: how each latent bends them."""

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.report.style import ACCENT, INK, RULE, SIGNS, new_figure, number_ticks, styled

MOST_CHANNELS = 4
"""Panels of a strip."""


@styled
def strip_figure(
    dataset: FactorDataset, decoded: Float[Tensor, "t c 1 n"], *, used: bool = True
) -> Figure:
    """Signals decoded while one latent moves, over each other, in the units of the data."""
    values = dataset.unit(decoded)[:, :MOST_CHANNELS, 0].double().cpu().numpy()
    steps, channels, _ = values.shape
    figure = new_figure((8.0, 1.3))
    for c in range(channels):
        axes = figure.add_subplot(1, channels, c + 1)
        for i in np.argsort(-np.abs(np.linspace(-1, 1, steps)), kind="stable"):
            place = i / max(steps - 1, 1)
            color = INK if 2 * i == steps - 1 else SIGNS(place)
            axes.plot(values[i, c], color=color if used else RULE, linewidth=1.1)
        if channels > 1:
            axes.set_title(f"channel {c}")
        number_ticks(axes.yaxis, 3)
        number_ticks(axes.xaxis, 3, integer=True)
        axes.grid(visible=True, axis="y")
    return figure


@styled
def reconstruction_figure(
    dataset: FactorDataset, x: Float[Tensor, "n c 1 t"], decoded: Float[Tensor, "n c 1 t"]
) -> Figure:
    """Some signals, and what was decoded over them, in the units of the data."""
    there, back = (
        dataset.unit(part)[:, :MOST_CHANNELS, 0].double().cpu().numpy() for part in (x, decoded)
    )
    count, channels, _ = there.shape
    figure = new_figure((2.4 * count, 1.3 * channels + 0.3))
    for i in range(count):
        for c in range(channels):
            axes = figure.add_subplot(channels, count, c * count + i + 1)
            axes.plot(there[i, c], color=INK, linewidth=0.9)
            axes.plot(back[i, c], color=ACCENT, linewidth=1.2)
            number_ticks(axes.yaxis, 3)
            number_ticks(axes.xaxis, 3, integer=True)
    return figure
