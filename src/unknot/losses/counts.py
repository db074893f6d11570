r"""Counts: how likely whole numbers are under a Poisson or a negative binomial distribution.

A row of counts comes as $\ln(1 + k)$, which is what encoders see, and the decoder's outputs become
shares of the row's total $n$: its counts have the means $\mu = n \,\mathrm{softmax}(y)$. A negative
binomial has a second output for each count, the logarithm of its dispersion $\theta$, and the
variance $\mu + \mu^2 / \theta$.
"""

from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

Counts: TypeAlias = Literal["poisson", "negative_binomial"]
STIRLING = 10.0
"""From this dispersion on Stirling's series is exact to rounding, and differences of two large
logarithms of the gamma function are not."""
LEAST_TOTAL = 1e-8
"""Stands for the total of a row without counts, whose likelihood is then 1."""


def whole(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """The counts of their log1p; in float32 exact up to half a million."""
    return x.expm1().round()


def row_totals(x: Float[Tensor, "*p b c h w"]) -> Float[Tensor, "*p b 1 1 1"]:
    """The sum of the counts of each row."""
    return whole(x).sum((-3, -2, -1), keepdim=True)


def log_shares(
    likelihood: Counts, decoded: Float[Tensor, "*p b k h w"]
) -> Float[Tensor, "*p b c h w"]:
    """Logarithms of the share that each count is expected to have in its row."""
    logits = decoded if likelihood == "poisson" else decoded.chunk(2, dim=-3)[0]
    return logits.flatten(-3).log_softmax(-1).reshape(logits.shape)


def expected_counts(
    likelihood: Counts,
    decoded: Float[Tensor, "*p b k h w"],
    total: float | Float[Tensor, "*p b 1 1 1"],
) -> Float[Tensor, "*p b c h w"]:
    """Means of the counts of rows with a total."""
    return total * log_shares(likelihood, decoded).exp()


def count_loss(
    likelihood: Counts, decoded: Float[Tensor, "*p b k h w"], x: Float[Tensor, "*p b c h w"]
) -> Float[Tensor, "*p b"]:
    r"""$-\ln p(x|z)$ of each row, constants included.

    Args:
        likelihood: Which distribution.
        decoded: The decoder's outputs; of a negative binomial twice as many channels as counts.
        x: The rows as log1p of their counts.

    Example:
        >>> x = torch.tensor([1.0, 3.0]).log1p().reshape(1, 2, 1, 1)
        >>> round(count_loss("poisson", torch.zeros(1, 2, 1, 1), x).item(), 4)
        3.0192
    """
    counts = whole(x)
    total = counts.sum((-3, -2, -1), keepdim=True).clamp(min=LEAST_TOTAL)
    log_mean = total.log() + log_shares(likelihood, decoded)
    if likelihood == "poisson":
        losses = log_mean.exp() - counts * log_mean + (counts + 1).lgamma()
    else:
        losses = -negative_binomial(counts, log_mean, decoded.chunk(2, dim=-3)[1])
    return losses.sum((-3, -2, -1))


def negative_binomial(
    counts: Float[Tensor, "*n"], log_mean: Float[Tensor, "*n"], log_dispersion: Float[Tensor, "*n"]
) -> Float[Tensor, "*n"]:
    r"""Logarithm of the probability of each count, for means $\mu$ and dispersions $\theta$.

    $$\ln \frac{\Gamma(k + \theta)}{\Gamma(\theta)\,\theta^k\,k!} + k \ln \mu
    - (k + \theta) \ln(1 + \mu / \theta)$$
    """
    dispersion = log_dispersion.exp()
    ratio = (log_mean - log_dispersion).exp()
    rising = _rising(counts, dispersion, log_dispersion)
    constant = (counts + 1).lgamma()
    return rising - constant + counts * log_mean - (counts + dispersion) * ratio.log1p()


def _rising(counts: Tensor, dispersion: Tensor, log_dispersion: Tensor) -> Tensor:
    r"""$\ln \Gamma(k + \theta) - \ln \Gamma(\theta) - k \ln \theta$, small for a large $\theta$."""
    exact = (counts + dispersion).lgamma() - dispersion.lgamma() - counts * log_dispersion
    # Where it is not taken, the series must stay finite, or its gradient would not.
    large = dispersion.clamp(min=STIRLING)
    series = (
        (counts + large - 0.5) * (counts / large).log1p()
        - counts
        + 1 / (12 * (counts + large))
        - 1 / (12 * large)
    )
    return torch.where(dispersion > STIRLING, series, exact)
