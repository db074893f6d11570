"""The importance-weighted bound over the number of samples, beside the log-likelihood."""

import math

import numpy as np
from scipy.special import logsumexp

from unknot.core import noise
from unknot.report.study.style import DataFigure, legend, looks, panels
from unknot.report.style import INK, number_ticks, set_panel, styled, wrap

SAMPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
REPEATS = 4_000
X = 1.5
"""The observed value."""
NOISE = 0.5
"""Variance of x given z; z has the prior N(0, 1)."""
POSTERIORS = {"too narrow": (1.0, 0.1), "shifted": (0.4, 1 / 3), "exact": (1.0, 1 / 3)}
"""Mean and variance of q(z | x); the last is the posterior."""


def log_normal(x: np.ndarray | float, mean: np.ndarray | float, variance: float) -> np.ndarray:
    """Logarithm of a normal density."""
    away = np.asarray(x) - mean
    log_density: np.ndarray = -0.5 * (math.log(2 * math.pi * variance) + away**2 / variance)
    return log_density


def log_likelihood() -> float:
    """Logarithm of p(x): x is normal with variance 1 + NOISE."""
    return float(log_normal(X, 0.0, 1 + NOISE))


def log_weights(mean: float, variance: float, k: int) -> np.ndarray:
    """Logarithm of p(x, z) / q(z | x) of so many samples z from q, for each of the repeats."""
    eps = noise.normal(0, "report/iwae", k, REPEATS, k).double().numpy()
    z = mean + math.sqrt(variance) * eps
    joint = log_normal(z, 0.0, 1.0) + log_normal(X, z, NOISE)
    weights: np.ndarray = joint - log_normal(z, mean, variance)
    return weights


@styled
def draw() -> DataFigure:
    """The bound of Burda et al. over the number of samples, for three posteriors of one image.

    Paper: Burda et al. 2016, "Importance weighted autoencoders"; Mushom 2020, section 3.4.
    """
    figure, (axes,) = panels(
        1, size=(5.2, 3.2), head=1.0, title="Importance-weighted bound over samples"
    )
    looked = looks(POSTERIORS)
    rows = []
    for name, (mean, variance) in POSTERIORS.items():
        bounds, errors = [], []
        for k in SAMPLES:
            values = logsumexp(log_weights(mean, variance, k), axis=1) - math.log(k)
            bounds.append(float(values.mean()))
            errors.append(float(values.std() / math.sqrt(REPEATS)))
        rows += [
            {"posterior": name, "samples": k, "bound": b, "standard_error": e,
             "log_likelihood": log_likelihood()}
            for k, b, e in zip(SAMPLES, bounds, errors, strict=True)
        ]  # fmt: skip
        look = looked[name]
        axes.errorbar(
            SAMPLES, bounds, yerr=[2 * e for e in errors], color=look.color, marker=look.marker,
            linestyle=look.dash, markersize=4, linewidth=1.3,
        )  # fmt: skip
    axes.axhline(log_likelihood(), color=INK, linewidth=1.1)
    set_panel(axes, "")
    axes.set_xscale("log", base=2)
    axes.set_xticks(SAMPLES)
    number_ticks(axes.xaxis)
    axes.set_xlabel("samples k")
    axes.set_ylabel("nats")
    note = (
        "Level line: ln p(x). k = 1 is the ELBO. Bars: two standard errors. The model is linear "
        "and Gaussian, so the exact posterior reaches ln p(x) with one sample."
    )
    legend(figure, looked, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)
