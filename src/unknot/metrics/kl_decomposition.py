"""The divergence from the prior, split into information, total correlation and the rest."""

from dataclasses import dataclass

import torch

from unknot.core import noise
from unknot.metrics.parts.decoding import standard_error
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.mixtures import log_densities, log_normal
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric

EVERY = 10_000_000
"""Posteriors of a grid at most; more do not fit into memory."""


@dataclass(frozen=True)
class Settings(RowSettings):
    """How many posteriors the mixture has, and at how many points it is taken."""

    samples: int | None = None
    distinct: bool = True
    points: int = 1_000
    """One from each of so many posteriors."""
    version: int = 1


PROTOCOLS = {"paper": Settings(EVERY), "unknot": Settings()}


@metric(
    PROTOCOLS,
    options=(),
    better="lower",
    unit="nats",
    measures=("independence",),
    depends_on=("draws", "rows"),
    needs=("codes", "posteriors"),
    cost=0.46,
    reads=(
        "Total correlation of the codes of all data, in nats. 0: latents are independent. Its "
        "parts say how much codes tell of their image and how far latents are from the prior."
    ),
    parts={
        "information": "What a code tells of its image; at most ln of the number of images.",
        "total_correlation": "How far latents are from independent.",
        "dimension_wise": "How far latents are from the prior, each by itself.",
        "prior": "How far the distribution of all codes is from the prior.",
        "kl": "All of it: what a VAE pays.",
        "error": "Standard error of the total correlation over points.",
    },
)
def kl_decomposition(rows: Rows, settings: Settings) -> Measured:
    r"""KL decomposition: total correlation of all codes, beside the rest of the divergence.

    $$\mathbb E_x \mathrm{KL}(q(z|x) \| p(z)) = I_q(x; z)
    + \mathrm{KL}\big(q(z) \| \textstyle\prod_j q(z_j)\big)
    + \textstyle\sum_j \mathrm{KL}(q(z_j) \| p(z_j)), \qquad q(z) = \frac1N \sum_i q(z | x_i)$$

    The score is the second part, ``.total_correlation``; ``.information`` and ``.dimension_wise``
    are the others, ``.kl`` the sum and ``.prior`` $\mathrm{KL}(q(z) \| p(z))$, the last two parts
    together. The densities are those of the mixture over posteriors, without batches, bins or a
    critic, at points drawn from them. Part ``per_code`` is the dimension-wise divergence of each
    latent. Factors are not used.

    Paper: Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders",
    equation 2; Hoffman and Johnson 2016, "ELBO surgery"; Mushom 2020, equations 4.3 and 4.4.
    Differs: ``paper`` takes all posteriors of the data: exact but for the noise of points, which
    ``.error`` tells. ``unknot`` takes 10,000 of a grid. With $n$ of $N$ posteriors, the one that a
    point is from weighs $1 / N$ and the others share the rest, so that densities are right on
    average; their logarithms are too low. Where few posteriors overlap, information comes out too
    high by that, and total correlation too low.
    Note: the estimates of a batch of 64, which objectives train on, miss by many nats.

    Args:
        codes: Posterior means ``[n, z]``, or a representation of them.
        factors: Not used.
        logvar: Log-variances of the posteriors, in the form of the codes.
        protocol: A name, or settings.
        seed: Of drawn rows and points.

    Raises:
        ConfigError: There are no log-variances.

    Example:
        >>> import numpy as np
        >>> score = kl_decomposition(np.zeros((100, 2)), logvar=np.zeros((100, 2)))
        >>> max(abs(value) for value in score.values.values()) < 1e-9
        True
    """
    mean, logvar = rows.posteriors()
    n, seed = len(rows), rows.seed
    size = rows.grid.space.size if rows.grid else n
    owner = noise.permutation(seed, "metric/points", 0, n, 1)[: settings.points, 0].to(mean.device)
    eps = noise.normal(seed, "metric/points", 1, *mean[owner].shape, dtype=mean.dtype)
    z = mean[owner] + (0.5 * logvar[owner]).exp() * eps.to(mean.device)
    joint, marginals = log_densities(z, owner, mean, logvar, size)
    conditional = log_normal(z, mean[owner], logvar[owner]).sum(1)
    per_code = marginals - log_normal(z, torch.zeros_like(z), torch.zeros_like(z))
    correlation, divergence = joint - marginals.sum(1), per_code.sum(1)
    values = {
        "": correlation.mean(),
        "information": (conditional - joint).mean(),
        "total_correlation": correlation.mean(),
        "dimension_wise": divergence.mean(),
        "prior": (correlation + divergence).mean(),
        "kl": (conditional - joint + correlation + divergence).mean(),
        "error": standard_error(correlation),
    }
    remarks: tuple[str, ...] = ()
    if size > n:
        remarks = (
            f"{n:,} of {size:,} posteriors: where few overlap, information comes out too high "
            "and total correlation too low",
        )
    record = {"posteriors": n, "drawn": len(z)}
    return Measured(values, {"per_code": per_code.mean(0)}, remarks, record)
