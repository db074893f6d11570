"""How adaptive thresholds pick the latents that two images seem to share."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from torch import Tensor

from unknot.core.posterior import Posterior
from unknot.objectives.parts.sharing import Delta, deltas, shared_latents
from unknot.report.latents import check_member
from unknot.report.style import LIGHT, Theme, number
from unknot.report.traversals import middle_row
from unknot.study.run import Run

ETAS = (0.0, 0.1, 0.25, 0.5, 0.75)
NOTE = (
    "Bars: how far apart each latent is between two images that differ in one factor. "
    "Line: the threshold.\nDotted: latents below it, which count as shared and are averaged."
)


def pair_deltas(
    run: Run, member: int = 0, *, delta: Delta = "symmetric_kl"
) -> dict[str, Float[Tensor, " z"]]:
    """Distance of each latent between two images that differ in one factor, by factor.

    The first is in the middle of the grid; in the second the factor has moved by half its values.

    Raises:
        ConfigError: The run has no such member.
    """
    check_member(run, member)
    space = run.dataset.space
    start = torch.tensor(middle_row(space))
    found = {}
    for f, (name, size) in enumerate(zip(space.names, space.sizes, strict=True)):
        if size > 1:
            moved = space.traversal(start, f)[(size // 2 + max(size // 2, 1)) % size]
            q = run.posteriors(torch.stack([start, moved]))
            mean, logvar = (x if run.spec.lone else x[member] for x in (q.mean, q.logvar))
            a, b = Posterior(mean, logvar).views(2)
            found[name] = deltas(a, b, delta)[0]
    return found


def threshold_figure(
    found: Mapping[str, Float[Tensor, " z"]],
    *,
    title: str,
    etas: Sequence[float] = ETAS,
    theme: Theme = LIGHT,
) -> Figure:
    r"""Distances of latents as bars, and which fall below the threshold as eta grows.

    $$\tau = (1 - \eta) \min \delta + \eta \max \delta$$

    Latents below are averaged: an outline is left of their distance. Of others it stays.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), figure 2.7 and table 5.1.

    Args:
        found: Distances of latents between two images, by what the pair is.
        title: What they are of.
        etas: A column for each.
        theme: Colours.
    """
    size = (1.2 + 1.9 * len(etas), 0.9 + 1.35 * len(found))
    figure = Figure(figsize=size, layout="constrained", facecolor=theme.paper)
    figure.suptitle(title, x=0.012, ha="left", fontsize=10.5, fontweight="bold", color=theme.ink)
    cells = figure.subplots(len(found), len(etas), squeeze=False, sharex=True, sharey="row")
    for row, (name, delta) in zip(cells, found.items(), strict=True):
        values = delta.double().cpu()
        low, high = values.min().item(), values.max().item()
        for axes, eta in zip(row, etas, strict=True):
            shared = shared_latents(values[None], eta)[0].numpy()
            bars = axes.bar(np.arange(len(values)), values.numpy(), width=0.72, linewidth=1.0)
            for bar, below in zip(bars, shared, strict=True):
                bar.set_facecolor("none" if below else theme.accent)
                bar.set_edgecolor(theme.muted if below else theme.accent)
                bar.set_linestyle(":" if below else "-")
            axes.axhline(low + eta * (high - low), color=theme.alarm, linewidth=1.2)
            axes.set_facecolor(theme.paper)
            axes.set_title(
                f"{int(shared.sum())} of {len(values)} shared", fontsize=8, color=theme.muted, pad=3
            )
            axes.tick_params(labelsize=8, labelcolor=theme.muted, color=theme.rule, length=2)
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            axes.yaxis.set_major_locator(MaxNLocator(3))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))
            for side, spine in axes.spines.items():
                spine.set_visible(side in ("bottom", "left"))
                spine.set_color(theme.rule)
        row[0].set_ylabel(name, fontsize=9, fontweight="bold", color=theme.ink)
    for axes, eta in zip(cells[0], etas, strict=True):
        axes.set_title(f"$\\bf{{η = {eta:g}}}$\n{axes.get_title()}", fontsize=8.5, color=theme.ink)
    figure.supxlabel(NOTE, x=0.012, ha="left", fontsize=8.5, color=theme.muted)
    cells[-1, -1].set_xlabel("latent", fontsize=8.5, color=theme.muted, loc="right")
    return figure
