"""Importance-sampled log-likelihood of a model."""

import math

from unknot.metrics.parts.decoding import DecodingSettings, PosteriorSamples, standard_error
from unknot.metrics.parts.scoring import Measured, metric

FEW = 2.0
"""Where fewer samples than this carry the weight of an image, the bound is loose."""


PROTOCOLS = {"paper": DecodingSettings(5_000), "unknot": DecodingSettings(32)}


@metric(
    PROTOCOLS,
    range=(None, None),
    unit="nats",
    measures=("likelihood",),
    depends_on=("draws",),
    needs=("decoder",),
    reads=(
        "Lower bound on the log-likelihood of an image, tighter than the ELBO, in nats. "
        "Higher is better."
    ),
    lower_parts=("error",),
    parts={
        "gain": "How far the bound lies above the ELBO of the same points, in nats.",
        "error": "Standard error of the bound over images.",
    },
)
def log_likelihood(samples: PosteriorSamples, settings: DecodingSettings) -> Measured:  # noqa: ARG001
    r"""Importance-sampled log-likelihood: a tighter lower bound than the ELBO, in nats.

    $$\ln \frac1K \sum_{k=1}^K \frac{p(x|z_k)\, p(z_k)}{q(z_k|x)} \quad z_k \sim q(z|x)$$
    mean over images; with $K = 1$ an ELBO, and $\ln p(x)$ in the limit.
    ``log_likelihood.gain`` is how far it is above the ELBO of the same points,
    ``log_likelihood.error`` the standard error over images, and the part ``effective`` of how many
    points the weight of an image is worth.

    Paper: Burda et al. 2016, "Importance weighted autoencoders", equation 8; 5,000 points.
    Differs: 32 points under ``unknot``. A Gaussian likelihood has variance 1/2, as in `elbo`.
    Note: at most 0 for binary images; densities of other images may exceed 1. Compare models with
    the same number of samples. Where one sample has all the weight the bound is loose, and a remark
    says so.

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
    weights = samples.likelihoods + samples.ratios
    count = len(weights)
    bound = weights.logsumexp(0) - math.log(count)
    effective = (2 * weights.logsumexp(0) - (2 * weights).logsumexp(0)).exp()
    values = {
        "": bound.mean(),
        "gain": (bound - weights.mean(0)).mean(),
        "error": standard_error(bound),
    }
    remarks = samples.remarks
    if count > 1 and float(effective.quantile(0.5)) < FEW:
        remarks = (*remarks, f"one of {count} points holds most of the weight: a loose bound")
    return Measured(values, {"per_image": bound, "effective": effective}, remarks)
