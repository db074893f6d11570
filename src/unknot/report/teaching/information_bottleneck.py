"""The information bottleneck of two correlated Gaussians: what a code of x can say about y."""

import math

import numpy as np

from unknot.report.study.style import DataFigure, Look, legend, looks, panels
from unknot.report.style import RULE, set_panel, styled, wrap

CORRELATIONS = (0.99, 0.9, 0.6)
RATES = np.linspace(0.0, 4.0, 81)


def relevant_information(rate: float, rho: float) -> float:
    r"""Largest $I(z; y)$ of a code z of x with $I(z; x)$ = rate, in nats.

    $$-\tfrac12 \ln\left(1 - \rho^2 (1 - e^{-2 R})\right)$$ for x and y of correlation $\rho$; the
    best code is x with Gaussian noise.

    Paper: Chechik et al. 2005, "Information bottleneck for Gaussian variables".
    """
    return -0.5 * math.log(1 - rho * rho * (1 - math.exp(-2 * rate)))


@styled
def draw() -> DataFigure:
    """I(z; y) over I(z; x) for three correlations; the grey line is I(z; y) = I(z; x).

    Paper: Tishby et al. 1999, "The information bottleneck method"; Mushom 2020, section 2.10.
    """
    figure, (axes,) = panels(1, size=(5.2, 3.2), head=1.0, title="Information bottleneck")
    labels = {rho: f"correlation {rho:g}" for rho in CORRELATIONS}
    looked = looks(labels.values())
    rows = []
    for rho, label in labels.items():
        values = [relevant_information(float(rate), rho) for rate in RATES]
        look = looked[label]
        axes.plot(RATES, values, color=look.color, linestyle=look.dash, linewidth=1.5)
        limit = -0.5 * math.log(1 - rho * rho)
        axes.axhline(limit, color=look.color, linewidth=0.7, linestyle=":")
        rows += [
            {"correlation": rho, "rate": float(r), "relevant": v, "limit": limit}
            for r, v in zip(RATES, values, strict=True)
        ]
    top = 2.2
    axes.plot([0, top], [0, top], color=RULE, linewidth=1.2, zorder=0)
    axes.set_ylim(0, top)
    axes.set_xlim(0, float(RATES[-1]))
    set_panel(axes, "", grid="both")
    axes.set_xlabel("I(z; x), nats")
    axes.set_ylabel("I(z; y), nats")
    note = (
        "The most that a code z of x can say about y. Dotted: I(x; y). Grey: all that z says is "
        "about y. The more z says about x, the less of it is about y."
    )
    lines = {name: Look(look.color, "", look.dash) for name, look in looked.items()}
    legend(figure, lines, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)
