"""Clouds of codes in two dimensions with their linearity, axis alignment and orientation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch.nn.functional import pad

from unknot.core.representation import Representation
from unknot.metrics.axis_alignment import axis_alignment
from unknot.metrics.linearity import linearity
from unknot.metrics.orientation import orientation
from unknot.metrics.parts.traversals import TraversalSettings, grid_traversals
from unknot.report.data.distances import heading
from unknot.report.style import (
    DEPTHS,
    RULE,
    SMALL,
    footnote,
    new_figure,
    number_ticks,
    show_frame,
    styled,
)

RATIOS = {"linearity": linearity, "axis_alignment": axis_alignment, "orientation": orientation}
ROUND = 0.005
"""Linearity below which a cloud is shown as round."""


@dataclass(frozen=True)
class Cloud:
    """Points around their middle, the value of a factor at each, and their ratios."""

    name: str
    points: Float[np.ndarray, "n 2"]
    value: Float[np.ndarray, " n"]
    axes: tuple[str, str]
    linearity: float
    axis_alignment: float
    orientation: float


def factor_clouds(codes: Representation, *, traversals: int = 64, seed: int = 0) -> list[Cloud]:
    """Codes along the traversals of each factor, about their middles, in the two that move most.

    The ratios are of all codes, after Michlo 2022 with as many traversals.
    """
    space = codes.space.require_grid("Clouds of codes")
    settings = TraversalSettings(traversals=traversals)
    parts = {
        name: score(codes, protocol=settings, seed=seed).parts["per_factor"]
        for name, score in RATIOS.items()
    }
    moving = [i for i, size in enumerate(space.sizes) if size > 1]
    clouds = []
    for place, factor in enumerate(moving):
        index = grid_traversals(space, factor, traversals, seed)
        z = codes.codes(index).double().cpu()
        away = z - z.mean(1, keepdim=True)
        if away.shape[-1] == 1:  # a lone code moves along a line of its own
            away = pad(away, (0, 1))
        first, second = away.square().mean((0, 1)).topk(2).indices.tolist()
        value = torch.linspace(0, 1, index.shape[1]).repeat(len(index))
        clouds.append(
            Cloud(
                space.names[factor],
                away[..., [first, second]].flatten(0, 1).numpy(),
                value.double().numpy(),
                (f"z{first}", f"z{second}"),
                **{name: float(values[place]) for name, values in parts.items()},
            )
        )
    return clouds


@styled
def cloud_figure(rows: Sequence[Sequence[Cloud]], *, title: str, note: str = "") -> Figure:
    """A panel for each cloud, of one scale in both directions, its ratios above it.

    Args:
        rows: Clouds side by side, row by row.
        title: What they are.
        note: A line below the title.
    """
    across = max(len(row) for row in rows)
    size = (max(1.9 * across, 4.2), 0.7 + 2.25 * len(rows))
    figure = new_figure(size, title)
    cells = figure.subplots(len(rows), across, squeeze=False)
    for axes in cells.flat:
        axes.set_visible(False)
    for row, line in zip(rows, cells, strict=True):
        for cloud, axes in zip(row, line, strict=False):
            axes.set_visible(True)
            x, y = cloud.points.T
            axes.scatter(x, y, c=0.25 + 0.75 * cloud.value, cmap=DEPTHS, vmin=0, vmax=1, s=4)
            reach = float(np.abs(cloud.points).max()) * 1.1 or 1.0
            axes.set_xlim(-reach, reach)
            axes.set_ylim(-reach, reach)
            axes.set_aspect("equal")
            axes.axhline(0, color=RULE, linewidth=0.6, zorder=0)
            axes.axvline(0, color=RULE, linewidth=0.6, zorder=0)
            # Of a round cloud there is no direction to speak of.
            direction = f"{cloud.orientation:.2f}" if cloud.linearity >= ROUND else "–"
            ratios = f"linear {cloud.linearity:.2f}, axis {cloud.axis_alignment:.2f}"
            heading(axes, cloud.name, (ratios, f"orientation {direction}"))
            for axis in (axes.xaxis, axes.yaxis):
                number_ticks(axis, 3, symmetric=True)
            axes.set_xlabel(cloud.axes[0], loc="center")
            axes.set_ylabel(cloud.axes[1])
            axes.tick_params(labelsize=SMALL, length=2)
            show_frame(axes, "frame")
    footnote(figure, (note,))
    return figure
