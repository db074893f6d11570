"""Figure of one model: codes of images in two latents, in the colours of their classes."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from unknot.core.factor_table import MISSING, FactorTable
from unknot.report.model.latents import latent_label, sample_rows
from unknot.report.study.latents import SAMPLE, Posteriors
from unknot.report.study.style import DataFigure, legend, panels
from unknot.report.style import INK, LETTERS, LONGEST_LABEL, PAPER, set_panel, styled, wrap
from unknot.runs.run import Run

MOST_CLASSES = 20
"""Colours that eyes tell apart."""
SIDE = 4.6
"""Inches of the panel."""
ENTRY, LETTER = 0.6, 0.08
"""Inches of an entry of the legend without its name, and of a letter of that."""


@dataclass(frozen=True, eq=False)
class Classes:
    """A label of images and its value for each of them."""

    label: str
    names: tuple[str, ...]
    values: Int[np.ndarray, " n"]
    """Number of the name; -1 where it is missing."""


def classes_of(run: Run, *, sample: int = SAMPLE) -> Classes | None:
    """The first label without an order, of the images whose posteriors are measured.

    None where the data has no such label of 2 to 20 values.
    """
    space = run.dataset.space
    if space.stands_in:
        return None
    for k, (kind, size) in enumerate(zip(space.kinds, space.sizes, strict=True)):
        if kind == "nominal" and 2 <= size <= MOST_CLASSES:
            levels: Sequence[object] = range(size)
            if isinstance(space, FactorTable):
                levels = space.levels[k]
            values = space.factors(sample_rows(run, sample))[:, k].cpu().numpy()
            return Classes(space.names[k], tuple(map(str, levels)), values)
    return None


@styled
def class_plane(posteriors: Posteriors, classes: Classes, *, title: str) -> DataFigure:
    """Posterior means in the two most informative latents, a colour for each class.

    Rings are medians of classes. Classes that stand apart can be told from two numbers; of a model
    with more latents others may tell them apart too.

    Paper: Hartmann 2021, figures 5 and 6 (an autoencoder beside a VAE).

    Args:
        posteriors: Of a model of two latents or more.
        classes: Of the same images.
        title: Whose codes they are.
    """
    two = posteriors.order[:2]
    mean = posteriors.mean[:, two]
    count = len(classes.names)
    ramp = colormaps["tab10" if count <= 10 else "tab20"]
    colors = [to_hex(ramp(k)) for k in range(count)]
    figure, (axes,) = panels(
        1, size=(SIDE + 1, SIDE), head=1.0, title=textwrap.fill(title, int(LETTERS * (SIDE + 1)))
    )
    looked: dict[str, Line2D] = {}
    for k, name in enumerate(classes.names):
        mine = mean[classes.values == k]
        if not len(mine):
            continue
        axes.plot(*mine.T, "o", color=colors[k], markersize=2.6, markeredgewidth=0, alpha=0.6)
        looked[name] = Line2D([], [], color=colors[k], marker="o", linestyle="", markersize=5)
        x, y = np.median(mine, axis=0).tolist()
        axes.plot(x, y, "o", color=PAPER, markersize=9, markeredgecolor=INK, markeredgewidth=0.8)
        axes.plot(x, y, "o", color=colors[k], markersize=6, markeredgewidth=0)
    set_panel(axes, "", grid="both", ticks=6)
    names = [latent_label(z, posteriors.kl[z], apart=", ") for z in two]
    axes.set_xlabel(names[0])
    axes.set_ylabel(names[1])
    missing = int((classes.values == MISSING).sum())
    used = int(posteriors.used.sum())
    lines = [
        f"Colour: {classes.label}. Dots: posterior means of {len(mean) - missing:,} images. "
        "Rings: medians of classes.",
        f"The two most informative of {used} active latents." if used > 2 else "",
        f"{missing:,} images without the label are not shown." if missing else "",
    ]
    longest = min(LONGEST_LABEL, max(map(len, looked)))
    across = max(1, int((SIDE + 1) / (ENTRY + LETTER * longest)))
    legend(
        figure, looked, across=min(across, 6), notes=[wrap(line, figure) for line in lines if line]
    )
    texts = (*classes.names, "")
    rows = [
        {"first": f"z{two[0]}", "x": float(x), "second": f"z{two[1]}", "y": float(y),
         classes.label: texts[value]}
        for (x, y), value in zip(mean, classes.values, strict=True)
    ]  # fmt: skip
    return DataFigure(figure, rows)
