"""IRS, the interventional robustness score."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import UNKNOT, discretize
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import mean, ratio


@dataclass(frozen=True)
class Settings(RowSettings):
    """Which deviation counts, of what, and how codes are weighted."""

    samples: int | None = 10_000
    quantile: float = 1.0
    reference: Literal["largest", "quantile"] = "largest"
    """A code's deviation from its mean that deviations inside a group are measured by."""
    weights: Literal["deviation", "equal"] = "deviation"
    """Codes weighted by their reference, or all codes that tell something alike."""
    factor_bins: int | None = None
    version: int = 1


PROTOCOLS = {
    "study2019": Settings(quantile=0.99, factor_bins=20),
    "paper": Settings(),
    "carbonneau": Settings(samples=None, factor_bins=10),
    "unknot": Settings(None, quantile=0.99, reference="quantile", weights="equal"),
}


@metric(
    PROTOCOLS,
    range=(0, 1),
    measures=("modularity",),
    depends_on=("quantile",),
    cost=0.1,
    reads="1: each latent depends on one factor only, whether or not all factors are encoded.",
)
def irs(rows: Rows, settings: Settings) -> Measured:
    r"""Interventional robustness: how little a latent varies while its factor is fixed.

    With $d_{jk}$ the mean over the values of factor $k$ of the largest deviation of $z_j$ from its
    mean at that value, and $d_j$ its largest deviation from its overall mean,
    $$\sum_j \frac{d_j}{\sum_i d_i} \max_k \left(1 - \frac{d_{jk}}{d_j}\right).$$

    Paper: Suter et al. 2019, "Robustly disentangled causal mechanisms".
    Differs: ``study2019`` takes the 0.99 quantile inside groups but the maximum outside, so noise
    scores 0.37, and bins the factors; ``unknot`` takes the quantile in both places and weights
    codes alike, so that neither outliers nor the scale of a code matter.
    """
    levels = rows.levels
    if settings.factor_bins is not None:
        levels = discretize(rows.values.double(), settings.factor_bins, "width")
    inside = torch.stack([_deviation(rows.codes, k, settings.quantile) for k in levels.T], dim=1)
    level = settings.quantile if settings.reference == "quantile" else 1.0
    free = _deviation(rows.codes, torch.zeros_like(levels[:, 0]), level)
    # By its range too: the mean of a constant code is rounded, and it deviates from that.
    alive = (free > 0) & (rows.codes.amax(0) > rows.codes.amin(0))
    table = torch.where(alive[:, None], 1 - ratio(inside, free[:, None]), 0.0).clamp_min(0)
    scores, parents = table.max(1)
    if settings.weights == "equal":
        alive = alive & rows.information(UNKNOT).alive
    weights = alive.double() * (free if settings.weights == "deviation" else 1.0)
    parts = {"table": table, "per_code": scores, "parents": parents, "deviations": free}
    dead = int((~alive).sum())
    remarks = (f"{dead} of {len(alive)} latents are dead and were left out",) if dead else ()
    return Measured({"": mean(scores, weights)}, parts, remarks)


def _deviation(
    codes: Float[Tensor, "n z"], level: Int[Tensor, " n"], quantile: float
) -> Float[Tensor, " z"]:
    """Quantile of the deviation from the group's mean, mean over groups of equal level."""
    sizes = torch.bincount(level)
    total = codes.new_zeros(len(sizes), codes.shape[1]).index_add_(0, level, codes)
    away = (codes - (total / sizes[:, None].clamp_min(1))[level]).abs()
    # Sort by deviation, then stably by group: each group's deviations stand together, in order.
    order = away.argsort(0)
    order = order.gather(0, level[order].argsort(dim=0, stable=True))
    away = away.gather(0, order)
    size = sizes[sizes > 0]
    place = quantile * (size - 1).double()
    low = (size.cumsum(0) - size + place.floor().long())[:, None].expand(-1, codes.shape[1])
    high = torch.minimum(low + 1, (size.cumsum(0) - 1)[:, None])
    below, above = away.gather(0, low), away.gather(0, high)
    return (below + (above - below) * (place - place.floor())[:, None]).mean(0)
