"""Total correlation of codes, were they Gaussian."""

from dataclasses import dataclass

import torch

from unknot.core.errors import DataError
from unknot.metrics import protocols
from unknot.metrics.codes_only import take_codes
from unknot.metrics.inputs import Codes, Factors, Rows
from unknot.metrics.result import Measured, Score, score
from unknot.metrics.tables import correlation, midranks


@dataclass(frozen=True)
class Settings:
    """Rows, and whether a code is first made Gaussian."""

    samples: int | None = 10_000
    normal_scores: bool = False
    """Whether a code is replaced by the normal quantiles of its ranks."""
    version: int = 1


PROTOCOLS = {"study2019": Settings(), "unknot": Settings(None, normal_scores=True)}


def gaussian_tc(
    codes: Codes,
    factors: Factors = None,  # noqa: ARG001 - every score is called alike
    *,
    protocol: str | Settings = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""Gaussian total correlation: how far codes are from independence, were they Gaussian.

    $$\tfrac12 \Big(\sum_j \ln \Sigma_{jj} - \ln \det \Sigma\Big) = -\tfrac12 \ln \det R$$
    with $\Sigma$ the covariance and $R$ the correlation of the codes. Factors are not used.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations", appendix; total correlation is Watanabe's of 1960.
    Differs: a constant code depends on nothing and is left out, where the study divides by zero.
    ``unknot`` takes the normal quantiles of ranks, so that outliers and monotone maps of a code do
    not matter.
    Range: 0 upwards, in nats; 0 is independence. Codes of which one is a linear function of
    others have no finite value, which is an error.
    Reads as: 0.14 is what two codes with correlation 0.5 have. Low for noise and for collapsed
    codes too: never read it without a score of what the codes tell.

    Raises:
        DataError: A code is a linear function of others.

    Example:
        >>> import numpy as np
        >>> corners = np.array([[1, 1], [-1, -1], [1, 1], [-1, -1], [1, -1]] * 4)
        >>> gaussian_tc(corners, protocol="study2019")
        gaussian_tc 0.4055 (study2019)
    """
    chosen = protocols.pick("gaussian_tc", PROTOCOLS, protocol)
    rows = take_codes(codes, samples=chosen.settings.samples, seed=seed)

    def measure(rows: Rows) -> Measured:
        return _measure(rows, chosen.settings)

    return score(chosen, measure, rows, seed=seed, interval=interval)


def _measure(rows: Rows, settings: Settings) -> Measured:
    codes = rows.codes
    if settings.normal_scores:
        codes = torch.special.ndtri((midranks(codes) + 0.5) / len(codes))
    table = correlation(codes, codes)
    varies = table.diagonal() > 0
    eigenvalues = torch.linalg.eigvalsh(table[varies][:, varies])
    if bool((eigenvalues < len(table) * torch.finfo(table.dtype).eps).any()):
        raise DataError(
            "gaussian_tc is infinite on these rows: a code is a linear function of others. Leave "
            "repeated codes out, or give more rows than codes."
        )
    remarks = () if bool(varies.all()) else (f"{int((~varies).sum())} constant codes left out",)
    return Measured({"": -0.5 * eigenvalues.log().sum()}, {"correlation": table}, remarks)
