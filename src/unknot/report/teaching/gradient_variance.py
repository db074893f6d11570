"""Variance of gradients: the reparametrisation against the score function."""

import numpy as np

from unknot.core import noise
from unknot.report.study.style import DataFigure, Look, legend, panels
from unknot.report.style import ACCENT, ALARM, number_ticks, set_panel, styled, wrap

DIMENSIONS = (1, 2, 4, 8, 16, 32, 64)
SAMPLES = 20_000


def reparametrised(z: np.ndarray) -> np.ndarray:
    r"""Gradient of $\|z\|^2$ for $z = \mu + \epsilon$, by the first mean: $2 z_1$."""
    return 2 * z[:, 0]


def score_function(z: np.ndarray) -> np.ndarray:
    r"""$\|z\|^2 \, \partial \ln q(z) / \partial \mu_1$ at $\mu = 0$: $\|z\|^2 z_1$."""
    gradient: np.ndarray = (z * z).sum(1) * z[:, 0]
    return gradient


def exact_variances(d: int) -> tuple[float, float]:
    r"""Both variances at $\mu = 0$ in d dimensions: 4, and $(d + 2) (d + 4)$.

    The latter is $\mathbb E[\|z\|^4 z_1^2]$ of a standard normal z.
    """
    return 4.0, float((d + 2) * (d + 4))


@styled
def draw() -> DataFigure:
    r"""Variance of one entry of the gradient of $\mathbb E_{N(\mu, I)} \|z\|^2$ over dimensions.

    Paper: Kingma and Welling 2014, "Auto-encoding variational Bayes"; Mushom 2020, section 3.3.
    """
    figure, (axes,) = panels(1, size=(5.2, 3.2), head=1.0, title="Variance of a gradient's entry")
    exact = np.array([exact_variances(d) for d in DIMENSIONS])
    looked = {
        "reparametrised": Look(ACCENT, "o", "-"),
        "score function": Look(ALARM, "s", "--"),
    }
    rows = []
    for k, (estimator, (name, look)) in enumerate(
        zip((reparametrised, score_function), looked.items(), strict=True)
    ):
        measured = [
            float(
                estimator(noise.normal(0, "report/gradients", d, SAMPLES, d).double().numpy()).var()
            )
            for d in DIMENSIONS
        ]
        axes.plot(DIMENSIONS, exact[:, k], color=look.color, linestyle=look.dash, linewidth=1.4)
        axes.plot(DIMENSIONS, measured, look.marker, color=look.color, markersize=4.5)
        rows += [
            {"estimator": name, "dimensions": d, "variance": value, "exact": float(limit)}
            for d, value, limit in zip(DIMENSIONS, measured, exact[:, k], strict=True)
        ]
    set_panel(axes, "")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(DIMENSIONS)
    number_ticks(axes.xaxis)
    number_ticks(axes.yaxis)
    axes.set_xlabel("dimensions of z")
    note = (
        "The gradient of E‖z‖² by the first mean, z ~ N(0, I). Lines: exact, 4 and (d+2)(d+4). "
        f"Marks: of {SAMPLES:,} samples."
    )
    legend(figure, looked, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)
