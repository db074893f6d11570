"""The ELBO and the importance-weighted bound over the depth of a flow, for one image."""

import math
from functools import cache

import numpy as np
from scipy import optimize
from scipy.special import logsumexp

from unknot.core import noise
from unknot.report.study.style import DataFigure, legend, looks, panels
from unknot.report.style import INK, set_panel, styled, wrap
from unknot.report.teaching.amortisation_gap import log_joint, log_likelihood

X = 0.8
"""The observed value; its posterior is skewed."""
DEPTHS = range(5)
SAMPLES = (1, 4, 16, 64)
REPEATS = 4_000
EPS = np.linspace(-7.0, 7.0, 1_401)
"""Where expectations over the normal base are summed."""
LOG_BASE = -0.5 * (math.log(2 * math.pi) + EPS**2)
STARTS = (-1.0, 0.0, 1.0)
"""Where a new step begins to bend."""


def transform(parameters: np.ndarray, eps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples z of a flow on top of a Gaussian, and the logarithm of its slope.

    The first two parameters are mean and log-deviation; each step has three and is the planar flow
    in one dimension, z + a tanh(w z + b) / w with a > -1 and w > 0, which rises everywhere.

    Paper: Rezende and Mohamed 2015, "Variational inference with normalizing flows", equation 10.
    """
    mean, log_sd, *steps = parameters
    z, log_slope = mean + math.exp(log_sd) * eps, np.full_like(eps, log_sd)
    for log_rise, log_width, place in np.reshape(steps, (-1, 3)):
        bend = np.tanh(math.exp(log_width) * z + place)
        rise = math.expm1(log_rise)
        log_slope = log_slope + np.log1p(rise * (1 - bend**2))
        z = z + rise * bend / math.exp(log_width)
    return z, log_slope


def elbo(parameters: np.ndarray) -> float:
    """The ELBO of a flow, summed over a fine grid of its base."""
    z, log_slope = transform(parameters, EPS)
    values = np.exp(LOG_BASE) * (log_joint(np.array(X), z) - LOG_BASE + log_slope)
    return float(values.sum() * (EPS[1] - EPS[0]))


@cache
def best_flow(depth: int) -> tuple[float, ...]:
    """Parameters of the flow of a depth with the best ELBO found.

    The search begins at the best flow with one step less and a step that changes nothing.
    """
    begin = [0.5, -1.0] if depth == 0 else [*best_flow(depth - 1), 0.0, 0.5]

    def loss(parameters: np.ndarray) -> float:
        return -elbo(np.clip(parameters, -6.0, 6.0))

    starts = [begin] if depth == 0 else [[*begin, place] for place in STARTS]
    ends = [optimize.minimize(loss, start, options={"maxiter": 200}) for start in starts]
    best = np.clip(min(ends, key=lambda end: float(end.fun)).x, -6.0, 6.0)
    return tuple(float(value) for value in best)


def bounds(depth: int, k: int) -> np.ndarray:
    """The importance-weighted bound with k samples, once for each of the repeats."""
    eps = noise.normal(0, "report/flow_depth", k, REPEATS, k).double().numpy()
    z, log_slope = transform(np.array(best_flow(depth)), eps)
    log_q = -0.5 * (math.log(2 * math.pi) + eps**2) - log_slope
    values: np.ndarray = logsumexp(log_joint(np.array(X), z) - log_q, axis=1) - math.log(k)
    return values


def bound(depth: int, k: int) -> tuple[float, float]:
    """The mean bound with k samples and its standard error; of one sample the ELBO itself."""
    if k == 1:
        return elbo(np.array(best_flow(depth))), 0.0
    values = bounds(depth, k)
    return float(values.mean()), float(values.std() / math.sqrt(REPEATS))


@styled
def draw() -> DataFigure:
    """Bounds with several numbers of samples over the steps of a flow, fitted to one image.

    Paper: Rezende and Mohamed 2015, "Variational inference with normalizing flows"; Mushom 2020,
    section 3.4.
    """
    figure, (axes,) = panels(
        1, size=(5.2, 3.2), head=1.1, title="Importance-weighted bound over the depth of a flow"
    )
    exact = float(log_likelihood(np.array([X]))[0])
    looked = looks(f"k = {k}" for k in SAMPLES)
    rows = []
    for k, look in zip(SAMPLES, looked.values(), strict=True):
        means, errors = zip(*(bound(depth, k) for depth in DEPTHS), strict=True)
        rows += [
            {"depth": depth, "samples": k, "bound": mean, "standard_error": error,
             "log_likelihood": exact}
            for depth, mean, error in zip(DEPTHS, means, errors, strict=True)
        ]  # fmt: skip
        axes.errorbar(
            DEPTHS, means, yerr=[2 * e for e in errors], color=look.color, marker=look.marker,
            linestyle=look.dash, markersize=4, linewidth=1.3,
        )  # fmt: skip
    axes.axhline(exact, color=INK, linewidth=1.1)
    set_panel(axes, "")
    axes.set_xticks(DEPTHS)
    axes.set_xlabel("steps of the flow")
    axes.set_ylabel("nats")
    note = (
        f"Level line: ln p(x), of the model of amortisation_gap at x = {X:g}. k: samples; k = 1 is "
        "the ELBO. Without steps the posterior is a Gaussian. Steps bring it closer to the true "
        "one; samples make up for what is left. Bars: two standard errors."
    )
    legend(figure, looked, across=4, notes=(wrap(note, figure),))
    return DataFigure(figure, rows)
