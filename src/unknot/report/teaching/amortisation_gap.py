"""Approximation and amortisation gap: an ELBO with a posterior for each x, and with one encoder."""

import math

import numpy as np
from scipy import optimize

from unknot.report.study.style import DataFigure, Look, legend, panels
from unknot.report.style import ACCENT, ALARM, INK, set_panel, styled, wrap

NOISE = 0.15
"""Variance of x given z."""
DATA = np.linspace(-2.5, 2.5, 31)
GRID = np.linspace(-6.0, 6.0, 4_001)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(48)
STARTS = np.linspace(-2.0, 2.0, 5)


def decoder(z: np.ndarray) -> np.ndarray:
    """The mean of x given z."""
    mean: np.ndarray = z + 0.7 * np.sin(2 * z)
    return mean


def log_joint(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Logarithm of p(x, z), z normal."""
    log_prior = -0.5 * (math.log(2 * math.pi) + z * z)
    away = x - decoder(z)
    value: np.ndarray = log_prior - 0.5 * (math.log(2 * math.pi * NOISE) + away * away / NOISE)
    return value


def log_likelihood(x: np.ndarray) -> np.ndarray:
    """Logarithm of p(x) by a sum over a fine grid of z."""
    joint = np.exp(log_joint(x[:, None], GRID))
    value: np.ndarray = np.log(joint.sum(1) * (GRID[1] - GRID[0]))
    return value


def elbo(x: np.ndarray, mean: np.ndarray, log_sd: np.ndarray) -> np.ndarray:
    """The ELBO of Gaussian posteriors, by Gauss and Hermite's quadrature."""
    z = mean[:, None] + np.exp(log_sd)[:, None] * NODES
    expected = (log_joint(x[:, None], z) * WEIGHTS).sum(1) / math.sqrt(2 * math.pi)
    entropy = 0.5 * (1 + math.log(2 * math.pi)) + log_sd
    value: np.ndarray = expected + entropy
    return value


def best_elbo(x: np.ndarray) -> np.ndarray:
    """The ELBO with the best Gaussian for each x, from several starts."""

    def of_one(value: float) -> float:
        def loss(q: np.ndarray) -> float:
            return -float(elbo(np.array([value]), q[:1], q[1:])[0])

        ends = (optimize.minimize(loss, [start, -1.0]).fun for start in STARTS)
        return -float(min(ends))

    return np.array([of_one(float(value)) for value in x])


def amortised_elbo(x: np.ndarray) -> np.ndarray:
    """The ELBO with one encoder: a mean that is linear in x, and the same variance for all x."""

    def loss(q: np.ndarray) -> float:
        return -float(elbo(x, q[0] * x + q[1], np.full_like(x, q[2])).mean())

    best = optimize.minimize(loss, [0.5, 0.0, -1.0]).x
    return elbo(x, best[0] * x + best[1], np.full_like(x, best[2]))


@styled
def draw() -> DataFigure:
    """Log-likelihood, the ELBO with the best Gaussian for each x, and that with a linear encoder.

    Paper: Cremer et al. 2018, "Inference suboptimality in variational autoencoders"; Mushom 2020,
    section 3.3.
    """
    figure, (axes,) = panels(
        1, size=(5.2, 3.2), head=1.1, title="Approximation and amortisation gap"
    )
    top, middle, low = log_likelihood(DATA), best_elbo(DATA), amortised_elbo(DATA)
    looked = {
        "ln p(x)": Look(INK, "", "-"),
        "ELBO, a Gaussian for each x": Look(ACCENT, "", "--"),
        "ELBO, one encoder": Look(ALARM, "", "-."),
    }
    for values, look in zip((top, middle, low), looked.values(), strict=True):
        axes.plot(DATA, values, color=look.color, linestyle=look.dash, linewidth=1.5)
    axes.fill_between(DATA, middle, top, color=ACCENT, alpha=0.2, linewidth=0)
    axes.fill_between(DATA, low, middle, color=ALARM, alpha=0.2, linewidth=0)
    set_panel(axes, "")
    axes.set_xlabel("x")
    axes.set_ylabel("nats")
    note = (
        "z ~ N(0, 1), x = z + 0.7 sin 2z + noise. Blue: approximation gap, since no Gaussian is "
        "the posterior. Orange: amortisation gap, since one linear encoder serves all x. Mean "
        f"over these x: {float((top - middle).mean()):.2f} and "
        f"{float((middle - low).mean()):.2f} nats."
    )
    legend(figure, looked, across=2, notes=(wrap(note, figure),))
    rows = [
        {
            "x": float(x),
            "log_likelihood": float(a),
            "best_elbo": float(b),
            "amortised_elbo": float(c),
        }
        for x, a, b, c in zip(DATA, top, middle, low, strict=True)
    ]
    return DataFigure(figure, rows)
