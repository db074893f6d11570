"""Figures: curves of training, and what each latent follows."""

import math
import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from unknot.core.text import shorten
from unknot.report.model.heat_map import LONGEST, are_slanted, name_sides
from unknot.report.model.latents import Latents, latent_label
from unknot.report.style import (
    ACCENT,
    ALARM,
    INK,
    MUTED,
    PAPER,
    SHARES,
    SMALL,
    new_figure,
    number_ticks,
    set_panel,
    styled,
)
from unknot.runs.curves import Curves

NUMBERED = re.compile(r"^(.+)\.\d+(\.weight)?$")
NUMBER = re.compile(r"\d+")
PANEL = (3.2, 2.2)
"""Inches."""
ROOM = 0.075
"""Share of a panel's height that the name of a latent takes."""


def curve_names(curves: Curves) -> list[str]:
    """What to draw: the loss, its terms, the critic's, and each weight that changed over time.

    Whether a model diverged is drawn where one did. Values of each latent, such as ``kl.0`` and
    ``kl.1``, are one curve, ``kl.*``.
    """
    first = ("loss", "recon", "kl")
    names = [
        NUMBERED.sub(r"\1.*\2", name)
        for name in curves.values
        if not (name.endswith(".weight") and bool((curves[name] == curves[name][0]).all()))
        and not (name == "diverged" and not curves[name].any())
    ]
    return sorted(
        dict.fromkeys(names),
        key=lambda n: (n.endswith(".weight"), first.index(n) if n in first else len(first), n),
    )


@styled
def curve(curves: Curves, name: str, validation: Curves | None = None) -> Figure:
    """One logged value over the steps, a line per member; dashed, that of the validation part."""
    figure = new_figure(PANEL)
    draw_curve(figure.add_subplot(), curves, name, validation)
    return figure


@styled
def curves_figure(curves: Curves, validation: Curves | None = None, *, across: int = 3) -> Figure:
    """All logged values over the steps, a panel each, so many side by side.

    Args:
        curves: What training logged.
        validation: What it saw on validation rows, drawn dashed into the same panels.
        across: Panels side by side.
    """
    names = curve_names(curves)
    across = min(len(names), across) or 1
    down = math.ceil(len(names) / across) or 1
    figure = new_figure((PANEL[0] * across, PANEL[1] * down))
    for i, name in enumerate(names):
        draw_curve(figure.add_subplot(down, across, i + 1), curves, name, validation)
    return figure


def draw_curve(axes: Axes, curves: Curves, name: str, validation: Curves | None = None) -> None:
    """One logged value in a panel, and that of the validation part."""
    if validation is not None and f"validation.{name}" in validation.values:
        medians = _medians(validation[f"validation.{name}"].numpy())
        axes.plot(validation.steps, medians, "--", color=ALARM, linewidth=1.4, label="validation")
        axes.legend(loc="upper right", frameon=False)
    if "*" in name:
        _draw_each(axes, curves, name)
        return
    steps, values = np.array(curves.steps), curves[name].numpy()
    alone = values.shape[1] == 1
    finite = np.isfinite(values)
    for p in range(values.shape[1]):
        axes.plot(
            steps,
            np.where(finite[:, p], values[:, p], np.nan),
            color=ACCENT,
            linewidth=1.6 if alone else 0.8,
            alpha=1 if alone else 0.45,
        )
        if not finite[:, p].all() and finite[:, p].any():
            last = np.flatnonzero(finite[:, p])[-1]
            axes.plot(steps[last], values[last, p], "x", color=ALARM, markeredgewidth=1.6)
    if not alone:
        axes.plot(steps, _medians(values), color=INK, linewidth=1.6)
    _finish(axes, name)
    seen = values[finite]
    # What falls tenfold in the first steps and slowly then would be a corner on a plain axis.
    if len(seen) and seen.min() > 0 and seen[0] > 10 * seen[-1]:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 3.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        number_ticks(axes.yaxis)


def _medians(values: Float[np.ndarray, "n p"]) -> list[float]:
    """Medians over members, of what is finite."""
    rows = [row[np.isfinite(row)] for row in values]
    return [float(np.median(row)) if len(row) else math.nan for row in rows]


def _draw_each(axes: Axes, curves: Curves, name: str) -> None:
    """A line per latent, of the first member: latents of two members have nothing in common."""
    names = [n for n in curves.values if n != name and NUMBERED.sub(r"\1.*\2", n) == name]
    ends, texts, colors = [], [], []
    for i, figure_name in enumerate(names):
        color = to_hex(colormaps["viridis"](0.85 * i / max(len(names) - 1, 1)))
        values = curves[figure_name].numpy()[:, 0]
        axes.plot(curves.steps, values, color=color, linewidth=1.1)
        if math.isfinite(values[-1]):
            ends.append((float(curves.steps[-1]), float(values[-1])))
            texts.append("z" + NUMBER.findall(figure_name)[-1])
            colors.append(color)
    several = next(iter(curves.values.values()))[0].numel() > 1
    _finish(axes, f"{name}, first seed" if several else name)
    # Room for names of latents beside the ends of their lines; where these meet, some have none.
    axes.set_xlim(right=curves.steps[-1] + 0.12 * (curves.steps[-1] - curves.steps[0] or 1))
    _name_ends(axes, ends, texts, colors)


def _name_ends(
    axes: Axes,
    ends: Sequence[tuple[float, float]],
    texts: Sequence[str],
    colors: Sequence[str],
) -> None:
    """Names at the ends of lines, one below the other where these meet, inside of the panel.

    Where there are more than the panel has room for, the lowest lines have none.
    """
    low, high = axes.get_ylim()
    gap = (high - low) * ROOM
    pairs = sorted(zip(ends, texts, colors, strict=True), key=lambda pair: -pair[0][1])
    pairs = pairs[: int(1 / ROOM)]
    place = math.inf
    for i, ((x, y), text, color) in enumerate(pairs):
        below = len(pairs) - 1 - i
        place = min(max(y, low + (below + 0.5) * gap), place - gap)
        axes.annotate(
            text, (x, place), xytext=(3, 0), textcoords="offset points", va="center",
            fontsize=SMALL, color=color,
        )  # fmt: skip


def _finish(axes: Axes, name: str) -> None:
    set_panel(axes, name)
    axes.set_xlabel("step")
    number_ticks(axes.xaxis, 4, integer=True)


@styled
def factor_figure(latents: Latents, names: Sequence[str]) -> Figure:
    """How much of each latent's variance each factor explains, most informative latent first.

    Args:
        latents: The latents of one model; `explained_variance` gives the table for any codes.
        names: One name per factor.
    """
    shares: Float[np.ndarray, "z f"] = latents.explained[latents.order]
    rows, columns = shares.shape
    names = [shorten(name, LONGEST) for name in names]
    slanted = are_slanted(names)
    size = (1.9 + (0.62 if slanted else 0.85) * columns, 1.0 + 0.36 * rows + 0.55 * slanted)
    figure = new_figure(size)
    axes = figure.add_subplot()
    fills = np.where(latents.used[latents.order][:, None], np.nan_to_num(shares), 0)
    axes.imshow(fills, cmap=SHARES, vmin=0, vmax=1, aspect="auto")
    for i, z in enumerate(latents.order):
        for j in range(columns):
            share, used = shares[i, j], latents.used[z]
            text = "–" if np.isnan(share) else f"{share:.0%}"
            ink = PAPER if share > 0.75 and used else INK if used else MUTED
            axes.text(j, i, text, ha="center", va="center", color=ink)
    labels = [latent_label(z, latents.kl[z]) for z in latents.order]
    name_sides(axes, names, labels, [bool(latents.used[z]) for z in latents.order])
    axes.set_title(
        "Share of each latent's variance\nexplained by each factor alone",
        pad=10,
    )
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", linewidth=0.8, alpha=1)
    return figure
