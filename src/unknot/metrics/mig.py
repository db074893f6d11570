"""MIG, the mutual information gap."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from unknot.metrics import protocols
from unknot.metrics.aggregate import gap, ratio
from unknot.metrics.inputs import Codes, Factors, Rows, take
from unknot.metrics.neighbours import neighbour_information
from unknot.metrics.result import Measured, Score, score
from unknot.metrics.tables import CARBONNEAU, STUDY, UNKNOT, Counting, entropy, information


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


PROTOCOLS = {
    "study2019": Settings(STUDY),
    "carbonneau": Settings(CARBONNEAU, normaliser="code"),
    "unknot": Settings(UNKNOT),
}


def mig(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Settings | Neighbours = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""Mutual information gap: how far the best code for a factor is ahead of the second best.

    $$\frac1K \sum_k \frac{I(z_{(1)}; v_k) - I(z_{(2)}; v_k)}{H(v_k)}$$

    Paper: Chen et al. 2018, "Isolating sources of disentanglement in VAEs".
    Differs: counted from codes, not integrated over posteriors. A factor of more values than bins
    cannot reach 1, so the ceiling is reported. ``carbonneau`` divides by the entropy of the code as
    that library does, which is wrong: outliers lower that entropy and so *raise* the score.
    `Neighbours` estimates information without bins (Ross 2014), and has no ceiling below 1.
    Range: 0 to 1.
    Reads as: 0.2 means that the best code of a factor is ahead of the next by a fifth of what there
    is to know.

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
    chosen = protocols.pick("mig", PROTOCOLS, protocol)
    rows = take(codes, factors, samples=chosen.settings.counting.samples, seed=seed)
    measure = partial(_measure, settings=chosen.settings)
    return score(chosen, measure, rows, seed=seed, interval=interval, ceiling=True)


def _measure(rows: Rows, settings: Settings) -> Measured:
    known = information(rows, settings.counting)
    whole = known.factors if settings.normaliser == "factor" else known.codes[:, None]
    gaps = gap(ratio(known.mutual, whole.expand_as(known.mutual)), dim=0)
    parts = {"per_factor": gaps, "information": known.mutual, "factor_entropies": known.factors}
    return Measured({"": gaps.mean()}, parts, known.remarks)


def _measure_near(rows: Rows, settings: Neighbours) -> Measured:
    whole = torch.stack([entropy(torch.bincount(level).double()) for level in rows.levels.T])
    mutual = neighbour_information(rows.codes, rows.levels, settings.neighbours)
    # The estimate may exceed what there is to know by a little.
    mutual = torch.minimum(mutual, whole)
    gaps = gap(ratio(mutual, whole.expand_as(mutual)), dim=0)
    return Measured(
        {"": gaps.mean()}, {"per_factor": gaps, "information": mutual, "factor_entropies": whole}
    )
