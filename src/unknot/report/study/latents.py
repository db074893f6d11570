"""Figures of one model's latents: posteriors of active and inactive ones, and codes of all data."""

import textwrap
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Circle, Ellipse

from unknot.core import noise
from unknot.core.errors import DataError
from unknot.report.model.latents import UNUSED, latent_label, measure_latents, sample_rows
from unknot.report.study.boxes import density
from unknot.report.study.style import DataFigure, panels
from unknot.report.style import (
    ACCENT,
    ALARM,
    INK,
    LETTERS,
    MUTED,
    RULE,
    footnote,
    set_panel,
    styled,
)
from unknot.runs.run import Run

SAMPLE = 2_048
BINS = 40
REACH = 4.0
"""Of the axis of codes at least, in deviations of the prior."""
INSIDE = 0.998
"""Share of codes that the axis holds where they go further."""
ELLIPSES = 60
"""More hide one another."""
FAINT = 0.015
"""Of what fills an ellipse: dots can be seen even where all lie on one another."""
SIDE = 4.6
"""Inches of the figure's width."""
PAD = 0.1
"""Inches between the panel with its labels and what stands above and below."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Means and deviations of one model's posteriors over a sample of images."""

    mean: Float[np.ndarray, "n z"]
    sd: Float[np.ndarray, "n z"]
    order: list[int]
    """Latents, the most informative first."""
    used: Bool[np.ndarray, " z"]
    kl: Float[np.ndarray, " z"]


def measure_posteriors(run: Run, *, sample: int = SAMPLE) -> Posteriors:
    """Of a run of one seed."""
    q = run.posteriors(sample_rows(run, sample))
    (latents,) = measure_latents(run, sample=sample)
    mean, sd = q.mean.double().cpu().numpy(), (0.5 * q.logvar.double()).exp().cpu().numpy()
    return Posteriors(mean, sd, latents.order, latents.used, latents.kl)


@styled
def posterior_densities(posteriors: Posteriors, *, title: str) -> DataFigure:
    """Densities of posterior means and deviations over images, active and inactive latents apart.

    An inactive latent keeps the prior for every image: mean 0, deviation 1. Each density is scaled
    to its own highest point.

    Paper: Mushom 2020, figure 5.6.
    """
    groups: dict[str, list[int]] = {}
    for name, used in (("active", True), ("inactive", False)):
        if latents := [z for z in posteriors.order if posteriors.used[z] == used]:
            groups[name] = latents
    figure, all_axes = panels(2 * len(groups), most=2, size=(3.3, 1.7), head=0.7, title=title)
    rows = []
    places = [(name, what) for name in groups for what in ("mean", "deviation")]
    for (name, what), axes in zip(places, all_axes, strict=True):
        for rank, z in enumerate(groups[name]):
            values = (posteriors.mean if what == "mean" else posteriors.sd)[:, z]
            grid, height = density(values)
            color = ACCENT if name == "active" else MUTED
            faint = 0.6 * rank / len(groups[name])
            axes.plot(grid, height, color=color, linewidth=1.2, alpha=1 - faint)
            rows += [
                {"latent": f"z{z}", "group": name, "of": what, "value": float(v),
                 "density": float(h)}
                for v, h in zip(grid, height, strict=True)
            ]  # fmt: skip
        set_panel(axes, f"{name}: posterior {what}", grid="x")
        axes.set_yticks([])
        axes.axvline(0 if what == "mean" else 1, color=INK, linewidth=0.7, linestyle=":")
    footnote(
        figure,
        (
            "Density over images, one line per latent.",
            f"Dotted: prior. Active: at least {UNUSED} nats.",
        ),
    )
    return DataFigure(figure, rows)


@styled
def aggregate_histograms(posteriors: Posteriors, *, title: str) -> DataFigure:
    """Codes of all images together, a histogram for each latent, with the prior as a line.

    One code is drawn from each image's posterior. Latents go from the most informative to the
    least.

    Paper: Mushom 2020, figure 5.12.
    """
    eps = noise.normal(0, "report", 2, *posteriors.mean.shape).double().numpy()
    codes = posteriors.mean + posteriors.sd * eps
    reach = max(REACH, float(np.ceil(np.quantile(np.abs(codes), INSIDE))))
    edges = np.linspace(-reach, reach, BINS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    figure, all_axes = panels(len(posteriors.order), size=(1.75, 1.45), head=0.65, title=title)
    normal = np.exp(-0.5 * middle**2) / np.sqrt(2 * np.pi)
    rows, beyond = [], 0
    for z, axes in zip(posteriors.order, all_axes, strict=True):
        counts, _ = np.histogram(codes[:, z], edges)
        beyond += len(codes) - int(counts.sum())
        heights = counts / len(codes) / (edges[1] - edges[0])
        color = ACCENT if posteriors.used[z] else RULE
        axes.bar(middle, heights, width=edges[1] - edges[0], color=color)
        axes.plot(middle, normal, color=ALARM, linewidth=1.2)
        set_panel(axes, latent_label(z, posteriors.kl[z], apart=", "), grid="x")
        axes.set_yticks([])
        rows += [
            {"latent": f"z{z}", "value": float(v), "density": float(h), "prior": float(p)}
            for v, h, p in zip(middle, heights, normal, strict=True)
        ]
    note = f"{beyond} of {codes.size:,} codes lie outside of ±{reach:g}." if beyond else ""
    footnote(
        figure,
        (
            "A code of each image, sampled from its posterior.",
            "Line: prior. Grey: inactive latents.",
            note,
        ),
    )
    return DataFigure(figure, rows)


@styled
def posterior_ellipses(posteriors: Posteriors, *, title: str) -> DataFigure:
    """Posteriors of the two most informative latents: all means, and ellipses of some images.

    An ellipse is one standard deviation wide in each direction from its mean, as the prior's
    circle is. Ellipses that are small and apart tell images from each other; those that overlap
    do not.

    Paper: Mushom 2020, figure 4.1.
    """
    if len(posteriors.order) < 2:
        raise DataError(f"Ellipses need two latents; this model has {len(posteriors.order)}.")
    two = posteriors.order[:2]
    mean, sd = posteriors.mean[:, two], posteriors.sd[:, two]
    marked = _spread_rows(len(mean))
    figure, (axes,) = panels(
        1, size=(SIDE, SIDE), head=0.4, title=textwrap.fill(title, int(LETTERS * SIDE)),
    )  # fmt: skip
    axes.scatter(mean[:, 0], mean[:, 1], s=5, color=MUTED, alpha=0.45, linewidths=0, zorder=2)
    for center, half in zip(mean[marked], sd[marked], strict=True):
        _draw_ellipse(axes, center, half)
    axes.scatter(mean[marked, 0], mean[marked, 1], s=4, color=INK, linewidths=0, zorder=4)
    axes.add_patch(Circle((0, 0), 1, fill=False, color=INK, linestyle=":", zorder=4))
    set_panel(axes, "", grid="both", ticks=6)
    _frame(axes, mean, sd, marked)
    # Of very sharp posteriors, ellipses are too small to be seen.
    names = [
        f"{latent_label(z, posteriors.kl[z], apart=', ')}, sd {np.median(of_latent):.2g}"
        for z, of_latent in zip(two, sd.T, strict=True)
    ]
    axes.set_xlabel(names[0], color=INK, loc="center")
    axes.set_ylabel(names[1], color=INK)
    # A panel that stays square is moved after labels have their room.
    if isinstance(layout := figure.get_layout_engine(), ConstrainedLayoutEngine):
        layout.set(h_pad=PAD)
    notes = (
        f"Dots: posterior means of {len(mean):,} images. Ellipses: one standard",
        f"deviation, for {len(marked)} images. Dotted circle: prior.",
        "sd: median over images of the posterior's.",
    )
    footnote(figure, notes)
    return DataFigure(figure, _ellipse_rows(two, mean, sd, marked))


def _spread_rows(n: int) -> Int[np.ndarray, " k"]:
    """Rows with an ellipse, evenly over the sample: the first of a small dataset look alike."""
    return np.linspace(0, n - 1, min(n, ELLIPSES)).round().astype(np.int64)


def _draw_ellipse(axes: Axes, center: Float[np.ndarray, "2"], half: Float[np.ndarray, "2"]) -> None:
    """Faint inside, so that where many overlap is darker."""
    place, (width, height) = (float(center[0]), float(center[1])), (2 * half).tolist()
    axes.add_patch(
        Ellipse(place, width, height, facecolor=ACCENT, alpha=FAINT, linewidth=0, zorder=1)
    )
    axes.add_patch(
        Ellipse(
            place, width, height, fill=False, edgecolor=ACCENT, alpha=0.75, linewidth=0.8,
            zorder=3,
        )
    )  # fmt: skip


def _frame(
    axes: Axes,
    mean: Float[np.ndarray, "n 2"],
    sd: Float[np.ndarray, "n 2"],
    marked: Int[np.ndarray, " k"],
) -> None:
    """A square that holds everything drawn, the prior too, in one scale both ways."""
    center, away = mean[marked], sd[marked]
    corners = np.concatenate([mean, center - away, center + away, [[-1, -1], [1, 1]]])
    low, high = corners.min(0), corners.max(0)
    half = 0.53 * float((high - low).max())
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal", anchor="N")


def _ellipse_rows(
    two: list[int],
    mean: Float[np.ndarray, "n 2"],
    sd: Float[np.ndarray, "n 2"],
    marked: Int[np.ndarray, " k"],
) -> list[dict[str, str | float | bool]]:
    """A row for each image."""
    first, second = (f"z{z}" for z in two)
    with_ellipse = set(marked.tolist())
    return [
        {"first": first, "x": float(x), "x_sd": float(x_sd), "second": second, "y": float(y),
         "y_sd": float(y_sd), "ellipse": row in with_ellipse}
        for row, ((x, y), (x_sd, y_sd)) in enumerate(zip(mean, sd, strict=True))
    ]  # fmt: skip
