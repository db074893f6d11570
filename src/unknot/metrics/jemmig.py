"""JEMMIG, the gap minus what the best code holds beside the factor."""

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import (
    CARBONNEAU,
    UNKNOT,
    Counting,
    entropy,
    level_entropies,
    mutual_information,
)
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import gap


@dataclass(frozen=True)
class Quantized(RowSettings):
    """Mass of posteriors in bins of equal width around 0; needs ``logvar``."""

    needs: ClassVar = ("posteriors",)
    bins: int = 100
    reach: float = 4.0
    """Bins go from minus to plus this; the outer ones hold what lies beyond."""
    samples: int | None = None
    version: int = 1


PROTOCOLS: dict[str, Counting | Quantized] = {
    "carbonneau": CARBONNEAU,
    "paper": Quantized(),
    "unknot": UNKNOT,
}


@metric(
    PROTOCOLS,
    ceiling=True,
    range=(0, 1),
    measures=("modularity", "compactness"),
    depends_on=("bins",),
    cost=0.02,
    reads="Like mig, but a latent also loses for information besides its factor.",
)
def jemmig(rows: Rows, settings: Counting | Quantized) -> Measured:
    r"""Joint entropy minus mutual information gap, scaled so that 1 is best.

    With $b$ bins, and $z_{(1)}, z_{(2)}$ the codes that know most of $v_k$,
    $$1 - \frac1K \sum_k \frac{H(z_{(1)}, v_k) - I_{(1)k} + I_{(2)k}}{H(v_k) + \ln b}$$

    Paper: Do and Tran 2020, "Theory and evaluation metrics for learning disentangled
    representations".
    Differs: ``paper`` adds up the mass of each posterior in 100 bins from -4 to 4, as the authors'
    code does with the density at the middle of a bin; the others count codes. Where several codes
    know equally much, the one that holds least beside counts.
    Note: noise is above 0, and a code of fewer values than bins gains from it.

    Args:
        codes: Codes ``[n, z]``, or a representation; for ``paper`` posterior means.
        factors: Factor values ``[n, f]``; none with a representation.
        logvar: Log-variances of the posteriors, in the form of the codes; read by ``paper`` alone.
        protocol: A name, or settings.
        seed: Of drawn rows.
        interval: Level of an interval by half-samples of the rows, where wanted.
    """
    if isinstance(settings, Quantized):
        return _quantized(rows, settings)
    info = rows.information(settings)
    return _scaled(info.mutual, info.joint, info.factors, settings.bins, info.remarks)


def _quantized(rows: Rows, settings: Quantized) -> Measured:
    mean, logvar = rows.posteriors()
    inner = torch.linspace(-settings.reach, settings.reach, settings.bins + 1)[1:-1].to(mean)
    values = int(rows.levels.max()) + 1
    joint = mean.new_zeros(mean.shape[1], rows.levels.shape[1], values, settings.bins)
    for j in range(mean.shape[1]):
        below = torch.special.ndtr((inner - mean[:, j, None]) * (-0.5 * logvar[:, j, None]).exp())
        ends = below.new_zeros(len(below), 1), below.new_ones(len(below), 1)
        mass = torch.cat([ends[0], below, ends[1]], dim=1).diff(dim=1)
        for k, level in enumerate(rows.levels.T):
            joint[j, k].index_add_(0, level, mass)
    joint_entropies, factors = entropy(joint.flatten(-2)), level_entropies(rows.levels)
    return _scaled(mutual_information(joint), joint_entropies, factors, settings.bins, ())


def _scaled(
    mutual: Float[Tensor, "z f"],
    joint: Float[Tensor, "z f"],
    factors: Float[Tensor, " f"],
    bins: int,
    remarks: tuple[str, ...],
) -> Measured:
    # Of codes that know equally much, the one that holds least beside; rounding must not choose.
    best = mutual >= mutual.amax(0) - 1e-9
    excess = torch.where(best, joint, torch.inf).amin(0) - gap(mutual, dim=0)
    scores = (1 - excess / (factors + math.log(bins))).clamp_min(0)
    parts = {"per_factor": scores, "information": mutual, "joint_entropies": joint}
    return Measured({"": scores.mean()}, parts, remarks)
