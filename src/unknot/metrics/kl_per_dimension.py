"""Divergence of each latent's posterior from the prior."""

from dataclasses import dataclass

from unknot.core.posterior import Posterior
from unknot.metrics.parts.facts import MEANINGS, RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric


@dataclass(frozen=True)
class Settings(RowSettings):
    """Rows, and the divergence above which a latent is in use."""

    samples: int | None = None
    threshold: float = 0.01
    version: int = 1


PROTOCOLS = {name: Settings() for name in MEANINGS}


@metric(
    PROTOCOLS,
    better="neither",
    range=(0, None),
    part_ranges={"active": (0, None), "squared_norm": (0, None), "variance": (0, None)},
    unit="nats",
    measures=("usage",),
    needs=("codes", "posteriors"),
    cost=0.01,
    reads=(
        "KL(posterior ‖ prior) summed over latents, in nats: an upper bound on the "
        "information in the code."
    ),
    parts={
        "active": "Latents whose divergence exceeds 0.01 nats.",
        "squared_norm": "Mean squared length of the posterior means; near 0, codes tell nothing.",
        "variance": "Mean posterior variance over latents; near 1, codes are those of the prior.",
    },
)
def kl_per_dimension(rows: Rows, settings: Settings) -> Measured:
    r"""KL divergence of the posteriors from the prior, in total and for each latent.

    $$\mathrm{KL}_j = \frac1n \sum_x \tfrac12 (\mu_j^2 + \sigma_j^2 - 1 - \ln \sigma_j^2)$$
    against a prior of independent standard normals. The score is the sum, ``per_code`` the part of
    each latent, ``sigma`` its mean $\sigma_j$, and ``kl_per_dimension.active`` the number of
    latents above 0.01 nats. ``.squared_norm`` is the mean of $\lVert \mu \rVert^2$, ``.variance``
    that of $\sigma_j^2$: each posterior is pulled to 0 and 1. Factors are not used. All protocols
    are the same.

    Paper: Kingma and Welling 2014, "Auto-encoding variational Bayes", appendix B; Kumar
    et al. 2018, equation 9, for the means of squares.
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
        >>> score = kl_per_dimension(np.tile([1.0, 0.0], (10, 1)), logvar=np.zeros((10, 2)))
        >>> float(score), score["kl_per_dimension.squared_norm"]
        (0.5, 1.0)
    """
    mean, logvar = rows.posteriors()
    kl = Posterior(mean, logvar).kl().mean(0)
    values = {
        "": kl.sum(),
        "active": (kl > settings.threshold).double().sum(),
        "squared_norm": mean.square().sum(1).mean(),
        "variance": logvar.exp().mean(),
    }
    return Measured(values, {"per_code": kl, "sigma": (0.5 * logvar).exp().mean(0)})
