"""A figure of one model: how posteriors of two latents fill the prior, and overlap."""

import textwrap

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Ellipse

from unknot.core.errors import DataError
from unknot.report.study_latents import Posteriors
from unknot.report.study_style import LETTERS, DataFigure, panels
from unknot.report.style import ACCENT, INK, MUTED, footnote, set_panel, styled

ELLIPSES = 60
"""More hide one another."""
FAINT = 0.015
"""Of what fills an ellipse: dots can be seen even where all lie on one another."""
SIDE = 4.6
"""Inches of the figure's width."""


@styled
def posterior_ellipses(found: Posteriors, *, title: str) -> DataFigure:
    """Posteriors of the two most informative latents: all means, and ellipses of some images.

    An ellipse is one standard deviation wide in each direction from its mean, as the prior's
    circle is. Ellipses that are small and apart tell images from each other; those that overlap
    do not.

    Paper: Mushom 2020, figure 4.1.

    Args:
        found: Of one model.
        title: Whose they are.

    Raises:
        DataError: There are fewer than two latents.
    """
    if len(found.order) < 2:
        raise DataError(f"Ellipses need two latents; this model has {len(found.order)}.")
    two = found.order[:2]
    mean, sd = found.mean[:, two], found.sd[:, two]
    marked = _spread_rows(len(mean))
    figure, (axes,) = panels(
        1, across=1, size=(SIDE, SIDE), head=0.4,
        title=textwrap.fill(title, int(LETTERS * SIDE)),
    )  # fmt: skip
    axes.scatter(mean[:, 0], mean[:, 1], s=5, color=MUTED, alpha=0.45, linewidths=0, zorder=2)
    for centre, half in zip(mean[marked], sd[marked], strict=True):
        _draw_ellipse(axes, centre, half)
    axes.scatter(mean[marked, 0], mean[marked, 1], s=4, color=INK, linewidths=0, zorder=4)
    axes.add_patch(Circle((0, 0), 1, fill=False, color=INK, linestyle=":", zorder=4))
    set_panel(axes, "", grid="both", ticks=6)
    _frame(axes, mean, sd, marked)
    # Of very sharp posteriors, ellipses are too small to be seen.
    names = [
        f"z{z}, {found.kl[z]:.2f} nats, median deviation {np.median(own):.2g}"
        for z, own in zip(two, sd.T, strict=True)
    ]
    axes.set_xlabel(names[0], color=INK, loc="center")
    axes.set_ylabel(names[1], color=INK)
    notes = (
        f"Dots: posterior means of {len(mean):,} images. Ellipses: one standard",
        f"deviation, for {len(marked)} images. Dotted circle: prior.",
    )
    footnote(figure, notes)
    return DataFigure(figure, _rows(two, mean, sd, marked))


def _spread_rows(n: int) -> Int[np.ndarray, " k"]:
    """Rows with an ellipse, evenly over the sample: the first of a small dataset look alike."""
    return np.linspace(0, n - 1, min(n, ELLIPSES)).round().astype(np.int64)


def _draw_ellipse(axes: Axes, centre: Float[np.ndarray, "2"], half: Float[np.ndarray, "2"]) -> None:
    """Faint inside, so that where many overlap is darker."""
    place, (width, height) = (float(centre[0]), float(centre[1])), (2 * half).tolist()
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
    own, away = mean[marked], sd[marked]
    corners = np.concatenate([mean, own - away, own + away, [[-1, -1], [1, 1]]])
    low, high = corners.min(0), corners.max(0)
    half = 0.53 * float((high - low).max())
    middle = (low + high) / 2
    axes.set_xlim(middle[0] - half, middle[0] + half)
    axes.set_ylim(middle[1] - half, middle[1] + half)
    axes.set_aspect("equal")


def _rows(
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
