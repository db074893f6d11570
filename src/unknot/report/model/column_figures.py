"""Figures of a model of a table: which columns each latent moves, and reconstructed rows."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from unknot.core import noise
from unknot.core.text import decimals, number, shorten
from unknot.report.model.columns import (
    LONGEST,
    ColumnChanges,
    explained_share,
    in_units,
    measure_columns,
    reconstruct_rows,
)
from unknot.report.model.latents import Latents, check_member, latent_label
from unknot.report.model.traversals import decode, title
from unknot.report.style import (
    ACCENT,
    INK,
    MUTED,
    RULE,
    SIGNS,
    footnote,
    new_figure,
    number_ticks,
    set_panel,
    set_title,
    show_frame,
    styled,
)
from unknot.runs.run import Run

MOST_SHOWN = 30
"""Columns of a figure."""
IN_STRIP = 5
"""Columns beside a latent."""
SCATTERED = 6
"""Columns whose rows are drawn one by one."""
POINTS = 500


def chosen_columns(changes: ColumnChanges, latents: Latents, most: int) -> list[int]:
    """Columns that move most, those of one latent beside each other."""
    strength = np.abs(changes.change[latents.order])
    strength = np.where(latents.used[latents.order][:, None], strength, 0)
    best, size = strength.argmax(0), strength.max(0)
    chosen = np.argsort(-size, kind="stable")[:most]
    return sorted((int(c) for c in chosen), key=lambda c: (best[c], -size[c]))


@styled
def changes_figure(run: Run, latents: Sequence[Latents], member: int = 0) -> Figure:
    """How far each latent moves each column, the most informative latent first."""
    changes, latent = measure_columns(run, latents, member), latents[member]
    columns = chosen_columns(changes, latent, MOST_SHOWN)
    table = changes.change[np.ix_(latent.order, columns)]
    size = (2.2 + 0.36 * len(columns), 2.0 + 0.34 * len(latent.order))
    figure = new_figure((max(size[0], 6.0), size[1]))
    axes = figure.add_subplot()
    reach = max(1.0, float(np.abs(table).max()))
    fills = np.where(latent.used[latent.order][:, None], table, 0)
    image = axes.imshow(fills, cmap=SIGNS, vmin=-reach, vmax=reach, aspect="auto")
    names = [shorten(changes.names[c], LONGEST) for c in columns]
    axes.set_xticks(range(len(columns)), names, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(latent.order)), [latent_label(z, latent.kl[z]) for z in latent.order])
    axes.tick_params(length=0, labelcolor=INK)
    for label, z in zip(axes.get_yticklabels(), latent.order, strict=True):
        label.set_color(INK if latent.used[z] else MUTED)
    show_frame(axes, "frame")
    bar = figure.colorbar(image, ax=axes, shrink=0.8, pad=0.01)
    bar.outline.set_visible(False)
    number_ticks(bar.ax.yaxis, 4)
    some = f" {len(columns)} of {len(changes.names):,} columns."
    set_title(figure, f"Change of columns with each latent: {title(run, member)}")
    footnote(
        figure,
        [
            "From 2σ below the latent’s mean to 2σ above, in standard deviations of the column."
            + (some if len(columns) < len(changes.names) else "")
        ],
    )
    return figure


@styled
def strip_figure(changes: ColumnChanges, latent: int, *, used: bool = True) -> Figure:
    """Columns that move most with one latent, as bars, with both ends in the table's units."""
    columns = changes.top(latent, IN_STRIP)
    # Without a layout engine, so that the bars of all latents begin at the same place.
    height = 0.26 + 0.19 * len(columns)
    figure = Figure(figsize=(7.0, height))
    axes = figure.add_axes((0.42, 0.24 / height, 0.56, 1 - 0.28 / height))
    values = changes.change[latent, columns]
    places = np.arange(len(columns))
    axes.barh(places, values, height=0.7, color=ACCENT if used else RULE)
    axes.axvline(0, color=RULE, linewidth=0.8)
    reach = max(3.0, float(np.abs(changes.change).max()))
    axes.set_xlim(-reach, reach)
    labels = [changes.text(latent, c) for c in columns]
    axes.set_yticks(places, labels)
    axes.tick_params(axis="y", length=0, labelcolor=INK if used else MUTED)
    axes.invert_yaxis()
    axes.set_xticks([-2, 0, 2], ["−2 sd", "0", "+2 sd"])
    show_frame(axes)
    return figure


@styled
def reconstruction_figure(run: Run, member: int = 0) -> Figure:
    """R² of each column, and rows against what was decoded for some columns."""
    x, decoded = reconstruct_rows(run, check_member(run, member))
    shares = explained_share(x, decoded)
    order = np.argsort(-np.nan_to_num(shares, nan=-np.inf), kind="stable")
    count = int(np.isfinite(shares).sum())
    scattered = order[np.linspace(0, max(count - 1, 0), min(SCATTERED, count)).astype(int)]
    figure = new_figure((10.0, 4.8))
    grid = figure.add_gridspec(1, 2, width_ratios=(2, 3))
    left, right = figure.add_subfigure(grid[0]), figure.add_subfigure(grid[1])
    names = run.dataset.columns
    _draw_shares(left.add_subplot(), shares, order[:count], names)
    for i, column in enumerate(scattered):
        axes = right.add_subplot(2, -(-len(scattered) // 2), i + 1)
        _draw_rows(axes, run, x, decoded, int(column))
        axes.set_title(f"{shorten(names[column], LONGEST)}\nR² {decimals(shares[column], 2)}")
    median = decimals(float(np.median(shares[order[:count]])) if count else np.nan, 2)
    of_logs = " of log1p" * (run.dataset.row_total is not None)
    set_title(figure, f"Reconstructions: {title(run, member)}, median R²{of_logs} {median}")
    return figure


def _draw_shares(axes: Axes, shares: np.ndarray, order: np.ndarray, names: Sequence[str]) -> None:
    """A bar for each column, or how many have which R² where there are many."""
    if len(order) > MOST_SHOWN:
        axes.hist(
            shares[order].clip(-0.05, 1), bins=np.linspace(-0.05, 1, 22).tolist(), color=ACCENT
        )
        set_panel(axes, "Columns by R² (below 0: worse than the mean)")
        axes.set_xlabel("R²")
        return
    axes.barh(range(len(order)), shares[order].clip(-0.05, 1), height=0.7, color=ACCENT)
    axes.set_yticks(range(len(order)), [shorten(names[c], LONGEST) for c in order])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.invert_yaxis()
    axes.set_xlim(-0.06, 1.02)
    set_panel(axes, "R² of each column", grid="x")


def _draw_rows(axes: Axes, run: Run, x: Tensor, decoded: Tensor, column: int) -> None:
    """What was decoded over what was there, in the units of the table."""
    some = slice(0, POINTS)
    there, back = (in_units(run.dataset, table[some])[:, column] for table in (x, decoded))
    axes.scatter(there, back, s=5, color=ACCENT, alpha=0.4, linewidths=0)
    ends = [min(there.min(), back.min()), max(there.max(), back.max())]
    axes.plot(ends, ends, color=MUTED, linewidth=0.8)
    if run.dataset.row_total is not None and ends[1] > 50:
        for axis in (axes.set_xscale, axes.set_yscale):
            axis("symlog", linthresh=1)
    else:
        number_ticks(axes.xaxis, 3)
        number_ticks(axes.yaxis, 3)
    axes.set_xlabel("table")
    axes.set_ylabel("decoded")


@styled
def samples_figure(run: Run, member: int = 0) -> Figure:
    """Where most values of some columns lie, in the data and in samples from the prior."""
    x, _ = reconstruct_rows(run, check_member(run, member))
    z = noise.normal(0, "report", 1, len(x), run.spec.net.settings.latents)
    sampled = decode(run, z.expand(len(run.spec.seed_list), *z.shape))[member].flatten(1)
    count = min(MOST_SHOWN, x.shape[1])
    columns = np.linspace(0, x.shape[1] - 1, count).astype(int)
    figure = new_figure((10.0, 0.9 + 0.2 * count))
    axes = figure.add_subplot()
    tables = [in_units(run.dataset, table) for table in (x, sampled.to(x))]
    labels = []
    for place, c in enumerate(columns):
        low, high = np.quantile(tables[0][:, c], (0.05, 0.95))
        width = max(high - low, 1e-12)
        for table, ink, shift in ((tables[0], MUTED, -0.16), (tables[1], ACCENT, 0.16)):
            ends = (np.quantile(table[:, c], (0.05, 0.95)) - low) / width
            axes.plot(ends, [place + shift] * 2, color=ink, linewidth=3, solid_capstyle="butt")
        ends_text = f"{number(float(low), 3)} to {number(float(high), 3)}"
        labels.append(f"{shorten(run.dataset.columns[c], LONGEST)}  {ends_text}")
    axes.set_yticks(range(count), labels)
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    axes.set_xticks([0, 1], ["5 %", "95 % of the data"])
    axes.set_xlim(-0.8, 1.8)
    axes.invert_yaxis()
    axes.set_title("Middle 90 % of values. Grey: the data; blue: decoded samples from the prior")
    show_frame(axes)
    return figure
