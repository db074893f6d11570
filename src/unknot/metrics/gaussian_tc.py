"""Total correlation of codes, were they Gaussian."""

from dataclasses import dataclass

import torch

from unknot.core.errors import DataError
from unknot.metrics.parts.columns import correlation, normal_scores
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric

SINGULAR = 1e-12
"""An eigenvalue of a correlation matrix below this is rounding."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows, and whether codes are first made Gaussian."""

    samples: int | None = 10_000
    normal_scores: bool = False
    """Whether a code is replaced by the normal quantiles of its ranks."""
    version: int = 1


PROTOCOLS = {"study2019": Settings(), "unknot": Settings(None, normal_scores=True)}


@metric(
    PROTOCOLS,
    better="lower",
    range=(0, None),
    unit="nats",
    measures=("independence",),
    depends_on=("moments",),
    needs=("codes",),
    cost=0.02,
    reads=(
        "0: the latents are uncorrelated. It says nothing about factors: a rotation of them "
        "can be uncorrelated too."
    ),
)
def gaussian_tc(rows: Rows, settings: Settings) -> Measured:
    r"""Gaussian total correlation: dependence of the latents, treated as Gaussian.

    $$\tfrac12 \Big(\sum_j \ln \Sigma_{jj} - \ln \det \Sigma\Big) = -\tfrac12 \ln \det R$$
    with $\Sigma$ the covariance and $R$ the correlation of the codes. Factors are not used.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations"; total correlation is Watanabe's of 1960.
    Differs: a constant code depends on nothing and is left out, where the study takes the logarithm
    of zero. ``unknot`` takes the normal quantiles of ranks, so that neither outliers nor monotone
    maps of a code matter.
    Note: two codes with correlation 0.5 have 0.14. Where a code is a linear function of others it
    is infinite, which is an error. Low for noise and for collapsed codes too: read it together with
    a metric that uses factors.

    Raises:
        DataError: A code is a linear function of others.

    Example:
        >>> import numpy as np
        >>> same, other = [[1, 1], [-1, -1]], [[1, -1], [-1, 1]]
        >>> gaussian_tc(np.array(6 * same + 2 * other), protocol="study2019")  # correlation 0.5
        gaussian_tc 0.1438 (protocol study2019 v1, 16 rows)
    """
    codes = normal_scores(rows.codes) if settings.normal_scores else rows.codes
    table = correlation(codes, codes)
    varies = table.diagonal() > 0
    eigenvalues = torch.linalg.eigvalsh(table[varies][:, varies])
    if bool((eigenvalues < SINGULAR).any()):
        raise DataError(
            "gaussian_tc is infinite on these rows: a code is a linear function of others. Leave "
            "repeated codes out, or give more rows than codes."
        )
    dead = int((~varies).sum())
    remarks = (f"{dead} of {len(varies)} codes are constant and were left out",) if dead else ()
    value = (-0.5 * eigenvalues.log().sum()).clamp_min(0)
    return Measured({"": value}, {"correlation": table}, remarks)
