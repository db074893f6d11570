"""Moments of the aggregate posterior, and how far they are from the prior's."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import ratio

REACH, STEPS = 5.0, 201
"""Where distribution functions are compared: so many points up to so far on either side."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows."""

    samples: int | None = None
    version: int = 1


PROTOCOLS = {"unknot": Settings()}


@metric(
    PROTOCOLS,
    better="lower",
    range=(0, None),
    unit="nats",
    measures=("prior",),
    depends_on=("moments",),
    needs=("codes", "posteriors"),
    cost=0.11,
    reads=(
        "Distance of the distribution of all codes from the prior. 0: samples from the "
        "prior look like codes."
    ),
)
def aggregate_posterior(rows: Rows, settings: Settings) -> Measured:  # noqa: ARG001 - all alike
    r"""Aggregate posterior: distance of the distribution of all codes from the prior.

    With mean $m$ and covariance $C$ of $q(z) = \frac1n \sum_x q(z | x)$, exactly $C$ is the
    covariance of the means plus the diagonal of mean variances. The score is the divergence of the
    Gaussian with these moments from a prior of independent standard normals,
    $$\tfrac12 (\mathrm{tr}\, C + m^\top m - z - \ln \det C) \le \mathrm{KL}(q(z) \| p(z)).$$
    ``.wasserstein`` is the squared distance $|m|^2 + \sum_i (\sqrt{\lambda_i} - 1)^2$ over
    eigenvalues of $C$; ``.skewness``, ``.kurtosis`` (excess) and ``.distribution`` are the largest
    over latents, signs dropped. The last is Kolmogorov's distance of a latent's distribution
    function from the normal one. Parts hold all of them by latent. Factors are not used.

    Paper: ours, of the aggregate posterior of Makhzani et al. 2016, "Adversarial
    autoencoders", and Hoffman and Johnson 2016, "ELBO surgery".
    Differs: moments are those of the mixture, not of drawn samples.
    Note: where the KL per latent is large and this is small, the code carries information; where
    both are large, it mismatches the prior.

    Args:
        codes: Posterior means ``[n, z]``, or a representation of them.
        factors: Not used.
        logvar: Log-variances of the posteriors, in the form of the codes.
        protocol: A name, or settings.
        seed: Of drawn rows.
        interval: Level of an interval by half-samples of the rows, where wanted.

    Raises:
        ConfigError: There are no log-variances.
        DataError: A variance is 0 or infinite in float64.
    """
    means, logvars = rows.posteriors()
    center, variances = means.mean(0), logvars.exp()
    away = means - center
    covariance = away.T @ away / len(rows) + variances.mean(0).diag()
    variance = covariance.diagonal()
    third = (away**3 + 3 * away * variances).mean(0)
    fourth = (away**4 + 6 * away**2 * variances + 3 * variances**2).mean(0)
    skewness = ratio(third, variance**1.5)
    kurtosis = ratio(fourth, variance**2) - 3
    distribution = _kolmogorov(means, logvars)
    spread = torch.linalg.eigvalsh(covariance)
    shift = center.square().sum()
    values = {
        "": 0.5 * (spread - 1 - spread.log()).sum() + 0.5 * shift,
        "wasserstein": shift + (spread.clamp_min(0).sqrt() - 1).square().sum(),
        "skewness": skewness.abs().max(),
        "kurtosis": kurtosis.abs().max(),
        "distribution": distribution.max(),
    }
    parts = {
        "mean": center,
        "variance": variance,
        "covariance": covariance,
        "skewness": skewness,
        "kurtosis": kurtosis,
        "distribution": distribution,
    }
    return Measured(values, parts)


def _kolmogorov(means: Float[Tensor, "n z"], logvars: Float[Tensor, "n z"]) -> Float[Tensor, " z"]:
    """Largest distance of a latent's distribution function from the normal one, on a grid."""
    scale, furthest = (-0.5 * logvars).exp() / math.sqrt(2), means.new_zeros(means.shape[1])
    for t in torch.linspace(-REACH, REACH, STEPS, dtype=means.dtype).tolist():
        below = (1 + torch.erf((t - means) * scale)).mean(0) / 2
        normal = (1 + math.erf(t / math.sqrt(2))) / 2
        furthest = torch.maximum(furthest, (below - normal).abs())
    return furthest
