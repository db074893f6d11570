"""Which way round a divergence is taken: a Gaussian fitted to a mixture by both."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from scipy import optimize
from scipy.special import logsumexp

from unknot.core import noise
from unknot.report.study.style import panels
from unknot.report.style import ACCENT, footnote, set_panel, show_frame, styled

NODES = 40
"""Of the quadrature in each direction: exact for polynomials of degree 79."""
SIDE = 120
"""Points of the picture's grid in each direction."""


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture of isotropic Gaussians in the plane."""

    weights: Float[np.ndarray, " k"]
    means: Float[np.ndarray, "k 2"]
    variances: Float[np.ndarray, " k"]

    def log_density(self, x: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n"]:
        """Logarithm of its density."""
        distance = np.square(x[..., None, :] - self.means).sum(-1)
        parts = -0.5 * distance / self.variances - np.log(2 * math.pi * self.variances)
        log_density: np.ndarray = logsumexp(parts, b=self.weights, axis=-1)
        return log_density


@dataclass(frozen=True, eq=False)
class Fit:
    """An isotropic Gaussian."""

    mean: Float[np.ndarray, " 2"]
    variance: float


def random_mixture(seed: int = 0, *, parts: int = 4) -> Mixture:
    """Normal means, uniform precisions, and weights of a flat Dirichlet distribution.

    Paper: Mushom 2020, figure 3.2; its numbers are not given.
    """
    means = 2 * noise.normal(seed, "report/mixture", 0, parts, 2, dtype=torch.float64).numpy()
    shares = noise.uniform(seed, "report/mixture", 1, 2, parts, dtype=torch.float64).numpy()
    weights = -np.log(shares[0])
    return Mixture(weights / weights.sum(), means, 1 / (1 + 4 * shares[1]))


def forward_fit(p: Mixture) -> Fit:
    r"""The Gaussian q of the least $\mathrm{KL}(p \| q)$: its moments are those of the mixture."""
    mean = p.weights @ p.means
    spread = np.square(p.means - mean).sum(1) / 2 + p.variances
    return Fit(mean, float(p.weights @ spread))


def reverse_fit(p: Mixture) -> Fit:
    r"""The Gaussian q of the least $\mathrm{KL}(q \| p)$, by descent from each part's mean."""

    def loss(x: np.ndarray) -> float:
        return reverse_kl(Fit(x[:2], math.exp(x[2])), p)

    starts = [np.array([*m, math.log(v)]) for m, v in zip(p.means, p.variances, strict=True)]
    best = min((optimize.minimize(loss, start) for start in starts), key=lambda end: end.fun)
    return Fit(best.x[:2], math.exp(best.x[2]))


def reverse_kl(q: Fit, p: Mixture) -> float:
    r"""$\mathrm{KL}(q \| p) = \mathbb E_q[\ln q - \ln p]$ by Gauss and Hermite's quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    x = q.mean + math.sqrt(q.variance) * np.stack(np.meshgrid(nodes, nodes), axis=-1)
    mass = np.outer(weights, weights) / (2 * math.pi)
    return float(-math.log(2 * math.pi * q.variance) - 1 - (mass * p.log_density(x)).sum())


@styled
def kl_directions_figure(p: Mixture) -> Figure:
    """The mixture in grey, and circles of one and two deviations of both fits."""
    fits = {"KL(p ‖ q): covers all of p": forward_fit(p), "KL(q ‖ p): seeks a mode": reverse_fit(p)}
    figure, cells = panels(
        2,
        size=(3.4, 3.2),
        head=0.75,
        title="A Gaussian q fitted to a mixture p",
    )
    low, high = p.means.min(0), p.means.max(0)
    reach = float((high - low).max() / 2 + 2)
    x, y = (np.linspace(-reach, reach, SIDE) + middle for middle in (low + high) / 2)
    density = np.exp(p.log_density(np.stack(np.meshgrid(x, y), axis=-1)))
    levels = np.geomspace(0.003, 1, 9) * density.max()  # small parts are seen, too
    for (name, fit), axes in zip(fits.items(), cells, strict=True):
        axes.contourf(x, y, density, levels=levels, cmap="Greys", norm=LogNorm())
        for k in (1, 2):
            axes.add_patch(
                Circle(
                    (float(fit.mean[0]), float(fit.mean[1])), k * math.sqrt(fit.variance),
                    fill=False, edgecolor=ACCENT, linewidth=1.8 / k,
                )
            )  # fmt: skip
        set_panel(axes, name, grid="none")
        axes.set_aspect("equal")
        axes.set_xticks([])
        axes.set_yticks([])
        show_frame(axes)
    note = "Circles: one and two standard deviations. Grey: logarithm of p. A VAE takes the second."
    footnote(figure, (note,))
    return figure
