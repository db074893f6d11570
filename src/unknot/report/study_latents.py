"""Figures of one model's latents: posteriors of active and passive ones, and codes of all data."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from unknot.core import noise
from unknot.report.latents import UNUSED, measure_latents, sample_rows
from unknot.report.study_blocks import across
from unknot.report.study_boxes import density
from unknot.report.study_style import DataFigure, panels
from unknot.report.style import ACCENT, ALARM, INK, MUTED, RULE, footnote, set_panel, styled
from unknot.study.run import Run

SAMPLE = 2_048
BINS = 40
REACH = 4.0
"""Of the axis of codes at least, in deviations of the prior."""
INSIDE = 0.998
"""Share of codes that the axis holds where they go further."""


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Means and deviations of one model's posteriors over a sample of images."""

    mean: Float[np.ndarray, "n z"]
    sd: Float[np.ndarray, "n z"]
    order: list[int]
    """Latents, the most informative first."""
    used: Bool[np.ndarray, " z"]
    kl: Float[np.ndarray, " z"]


def posteriors(run: Run, *, sample: int = SAMPLE) -> Posteriors:
    """Of a run of one seed."""
    q = run.posteriors(sample_rows(run, sample))
    (found,) = measure_latents(run, sample=sample)
    mean, sd = q.mean.double().cpu().numpy(), (0.5 * q.logvar.double()).exp().cpu().numpy()
    return Posteriors(mean, sd, found.order, found.used, found.kl)


@styled
def posterior_densities(found: Posteriors, *, title: str) -> DataFigure:
    """Densities of posterior means and deviations over images, active and passive latents apart.

    A passive latent keeps the prior for every image: mean 0, deviation 1. Each density is scaled
    to its own highest point.

    Paper: Mushom 2020, figure 5.6.

    Args:
        found: Of one model.
        title: Whose they are.
    """
    groups = {
        "active": [z for z in found.order if found.used[z]],
        "passive": [z for z in found.order if not found.used[z]],
    }
    shown = {name: own for name, own in groups.items() if own}
    figure, drawn = panels(2 * len(shown), across=2, size=(3.3, 1.7), head=0.7, title=title)
    rows = []
    places = [(name, what) for name in shown for what in ("mean", "deviation")]
    for (name, what), axes in zip(places, drawn, strict=True):
        for rank, z in enumerate(shown[name]):
            values = (found.mean if what == "mean" else found.sd)[:, z]
            grid, height = density(values)
            colour = ACCENT if name == "active" else MUTED
            faint = 0.6 * rank / len(shown[name])
            axes.plot(grid, height, color=colour, linewidth=1.2, alpha=1 - faint)
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
        (f"One line per latent. Dotted: prior. Active: at least {UNUSED} nats.",),
    )
    return DataFigure(figure, rows)


@styled
def aggregate_histograms(found: Posteriors, *, title: str) -> DataFigure:
    """Codes of all images together, a histogram for each latent, with the prior as a line.

    One code is drawn from each image's posterior. Latents go from the most informative to the
    least.

    Paper: Mushom 2020, figure 5.12.

    Args:
        found: Of one model.
        title: Whose they are.
    """
    eps = noise.normal(0, "report", 2, *found.mean.shape).double().numpy()
    codes = found.mean + found.sd * eps
    reach = max(REACH, float(np.ceil(np.quantile(np.abs(codes), INSIDE))))
    edges = np.linspace(-reach, reach, BINS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    figure, drawn = panels(
        len(found.order),
        across=across(len(found.order)),
        size=(1.75, 1.45),
        head=0.65,
        title=title,
    )
    normal = np.exp(-0.5 * middle**2) / np.sqrt(2 * np.pi)
    rows, beyond = [], 0
    for z, axes in zip(found.order, drawn, strict=True):
        counts, _ = np.histogram(codes[:, z], edges)
        beyond += len(codes) - int(counts.sum())
        heights = counts / len(codes) / (edges[1] - edges[0])
        colour = ACCENT if found.used[z] else RULE
        axes.bar(middle, heights, width=edges[1] - edges[0], color=colour)
        axes.plot(middle, normal, color=ALARM, linewidth=1.2)
        set_panel(axes, f"z{z}, {found.kl[z]:.2f} nats", grid="x")
        axes.set_yticks([])
        rows += [
            {"latent": f"z{z}", "value": float(v), "density": float(h), "prior": float(p)}
            for v, h, p in zip(middle, heights, normal, strict=True)
        ]
    note = f"{beyond} of {codes.size:,} codes lie outside of ±{reach:g}." if beyond else ""
    footnote(figure, ("Line: prior. Grey: passive latents.", note))
    return DataFigure(figure, rows)
