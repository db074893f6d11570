"""Figures: curves of training, and what each latent follows."""

import math
import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from unknot.report.latents import Latents
from unknot.report.style import LIGHT, Theme, number
from unknot.study.curves import Curves

NUMBERED = re.compile(r"^(.+)\.\d+(\.weight)?$")
PANEL = (3.2, 2.2)
"""Inches."""


def curve_names(curves: Curves) -> list[str]:
    """What to draw: the loss, its terms, the critic's, and each weight that changed over time.

    Values of each latent, such as ``kl.0`` and ``kl.1``, are one curve, ``kl.*``.
    """
    first = ("loss", "recon", "kl")
    names = [
        NUMBERED.sub(r"\1.*\2", name)
        for name in curves.values
        if not name.endswith(".weight") or bool((curves[name] != curves[name][0]).any())
    ]
    return sorted(
        dict.fromkeys(names),
        key=lambda n: (n.endswith(".weight"), first.index(n) if n in first else len(first), n),
    )


def curve(curves: Curves, name: str, *, theme: Theme = LIGHT) -> Figure:
    """One logged value over the steps, a line per member."""
    figure = Figure(figsize=PANEL, layout="constrained", facecolor=theme.paper)
    _draw(figure.add_subplot(), curves, name, theme)
    return figure


def curves_figure(curves: Curves, *, across: int = 3, theme: Theme = LIGHT) -> Figure:
    """All logged values over the steps, a panel each, so many side by side."""
    names = curve_names(curves)
    across = min(len(names), across) or 1
    down = math.ceil(len(names) / across) or 1
    figure = Figure(
        figsize=(PANEL[0] * across, PANEL[1] * down), layout="constrained", facecolor=theme.paper
    )
    for i, name in enumerate(names):
        _draw(figure.add_subplot(down, across, i + 1), curves, name, theme)
    return figure


def _draw(axes: Axes, curves: Curves, name: str, theme: Theme) -> None:
    if "*" in name:
        _draw_each(axes, curves, name, theme)
        return
    steps, values = np.array(curves.steps), curves[name].numpy()
    alone = values.shape[1] == 1
    finite = np.isfinite(values)
    for p in range(values.shape[1]):
        axes.plot(
            steps,
            np.where(finite[:, p], values[:, p], np.nan),
            color=theme.accent,
            linewidth=1.6 if alone else 0.8,
            alpha=1 if alone else 0.45,
        )
        if not finite[:, p].all() and finite[:, p].any():
            last = np.flatnonzero(finite[:, p])[-1]
            axes.plot(steps[last], values[last, p], "x", color=theme.alarm, markeredgewidth=1.6)
    if not alone:
        middle = [
            np.median(row[ok]) if ok.any() else np.nan
            for row, ok in zip(values, finite, strict=True)
        ]
        axes.plot(steps, middle, color=theme.ink, linewidth=1.6)
    _dress(axes, name, theme)
    seen = values[finite]
    # What falls tenfold in the first steps and slowly then would be a corner on a plain axis.
    if len(seen) and seen.min() > 0 and seen[0] > 10 * seen[-1]:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))


def _draw_each(axes: Axes, curves: Curves, name: str, theme: Theme) -> None:
    """A line per latent, of the first member: latents of two members have nothing in common."""
    own = [n for n in curves.values if n != name and NUMBERED.sub(r"\1.*\2", n) == name]
    for i, one in enumerate(own):
        shade = 0.35 + 0.65 * (i + 1) / len(own)
        axes.plot(
            curves.steps, curves[one].numpy()[:, 0], color=theme.accent, linewidth=1.0, alpha=shade
        )
    several = next(iter(curves.values.values()))[0].numel() > 1
    _dress(axes, f"{name}, first seed" if several else name, theme)


def _dress(axes: Axes, name: str, theme: Theme) -> None:
    axes.set_facecolor(theme.paper)
    axes.set_title(name, loc="left", fontsize=10.5, fontweight="bold", color=theme.ink)
    axes.set_xlabel("step", fontsize=9, color=theme.muted, loc="right", labelpad=2)
    axes.tick_params(labelsize=9, labelcolor=theme.muted, color=theme.rule, length=3)
    axes.tick_params(which="minor", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))
    axes.grid(axis="y", color=theme.rule, linewidth=0.6, alpha=0.6)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(theme.rule)


def factor_figure(found: Latents, names: Sequence[str], *, theme: Theme = LIGHT) -> Figure:
    """How much of each latent's variance each factor explains, most informative latent first.

    Args:
        found: The latents of one model; `explained_variance` gives the table for any codes.
        names: One name per factor.
        theme: Colours.
    """
    shares: Float[np.ndarray, "z f"] = found.explained[found.order]
    rows, columns = shares.shape
    size = (1.9 + 0.85 * columns, 1.0 + 0.36 * rows)
    figure = Figure(figsize=size, layout="constrained", facecolor=theme.paper)
    axes = figure.add_subplot()
    colours = LinearSegmentedColormap.from_list("share", [theme.paper, theme.accent])
    fills = np.where(found.used[found.order][:, None], np.nan_to_num(shares), 0)
    axes.imshow(fills, cmap=colours, vmin=0, vmax=1, aspect="auto")
    for i, z in enumerate(found.order):
        for j in range(columns):
            share, used = shares[i, j], found.used[z]
            words = "–" if np.isnan(share) else f"{share:.0%}"
            ink = theme.paper if share > 0.75 and used else theme.ink if used else theme.muted
            axes.text(j, i, words, ha="center", va="center", fontsize=8.5, color=ink)
    axes.set_xticks(range(columns), names)
    axes.set_yticks(range(rows), [f"z{z}  {found.kl[z]:.2f} nats" for z in found.order])
    axes.tick_params(
        labelsize=8.5, length=0, labelcolor=theme.ink, labeltop=True, labelbottom=False
    )
    for label, z in zip(axes.get_yticklabels(), found.order, strict=True):
        label.set_color(theme.ink if found.used[z] else theme.muted)
    axes.set_title(
        "Share of each latent's variance\nthat each factor explains alone",
        loc="left", fontsize=9.5, fontweight="bold", color=theme.ink, pad=10,
    )  # fmt: skip
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=theme.rule, linewidth=0.8)
    axes.tick_params(which="minor", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return figure
