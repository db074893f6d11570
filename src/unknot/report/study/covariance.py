"""A figure of one model: how its latents vary together, as means and as codes."""

import math
import textwrap

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from unknot.core.text import compact
from unknot.report.study.latents import Posteriors
from unknot.report.study.style import DataFigure, panels
from unknot.report.style import (
    INK,
    LETTERS,
    MUTED,
    PAPER,
    SIGNS,
    SMALL,
    footnote,
    number_ticks,
    show_frame,
    styled,
)

READABLE = 12
"""Latents up to which cells have numbers."""
CELL = 0.33
"""Inches of a cell with a number."""
SIDES = (1.5, 3.96)
"""Inches of a map, at least and at most."""
LABEL = 0.15
"""Inches that the name of a latent needs."""
LINE = 0.18
"""Inches of a line of the title."""
MOST = 2.0
"""Where the scale of colours ends: far above 1, and one large variance must not pale the rest."""
DEEP = 0.85
"""Share of the scale above which blue is so dark that light letters are easier to read."""


@styled
def covariance_maps(posteriors: Posteriors, *, title: str) -> DataFigure:
    r"""Covariances of posterior means and of codes over images, side by side in one scale.

    $$\mathrm{Cov}[z] = \mathrm{Cov}[\mu] + \mathrm{diag}(\mathbb E[\sigma^2])$$
    by the law of total covariance: no code is drawn. Sums are divided by the number of images, as
    in the objectives. Latents go from the most informative to the least.

    Paper: Kumar, Sattigeri and Balakrishnan 2018, "Variational inference of disentangled latent
    concepts from unlabeled observations", equations 5 to 7.
    """
    means, codes = _covariances(posteriors)
    n = len(posteriors.order)
    side = min(max(CELL * n, SIDES[0]), SIDES[1])
    width = 2 * (side + 0.35) + 0.75
    lines = textwrap.wrap(title, int(LETTERS * max(width, 4.6)))
    figure, all_axes = panels(
        2, size=(width / 2, side + 0.5), head=0.6 + LINE * len(lines),
        title="\n".join(lines),
    )  # fmt: skip
    # No covariance is larger than both variances, and no variance of means than that of codes.
    largest = float(codes.diagonal().max())
    most = min(largest, MOST) or 1.0
    maps = (("Means: Cov[μ]", means), ("Codes: Cov[z]", codes))
    for axes, (name, matrix) in zip(all_axes, maps, strict=True):
        image = _draw_map(axes, matrix, most)
        _name_latents(axes, name, posteriors, side)
    _draw_scale(figure, image, clipped=largest > MOST)
    notes = textwrap.wrap(_note(largest), int(1.7 * LETTERS * width), break_on_hyphens=False)
    footnote(figure, notes)
    rows = [
        {"first": f"z{posteriors.order[i]}", "second": f"z{posteriors.order[j]}",
         "means": float(means[i, j]), "codes": float(codes[i, j])}
        for i in range(n)
        for j in range(n)
    ]  # fmt: skip
    return DataFigure(figure, rows)


def _covariances(
    posteriors: Posteriors,
) -> tuple[Float[np.ndarray, "z z"], Float[np.ndarray, "z z"]]:
    """Of means and of codes, the most informative latents first."""
    mean, sd = posteriors.mean[:, posteriors.order], posteriors.sd[:, posteriors.order]
    away = mean - mean.mean(0)
    means = away.T @ away / len(mean)
    return means, means + np.diag(np.square(sd).mean(0))


def _note(largest: float) -> str:
    """What to know about both maps."""
    formula = "Cov[z] = Cov[μ] + diag E[σ²]".replace(" ", "\xa0")  # stays in one line
    beyond = f" that ends at ±{MOST:g}; the largest value is {compact(largest)}"
    return (
        f"Both maps share one colour scale{beyond if largest > MOST else ''}. DIP-VAE-I pulls the "
        f"first towards the identity, DIP-VAE-II the second. {formula}."
    )


def _draw_map(axes: Axes, matrix: Float[np.ndarray, "z z"], most: float) -> AxesImage:
    """The matrix in colours, paper at 0; few latents leave room for numbers."""
    image = axes.imshow(matrix, cmap=SIGNS, vmin=-most, vmax=most, interpolation="nearest")
    if len(matrix) <= READABLE:
        for (i, j), value in np.ndenumerate(matrix):
            ink = PAPER if value > DEEP * most else INK
            axes.text(
                j, i, compact(float(value)), ha="center", va="center", fontsize=SMALL, color=ink
            )
    return image


def _name_latents(axes: Axes, name: str, posteriors: Posteriors, side: float) -> None:
    """A name above, and those of latents at the edges; of very many only some, evenly."""
    axes.set_title(name)
    n = len(posteriors.order)
    places = range(0, n, math.ceil(LABEL * n / side))
    names = [f"z{posteriors.order[i]}" for i in places]
    axes.set_xticks(places, names, rotation=0 if n <= READABLE else 90)
    axes.set_yticks(places, names)
    axes.tick_params(labelsize=None if n <= READABLE else SMALL, length=0)
    for labels in (axes.get_xticklabels(), axes.get_yticklabels()):
        for label, i in zip(labels, places, strict=True):
            label.set_color(INK if posteriors.used[posteriors.order[i]] else MUTED)
    show_frame(axes, "frame")


def _draw_scale(figure: Figure, image: AxesImage, *, clipped: bool) -> None:
    """What colours mean, at the right of a map and as high; with tips where values go on."""
    place = image.axes.inset_axes((1.05, 0.0, 0.05, 1.0))
    figure.colorbar(image, cax=place, extend="both" if clipped else "neither")
    number_ticks(place.yaxis, 5, symmetric=True)
