"""MIG, the mutual information gap."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core import noise
from unknot.core.representation import Representation
from unknot.metrics.parts import protocols
from unknot.metrics.parts.aggregate import gap, ratio
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows, take
from unknot.metrics.parts.neighbours import neighbour_information
from unknot.metrics.parts.posteriors import mixture_information, side_by_side, split
from unknot.metrics.parts.result import Measured, Score, score
from unknot.metrics.parts.tables import CARBONNEAU, STUDY, UNKNOT, Counting, entropy, information


@dataclass(frozen=True)
class Settings:
    """How information is counted, and whose entropy divides it."""

    counting: Counting
    normaliser: Literal["factor", "code"] = "factor"


@dataclass(frozen=True)
class Neighbours:
    """Information from nearest neighbours instead of bins: ``mig(..., protocol=Neighbours())``."""

    neighbours: int = 10
    samples: int | None = None
    version: int = 1


@dataclass(frozen=True)
class Exact:
    """Information integrated over posteriors, without bins; needs ``logvar``."""

    samples: int | None = None
    draws: int = 10_000
    """At most so many points for one entropy, one from each posterior."""
    version: int = 1


PROTOCOLS: dict[str, Settings | Exact] = {
    "study2019": Settings(STUDY),
    "paper": Exact(),
    "carbonneau": Settings(CARBONNEAU, normaliser="code"),
    "unknot": Settings(UNKNOT),
}


@metric(
    better="higher",
    range=(0, 1),
    measures=("compactness",),
    cost=0.02,
    reads=(
        "How much more the best latent knows of each factor than the second best. 0: no latent "
        "stands out. 1: each factor is in one latent and in no other."
    ),
)
def mig(
    codes: Codes,
    factors: Factors = None,
    *,
    logvar: Codes | None = None,
    protocol: str | Settings | Neighbours | Exact = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""Mutual information gap: how far the best code for a factor is ahead of the second best.

    $$\frac1K \sum_k \frac{I(z_{(1)}; v_k) - I(z_{(2)}; v_k)}{H(v_k)}$$

    Paper: Chen et al. 2018, "Isolating sources of disentanglement in VAEs".
    Differs: ``paper`` integrates over posteriors, $q(z_j) = \frac1N \sum_n q(z_j | x_n)$, with one
    point drawn from each. It is exact where the rows are all there are: among fewer, narrow
    posteriors do not overlap, and information is overestimated. The others count codes, so that
    a factor of more values than bins cannot reach 1 and the ceiling is reported. ``carbonneau``
    divides by the entropy of the code as that library does, which is wrong: outliers lower that
    entropy and so *raise* the score. `Neighbours` estimates information without bins (Ross 2014),
    and has no ceiling below 1.
    Range: 0 to 1.
    Reads as: 0.2 means that the best code of a factor is ahead of the next by a fifth of what there
    is to know.

    Args:
        codes: Codes ``[n, z]``, or a representation; for ``paper`` posterior means.
        factors: Factor values ``[n, f]``; none with a representation.
        logvar: Log-variances of the posteriors, in the form of the codes; read by ``paper`` alone.
        protocol: A name, or settings.
        seed: Of everything drawn.
        interval: Level of a bootstrap interval over rows, where wanted.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 40)).reshape(2, -1).T.repeat(9, axis=0)
        >>> mig(factors[:, ::-1].astype(float), factors, protocol="study2019")
        mig 0.9060 (study2019, 100 % of the ceiling 0.906)
    """
    if isinstance(protocol, Neighbours):
        by_neighbours = protocols.Protocol("mig", "custom", protocol)
        rows = take(codes, factors, samples=protocol.samples, seed=seed)
        near = partial(_measure_near, settings=protocol)
        return score(by_neighbours, near, rows, seed=seed, interval=interval, ceiling=True)
    chosen: protocols.Protocol[Settings | Exact]
    if isinstance(protocol, Exact):
        chosen = protocols.Protocol("mig", "custom", protocol)
    else:
        chosen = protocols.pick("mig", PROTOCOLS, protocol)
    settings = chosen.settings
    if isinstance(settings, Exact):
        posteriors = side_by_side("mig under the protocol of its paper", codes, logvar)
        rows = take(posteriors, factors, samples=settings.samples, seed=seed)
        exact = partial(_measure_exact, settings=settings, seed=seed, size=_size(codes))
        return score(chosen, exact, rows, seed=seed, interval=interval)
    rows = take(codes, factors, samples=settings.counting.samples, seed=seed)
    measure = partial(_measure, settings=settings)
    return score(chosen, measure, rows, seed=seed, interval=interval, ceiling=True)


def _measure(rows: Rows, settings: Settings) -> Measured:
    known = information(rows, settings.counting)
    whole = known.factors if settings.normaliser == "factor" else known.codes[:, None]
    gaps = gap(ratio(known.mutual, whole.expand_as(known.mutual)), dim=0)
    parts = {"per_factor": gaps, "information": known.mutual, "factor_entropies": known.factors}
    return Measured({"": gaps.mean()}, parts, known.remarks)


def _size(codes: Codes) -> int:
    return codes.space.size if isinstance(codes, Representation) else 0


def _measure_exact(rows: Rows, settings: Exact, seed: int, size: int) -> Measured:
    # Any first rows are random ones then.
    n = len(rows)
    order = noise.permutation(seed, "metric/points", 0, n, 1)[:, 0].to(rows.codes.device)
    rows = rows[order]
    mean, logvar = split(rows)
    eps = noise.normal(seed, "metric/points", 1, *mean.shape, dtype=mean.dtype).to(mean.device)
    points = mean + (0.5 * logvar).exp() * eps
    whole = torch.stack([entropy(torch.bincount(level).double()) for level in rows.levels.T])
    mutual = mixture_information(points, mean, logvar, rows.levels, settings.draws)
    remarks: tuple[str, ...] = ()
    if size > n:
        remarks = (f"{n:,} of {size:,} posteriors: narrow ones overlap less than all would",)
    return _gaps(mutual, whole, remarks)


def _measure_near(rows: Rows, settings: Neighbours) -> Measured:
    whole = torch.stack([entropy(torch.bincount(level).double()) for level in rows.levels.T])
    mutual = neighbour_information(rows.codes, rows.levels, settings.neighbours)
    # The estimate may exceed what there is to know by a little.
    return _gaps(torch.minimum(mutual, whole), whole)


def _gaps(
    mutual: Float[Tensor, "z f"], whole: Float[Tensor, " f"], remarks: tuple[str, ...] = ()
) -> Measured:
    gaps = gap(ratio(mutual, whole.expand_as(mutual)), dim=0)
    parts = {"per_factor": gaps, "information": mutual, "factor_entropies": whole}
    return Measured({"": gaps.mean()}, parts, remarks)
