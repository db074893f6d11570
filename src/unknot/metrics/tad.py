"""TAD, total AUROC difference: attributes that one latent names better than all others."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unknot.core.errors import DataError
from unknot.metrics.parts.columns import midranks
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import gap, ratio


@dataclass(frozen=True)
class Settings(RowSettings):
    """Which attributes count, and how they are added up."""

    samples: int | None = None
    captured: float = 0.75
    """The area under the curve from which on a latent names an attribute."""
    shared: float = 0.2
    """The largest share of an attribute's entropy that another attribute may explain."""
    narrow: float = 0.0
    """Latents of a smaller range, in units of the code, name nothing."""
    total: Literal["sum", "mean"] = "mean"
    version: int = 1


PROTOCOLS = {"paper": Settings(narrow=0.2, total="sum"), "unknot": Settings()}


@metric(
    PROTOCOLS,
    range=(0, None),
    part_ranges={"captured": (0, None), "attributes": (0, None), "best": (0.5, 1)},
    measures=("compactness",),
    depends_on=("threshold",),
    cost=0.1,
    reads=(
        "How much better the best latent names an attribute than the second best, over attributes "
        "that a latent names at all. Read it beside `.captured`, how many these are."
    ),
    parts={
        "captured": "Attributes that some latent names.",
        "attributes": "Attributes that count: those that no other one tells.",
        "best": "0.5 is guessing.",
    },
)
def tad(rows: Rows, settings: Settings) -> Measured:
    r"""Total AUROC difference: gap of the two best latents that name an attribute by a threshold.

    With $A_{jk}$ the area under the ROC curve of latent $j$ as a detector of attribute $k$, in the
    better of both directions,
    $$\sum_{k: \max_j A_{jk} \ge 0.75} \big(\max_j A_{jk} - \max{}'_j A_{jk}\big)$$
    where $\max'$ is the second largest. Attributes of which another one explains more than a fifth
    of the entropy are left out. ``tad`` is the mean over the ``.attributes`` that are left, and the
    sum under ``paper``; ``.captured`` is how many reach 0.75, and ``.best`` the mean of their
    largest areas.

    Paper: Yeats, Liu, Womble and Li 2022, "NashAE: Disentangling representations through
    adversarial covariance minimization"; Wang et al. 2023, "InfoDiffusion", has the same code.
    Differs: attributes have two values there, present or absent. Here a factor of more values is
    one attribute for each value, and only attributes of other factors are looked at for what they
    explain. The authors' code for codes between 0 and
    1 takes the curve at 101 thresholds; here all are taken. ``paper`` leaves out latents of a
    range of 0.2 or less, which depends on the scale of codes; ``unknot`` none, and takes the mean,
    so that datasets compare.
    Note: a second latent for the same attribute takes all of its difference away. It is meant for
    attributes of two values: no threshold names a value in the middle of a factor, so that a
    perfect code of many values stays far below 1.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((2, 2)).reshape(2, -1).T.repeat(5, axis=0)
        >>> tad(factors.astype(float), factors)
        tad 0.5000 .captured 2.0000 .attributes 2.0000 .best 1.0000 (protocol unknot v1, 20 rows)
    """
    attributes, factor = _attributes(rows)
    if not len(factor):
        raise DataError("No attribute is both present and absent in these rows.")
    areas = detection(rows.codes, attributes)
    spread = rows.codes.amax(0) - rows.codes.amin(0)
    areas = torch.where((spread > settings.narrow)[:, None], areas, 0.5)
    table = torch.maximum(areas, 1 - areas)
    others = factor[:, None] != factor
    kept = (explained(attributes) * others).amax(1) <= settings.shared
    best = table.amax(0)
    captured = kept & (best >= settings.captured)
    # A single latent is better than none by what it is above guessing.
    apart = gap(torch.cat([table, torch.full_like(table[:1], 0.5)]), dim=0) * captured
    total = apart.sum() if settings.total == "sum" else ratio(apart.sum(), kept.double().sum())
    values = {
        "": total,
        "captured": captured.double().sum(),
        "attributes": kept.double().sum(),
        "best": torch.where(
            captured.any(), ratio((best * captured).sum(), captured.double().sum()), 0.5
        ),
    }
    parts = {"table": table, "per_attribute": apart, "kept": kept}
    remarks = []
    if gone := int((~kept).sum()):
        remarks.append(f"{gone} of {len(kept)} attributes left out: others tell them")
    if many := sum(len(level.unique()) > 2 for level in rows.levels.T):
        remarks.append(
            f"{many} of {rows.levels.shape[1]} factors have more than two values, of which no "
            "threshold names those in the middle: a perfect code stays far below 1"
        )
    return Measured(values, parts, tuple(remarks))


def _attributes(rows: Rows) -> tuple[Bool[Tensor, "n a"], Tensor]:
    """Truth values of attributes, and the number of the factor that each is of."""
    columns, factors = [rows.codes.new_zeros(len(rows), 0, dtype=torch.bool)], []
    for k, level in enumerate(rows.levels.T):
        values = level.unique()
        for value in values if len(values) > 2 else values[1:]:
            columns.append((level == value)[:, None])
            factors.append(k)
    return torch.cat(columns, dim=1), torch.tensor(factors)


def detection(codes: Float[Tensor, "n z"], attributes: Bool[Tensor, "n a"]) -> Float[Tensor, "z a"]:
    """Areas under the ROC curves: how often a row that has it has the larger code; ties are halves.

    Example:
        >>> codes = torch.tensor([[1.0], [2.0], [2.0], [3.0]]).double()
        >>> detection(codes, torch.tensor([[0], [0], [1], [1]]).bool()).item()
        0.875
    """
    has = attributes.double()
    count = has.sum(0)
    smaller = midranks(codes).T @ has - count * (count - 1) / 2
    return ratio(smaller, (count * (len(codes) - count)).expand_as(smaller))


def explained(attributes: Bool[Tensor, "n a"]) -> Float[Tensor, "a a"]:
    """The share of the entropy of each attribute (rows) that another one (columns) explains.

    Example:
        >>> a, b = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 1, 0, 1])
        >>> explained(torch.stack([a, 1 - a, b], dim=1).bool()).tolist()
        [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    has = attributes.double()
    sides = torch.stack([has, 1 - has])
    joint = torch.einsum("sna,tnb->stab", sides, sides) / len(has)
    alone = sides.mean(1)
    product = alone[:, None, :, None] * alone[None, :, None, :]
    mutual = (torch.xlogy(joint, joint) - torch.xlogy(joint, product)).sum((0, 1))
    entropy = -torch.xlogy(alone, alone).sum(0)
    return ratio(mutual, entropy[:, None].expand_as(mutual)).clamp(0, 1)
