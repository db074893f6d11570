"""How adaptive thresholds pick the latents that two images seem to share."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from unknot.core.posterior import Posterior
from unknot.objectives.parts.sharing import Delta, deltas, shared_latents
from unknot.report.model.latents import check_member
from unknot.report.model.traversals import middle_row
from unknot.report.style import (
    ACCENT,
    ALARM,
    INK,
    MUTED,
    footnote,
    new_figure,
    number_ticks,
    show_frame,
    styled,
)
from unknot.runs.run import Run

ETAS = (0.0, 0.1, 0.25, 0.5, 0.75)
NOTE = (
    "Bars: symmetric KL of each latent between two images that differ in one factor.\n"
    "Line: threshold, a share η of the way from the smallest bar to the largest.\n"
    "Dotted bars: latents below the threshold, which are treated as shared and averaged."
)


def pair_deltas(
    run: Run, member: int = 0, *, delta: Delta = "symmetric_kl"
) -> dict[str, Float[Tensor, " z"]]:
    """Distance of each latent between two images that differ in one factor, by factor.

    The first is in the middle of the grid; in the second the factor has moved by half its values.
    """
    check_member(run, member)
    space = run.dataset.space.require_grid("Distances of pairs")
    start = torch.tensor(middle_row(space))
    distances = {}
    for f, (name, size) in enumerate(zip(space.names, space.sizes, strict=True)):
        if size > 1:
            moved = space.traversal(start, f)[(size // 2 + max(size // 2, 1)) % size]
            q = run.posteriors(torch.stack([start, moved]))
            mean, logvar = (x if run.spec.lone else x[member] for x in (q.mean, q.logvar))
            a, b = Posterior(mean, logvar).views(2)
            distances[name] = deltas(a, b, delta)[0]
    return distances


@styled
def threshold_figure(
    distances: Mapping[str, Float[Tensor, " z"]],
    *,
    title: str,
    etas: Sequence[float] = ETAS,
) -> Figure:
    r"""Distances of latents as bars, and which fall below the threshold as eta grows.

    $$\tau = (1 - \eta) \min \delta + \eta \max \delta$$

    Latents below are averaged: an outline is left of their distance. Of others it stays.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), figure 2.7 and table 5.1.

    Args:
        distances: Distances of latents between two images, by what the pair is.
        title: What they are of.
        etas: A column for each.
    """
    size = (1.2 + 1.9 * len(etas), 0.9 + 1.35 * len(distances))
    figure = new_figure(size, title)
    cells = figure.subplots(len(distances), len(etas), squeeze=False, sharex=True, sharey="row")
    for i, (row, (name, delta)) in enumerate(zip(cells, distances.items(), strict=True)):
        values = delta.double().cpu()
        low, high = values.min().item(), values.max().item()
        for axes, eta in zip(row, etas, strict=True):
            shared = shared_latents(values[None], eta)[0].numpy()
            bars = axes.bar(np.arange(len(values)), values.numpy(), width=0.72, linewidth=1.0)
            for bar, below in zip(bars, shared, strict=True):
                bar.set_facecolor("none" if below else ACCENT)
                bar.set_edgecolor(MUTED if below else ACCENT)
                bar.set_linestyle(":" if below else "-")
            axes.axhline(low + eta * (high - low), color=ALARM, linewidth=1.2)
            text = f"{int(shared.sum())} of {len(values)} shared"
            head = f"$\\bf{{η = {eta:g}}}$\n" if i == 0 else ""
            axes.set_title(f"{head}{text}", loc="center", fontsize=8.5, fontweight="normal", pad=3)
            number_ticks(axes.xaxis, 5, integer=True)
            number_ticks(axes.yaxis, 3)
            show_frame(axes, "bottom", "left")
        row[0].set_ylabel(name, fontweight="bold", color=INK)
    footnote(figure, (NOTE,))
    cells[-1, -1].set_xlabel("latent")
    return figure
