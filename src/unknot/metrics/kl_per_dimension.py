"""Divergence of each latent's posterior from the prior."""

from dataclasses import dataclass

from unknot.core.posterior import Posterior
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows, and the divergence above which a latent is in use."""

    samples: int | None = None
    threshold: float = 0.01
    version: int = 1


PROTOCOLS = {name: Settings() for name in ("study2019", "paper", "carbonneau", "kumar", "unknot")}


@metric(
    PROTOCOLS,
    better="neither",
    range=(0, None),
    unit="nats",
    measures=("usage",),
    needs=("codes", "posteriors"),
    cost=0.01,
    reads=(
        "KL(posterior ‖ prior) summed over latents, in nats: an upper bound on the "
        "information in the code."
    ),
)
def kl_per_dimension(rows: Rows, settings: Settings) -> Measured:
    r"""KL divergence of the posteriors from the prior, in total and for each latent.

    $$\mathrm{KL}_j = \frac1n \sum_x \tfrac12 (\mu_j^2 + \sigma_j^2 - 1 - \ln \sigma_j^2)$$
    against a prior of independent standard normals. The score is the sum, ``per_code`` the part of
    each latent, ``sigma`` its mean $\sigma_j$, and ``kl_per_dimension.active`` the number of
    latents above 0.01 nats. Factors are not used. All protocols are the same.

    Paper: Kingma and Welling 2014, "Auto-encoding variational Bayes", appendix B.
    Differs: none; the threshold is that of Duan et al. 2020 for latents that count.
    Note: a latent near 0 has collapsed onto the prior; a large one need not encode any factor.

    Args:
        codes: Posterior means ``[n, z]``, or a representation of them.
        factors: Not used.
        logvar: Log-variances of the posteriors, in the form of the codes.
        protocol: A name, or settings.
        seed: Of drawn rows.
        interval: Level of an interval by half-samples of the rows, where wanted.

    Raises:
        ConfigError: There are no log-variances.

    Example:
        >>> import numpy as np
        >>> kl_per_dimension(np.tile([1.0, 0.0], (10, 1)), logvar=np.zeros((10, 2)))
        kl_per_dimension 0.5000 .active 1.0000 (protocol unknot v1, 10 rows)
    """
    mean, logvar = rows.posteriors()
    kl = Posterior(mean, logvar).kl().mean(0)
    values = {"": kl.sum(), "active": (kl > settings.threshold).double().sum()}
    return Measured(values, {"per_code": kl, "sigma": (0.5 * logvar).exp().mean(0)})
