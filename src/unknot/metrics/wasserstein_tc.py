"""Wasserstein distance of codes from independence, were they Gaussian."""

from dataclasses import dataclass

import torch

from unknot.metrics.parts.columns import correlation, normal_scores
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import ratio


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows, the unit of codes and that of the score."""

    samples: int | None = 10_000
    normal_scores: bool = False
    """Whether a code is replaced by the normal quantiles of its ranks, with variance 1."""
    normalized: bool = False
    """Whether the score is divided by the sum of variances."""
    version: int = 1


PROTOCOLS = {
    "study2019": Settings(),
    "unknot": Settings(None, normal_scores=True, normalized=True),
}


@metric(
    PROTOCOLS,
    better="lower",
    range=(0, None),
    measures=("independence",),
    depends_on=("moments",),
    needs=("codes",),
    cost=0.02,
    reads="0: the latents are uncorrelated. It says nothing about factors.",
)
def wasserstein_tc(rows: Rows, settings: Settings) -> Measured:
    r"""Gaussian Wasserstein correlation: squared distance of the codes from independence.

    $$W_2^2\big(N(0, \Sigma), N(0, D)\big) = 2 \operatorname{tr} \Sigma
      - 2 \operatorname{tr} \big(D^{1/2} \Sigma D^{1/2}\big)^{1/2}, \quad
      D = \operatorname{diag} \Sigma$$
    with $\Sigma$ the covariance of the codes. ``wasserstein_tc.raw`` is this, and
    ``wasserstein_tc.normalized`` is divided by $\operatorname{tr} \Sigma$, because codes that
    shrink come closer to anything. Factors are not used.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations"; the distance of Gaussians is Olkin and Pukelsheim's of 1982.
    Differs: ``study2019`` is the raw distance, in squared units of the codes. ``unknot`` is the
    normalised one of the normal quantiles of ranks, where neither units nor outliers matter.
    Note: normalised it is 0 to 2, and $2 - 2 / \sqrt z$ for z equal codes; 0.07 for two codes with
    correlation 0.5. Unlike `gaussian_tc` it is finite for all codes. Low for noise too.
    """
    if settings.normal_scores:
        codes = normal_scores(rows.codes)
        covariance = correlation(codes, codes)
    else:
        centered = rows.codes - rows.codes.mean(0)
        covariance = centered.T @ centered / (len(rows) - 1)
    total = covariance.trace()
    # Shares of the total: products of large variances would overflow.
    shares = ratio(covariance, total)
    scale = shares.diagonal().sqrt()
    roots = torch.linalg.eigvalsh(scale[:, None] * shares * scale).clamp_min(0).sqrt()
    normalized = (2 * shares.trace() - 2 * roots.sum()).clamp_min(0)
    raw = total * normalized
    values = {
        "": normalized if settings.normalized else raw,
        "raw": raw,
        "normalized": normalized,
    }
    return Measured(values, {"covariance": covariance})
