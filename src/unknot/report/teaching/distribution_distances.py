"""KL divergence, Jensen-Shannon divergence, optimal transport and MMD between two Gaussians."""

import math
from collections.abc import Callable

import numpy as np

from unknot.report.study.style import DataFigure, Look, legend, looks, panels
from unknot.report.style import set_panel, styled, wrap

SHIFTS = np.linspace(0.0, 6.0, 61)
SCALES = np.linspace(0.1, 4.0, 79)
KERNEL = 1.0
"""Variance of the kernel of MMD."""
NODES = np.linspace(-30.0, 30.0, 12_001)


def kl(m: float, s: float) -> float:
    """KL(N(0, 1) ‖ N(m, s²))."""
    return math.log(s) + (1 + m * m) / (2 * s * s) - 0.5


def reverse_kl(m: float, s: float) -> float:
    """KL(N(m, s²) ‖ N(0, 1))."""
    return 0.5 * (s * s + m * m - 1) - math.log(s)


def jensen_shannon(m: float, s: float) -> float:
    """Of both, by a sum over a fine grid; at most ln 2."""
    p = np.exp(-0.5 * NODES**2) / math.sqrt(2 * math.pi)
    q = np.exp(-0.5 * ((NODES - m) / s) ** 2) / (s * math.sqrt(2 * math.pi))
    middle = 0.5 * (p + q)
    step = NODES[1] - NODES[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num(p * np.log(p / middle)) + np.nan_to_num(q * np.log(q / middle))
    return float(0.5 * terms.sum() * step)


def wasserstein(m: float, s: float) -> float:
    """2-Wasserstein distance: the cost of the best transport, its root."""
    return math.hypot(m, s - 1)


def mmd(m: float, s: float) -> float:
    """Maximum mean discrepancy under a Gaussian kernel of variance `KERNEL`."""

    def mean_kernel(variance: float, shift: float) -> float:
        total = KERNEL + variance
        return math.sqrt(KERNEL / total) * math.exp(-shift * shift / (2 * total))

    square = mean_kernel(2.0, 0) + mean_kernel(2 * s * s, 0) - 2 * mean_kernel(1 + s * s, m)
    return math.sqrt(max(square, 0.0))


DISTANCES: dict[str, Callable[[float, float], float]] = {
    "KL(p ‖ q)": kl,
    "KL(q ‖ p)": reverse_kl,
    "Jensen-Shannon": jensen_shannon,
    "2-Wasserstein": wasserstein,
    "MMD": mmd,
}


@styled
def draw() -> DataFigure:
    """Distances of p = N(0, 1) and q = N(m, s²), over the shift m and over the scale s.

    Paper: Mushom 2020, sections 2.4 to 2.6.
    """
    figure, all_axes = panels(
        2, size=(3.3, 2.7), head=1.2, title="Distances of two Gaussians p and q"
    )
    looked = looks(DISTANCES)
    rows = []
    sweeps = {
        "shift of q (scale 1)": [(float(m), 1.0) for m in SHIFTS],
        "scale of q (shift 0)": [(0.0, float(s)) for s in SCALES],
    }
    for (title, pairs), axes in zip(sweeps.items(), all_axes, strict=True):
        x = [m if title.startswith("shift") else s for m, s in pairs]
        for name, distance in DISTANCES.items():
            values = [distance(m, s) for m, s in pairs]
            look = looked[name]
            axes.plot(x, values, color=look.color, linestyle=look.dash, linewidth=1.4)
            rows += [
                {"distance": name, "m": m, "s": s, "value": value}
                for (m, s), value in zip(pairs, values, strict=True)
            ]
        set_panel(axes, title)
        axes.set_ylim(0, 6)
    note = (
        "Divergences in nats; the two KL divergences of a shift are equal. Jensen-Shannon is at "
        f"most ln 2, and MMD (Gaussian kernel of variance {KERNEL:g}) has a bound too: both are "
        "flat where p and q hardly overlap. The transport grows with the shift."
    )
    lines = {name: Look(look.color, "", look.dash) for name, look in looked.items()}
    legend(figure, lines, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)
