"""MIG, the mutual information gap."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core import noise
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import (
    CARBONNEAU,
    STUDY,
    UNKNOT,
    Counting,
    Information,
    level_entropies,
)
from unknot.metrics.parts.mixtures import mixture_information
from unknot.metrics.parts.neighbors import neighbor_information
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import gap, ratio

Normalizer: TypeAlias = Literal["factor", "code", "sum", "none"]


@dataclass(frozen=True)
class Settings(RowSettings):
    """How information is counted, and what divides it."""

    counting: Counting
    normalizer: Normalizer = "factor"
    """The entropy of the factor or of the code; the information of all codes about the factor, so
    that gaps are shares of it; or nothing, and the score is in nats."""

    @property
    def samples(self) -> int | None:
        """Rows that are looked at."""
        return self.counting.samples

    @property
    def gaps(self) -> bool:
        """Each factor is counted by itself."""
        return True


@dataclass(frozen=True)
class Neighbors(RowSettings):
    """Information from nearest neighbours instead of bins: ``mig(..., protocol=Neighbors())``."""

    neighbors: int = 10
    samples: int | None = None
    version: int = 1


@dataclass(frozen=True)
class Exact(RowSettings):
    """Information integrated over posteriors, without bins; needs ``logvar``."""

    needs: ClassVar = ("posteriors",)
    samples: int | None = None
    posterior_samples: int = 10_000
    """At most so many points for one entropy, one from each posterior."""
    version: int = 1


PROTOCOLS: dict[str, Settings | Exact | Neighbors] = {
    "study2019": Settings(STUDY),
    "paper": Exact(),
    "carbonneau": Settings(CARBONNEAU, normalizer="code"),
    "unknot": Settings(UNKNOT),
}


@metric(
    PROTOCOLS,
    kinds=(Neighbors,),
    ceiling=True,
    range=(0, 1),
    measures=("compactness",),
    depends_on=("bins", "estimator"),
    cost=0.02,
    reads=(
        "Gap in mutual information between the best and the second-best latent for each "
        "factor. 0: no latent stands out. 1: each factor is in exactly one latent."
    ),
)
def mig(rows: Rows, settings: Settings | Exact | Neighbors) -> Measured:
    r"""Mutual information gap: gap between the two best latents for each factor.

    $$\frac1K \sum_k \frac{I(z_{(1)}; v_k) - I(z_{(2)}; v_k)}{H(v_k)}$$

    Paper: Chen et al. 2018, "Isolating sources of disentanglement in variational autoencoders".
    Differs: ``paper`` integrates over posteriors, $q(z_j) = \frac1N \sum_n q(z_j | x_n)$, with one
    point drawn from each. It is exact where the rows are all there are: among fewer, narrow
    posteriors do not overlap, and information is overestimated. The others count codes, so that a
    factor of more values than bins cannot reach 1 and the ceiling is reported. ``carbonneau``
    divides by the entropy of the code as that library does, which is wrong: outliers lower that
    entropy and so *raise* the score. `Settings` with another ``normalizer`` divide by the sum of
    the information of all codes about a factor (``sum``, as Michlo 2022 words it) or by nothing
    (``none``, in nats). `Neighbors` estimates information without bins (Ross 2014), and has no
    ceiling below 1.
    Note: 0.2 means that the best latent of a factor is ahead of the next by a fifth of the factor's
    entropy.

    Args:
        codes: Codes ``[n, z]``, or a representation; for ``paper`` posterior means.
        factors: Factor values ``[n, f]``; none with a representation.
        logvar: Log-variances of the posteriors, in the form of the codes; read by ``paper`` alone.
        protocol: A name, or settings.
        seed: Random seed for the metric.
        interval: Level of an interval by half-samples of the rows, where wanted.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 40)).reshape(2, -1).T.repeat(9, axis=0)
        >>> mig(factors[:, ::-1].astype(float), factors, protocol="study2019")
        mig 0.9060 (protocol study2019 v1, 1,800 rows, 100 % of the ceiling 0.906)
    """
    if isinstance(settings, Neighbors):
        return _near(rows, settings)
    return _exact(rows, settings) if isinstance(settings, Exact) else _counted(rows, settings)


def _counted(rows: Rows, settings: Settings) -> Measured:
    info = rows.information(settings.counting)
    return _gaps(info.mutual, divisor(info, settings.normalizer), info.factors, info.remarks)


def divisor(info: Information, normalizer: Normalizer) -> Float[Tensor, "z f"]:
    """What divides the information of each code about each factor."""
    by_name = {
        "factor": info.factors,
        "code": info.codes[:, None],
        "sum": info.mutual.sum(0),
        "none": torch.ones_like(info.factors),
    }
    return by_name[normalizer].expand_as(info.mutual)


def _exact(rows: Rows, settings: Exact) -> Measured:
    # Any first rows are random ones then.
    n, seed = len(rows), rows.seed
    order = noise.permutation(seed, "metric/points", 0, n, 1)[:, 0].to(rows.codes.device)
    rows = rows[order]
    mean, logvar = rows.posteriors()
    eps = noise.normal(seed, "metric/points", 1, *mean.shape, dtype=mean.dtype).to(mean.device)
    points = mean + (0.5 * logvar).exp() * eps
    mutual = mixture_information(points, mean, logvar, rows.levels, settings.posterior_samples)
    size = rows.grid.space.size if rows.grid else 0
    remarks: tuple[str, ...] = ()
    if size > n:
        remarks = (f"{n:,} of {size:,} posteriors: narrow ones overlap less than all would",)
    normalizer = level_entropies(rows.levels)
    return _gaps(mutual, normalizer.expand_as(mutual), normalizer, remarks)


def _near(rows: Rows, settings: Neighbors) -> Measured:
    normalizer = level_entropies(rows.levels)
    mutual = neighbor_information(rows.codes, rows.levels, settings.neighbors)
    # The estimate may exceed what there is to know by a little.
    return _gaps(torch.minimum(mutual, normalizer), normalizer.expand_as(mutual), normalizer)


def _gaps(
    mutual: Float[Tensor, "z f"],
    unit: Float[Tensor, "z f"],
    factors: Float[Tensor, " f"],
    remarks: tuple[str, ...] = (),
) -> Measured:
    gaps = gap(ratio(mutual, unit), dim=0)
    parts = {"per_factor": gaps, "information": mutual, "factor_entropies": factors}
    return Measured({"": gaps.mean()}, parts, remarks)
