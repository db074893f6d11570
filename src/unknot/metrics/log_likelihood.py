"""Importance-sampled log-likelihood of a model."""

import math
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from unknot.core.objective import Net
from unknot.metrics.parts import protocols
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.importance import Draws, Likelihood, draw, error
from unknot.metrics.parts.result import Measured, Score, build

FEW = 2.0
"""Where fewer draws than this carry the weight of an image, the bound is loose."""


@dataclass(frozen=True)
class Settings:
    """How many points of each posterior are decoded."""

    draws: int
    version: int = 1


PROTOCOLS = {"paper": Settings(5_000), "unknot": Settings(32)}


@metric(
    better="higher",
    range=(None, None),
    unit="nats",
    measures=("likelihood",),
    needs=("decoder",),
    reads=(
        "A tighter bound than the ELBO of what the model gives an image, in nats. Higher is better."
    ),
    lower_parts=("error",),
)
def log_likelihood(
    net: Net,
    x: Float[Tensor, "..."],
    *,
    likelihood: Likelihood = "bernoulli",
    protocol: str | Settings = "unknot",
    seed: int = 0,
) -> Score:
    r"""Importance-sampled log-likelihood: a tighter lower bound of what a model gives an image.

    $$\ln \frac1K \sum_{k=1}^K \frac{p(x|z_k)\, p(z_k)}{q(z_k|x)} \quad z_k \sim q(z|x)$$
    mean over images; with $K = 1$ an ELBO, and $\ln p(x)$ in the limit.
    ``log_likelihood.gain`` is how far it is above the ELBO of the same points,
    ``log_likelihood.error`` the standard error over images, and the part ``effective`` of how many
    points the weight of an image is worth.

    Paper: Burda et al. 2016, "Importance weighted autoencoders", equation 8; 5,000 points.
    Differs: 32 points under ``unknot``. A Gaussian likelihood has variance 1/2, as in `elbo`.
    Range: minus infinity to 0 for binary images; densities of others may exceed 1.
    Reads as: of models of the same images, and with the same number of points, the higher fits
    better. Where one point holds all the weight it is a loose bound, and a remark says so.

    Args:
        net: One model; ``Net(encode, decode)`` of any two functions.
        x: Images ``[n, c, h, w]``.
        likelihood: Of the decoder.
        protocol: A name, or settings.
        seed: Of the points drawn.

    Raises:
        ShapeError: The images are none, or the net is a population.
        DataError: A Bernoulli likelihood and images outside [0, 1], or a net that diverged.
    """
    chosen = protocols.pick("log_likelihood", PROTOCOLS, protocol)
    drawn = draw(net, x, likelihood=likelihood, draws=chosen.settings.draws, seed=seed)
    return of_draws(drawn, protocol=protocol, seed=seed)


def of_draws(drawn: Draws, *, protocol: str | Settings, seed: int) -> Score:
    """The score of one model from its draws, such as those of a population's member.

    Raises:
        ShapeError: The draws are of several models.
        DataError: The model diverged.
    """
    chosen = protocols.pick("log_likelihood", PROTOCOLS, protocol)
    drawn.check()
    weights = drawn.likelihoods + drawn.ratios
    draws = len(weights)
    bound = weights.logsumexp(0) - math.log(draws)
    effective = (2 * weights.logsumexp(0) - (2 * weights).logsumexp(0)).exp()
    values = {
        "": bound.mean(),
        "gain": (bound - weights.mean(0)).mean(),
        "error": error(bound),
    }
    remarks = drawn.remarks
    if draws > 1 and float(effective.quantile(0.5)) < FEW:
        remarks = (*remarks, f"one of {draws} points holds most of the weight: a loose bound")
    measured = Measured(values, {"per_image": bound, "effective": effective}, remarks)
    return build(chosen, measured, drawn.rows, likelihood=drawn.likelihood, seed=seed)
