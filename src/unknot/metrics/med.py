"""MED, DCI's entropies on a table of mutual information."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import STUDY, UNKNOT, Counting
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import concentration, mean, ratio


@dataclass(frozen=True)
class Settings(RowSettings):
    """How information is counted and made comparable over factors, and how many codes are best."""

    counting: Counting
    normalizer: Literal["sum", "entropy"] = "sum"
    """Of each factor: the information of all codes about it, or its entropy."""
    top: int = 1
    """Codes for each factor that the second score keeps."""

    def __post_init__(self) -> None:
        if self.top < 1:
            raise ConfigError(f"med keeps 1 or more codes for each factor; got top = {self.top}.")

    @property
    def samples(self) -> int | None:
        """Rows that are looked at."""
        return self.counting.samples

    @property
    def gaps(self) -> bool:
        """Each factor is looked at by itself."""
        return True


PROTOCOLS = {"paper": Settings(STUDY), "unknot": Settings(UNKNOT, normalizer="entropy")}


@metric(
    PROTOCOLS,
    range=(0, 1),
    part_ranges={"completeness": (0, 1), "top": (0, 1)},
    measures=("modularity", "compactness"),
    depends_on=("bins",),
    cost=0.02,
    reads=(
        "Like dci, from mutual information instead of a learner. It does not notice a "
        "missing factor."
    ),
    parts={
        "completeness": "1: each factor is known from one latent only.",
        "top": "The same of the best latents of each factor alone.",
    },
)
def med(rows: Rows, settings: Settings) -> Measured:
    r"""MED: disentanglement as in DCI, with mutual information instead of importances.

    With $R_{jk} = I(z_j; v_k) / \sum_i I(z_i; v_k)$ and $P$ its rows divided by their sums,
    $$\mathrm{MED} = \sum_j \rho_j (1 - H_K(P_j)), \quad \rho_j = \frac{\sum_k R_{jk}}
      {\sum_{ik} R_{ik}}.$$
    ``med.completeness`` is the same over columns. ``med.top`` is MED of the best codes alone: each
    code belongs to the factor it knows most of, and each factor keeps its ``top`` most
    disentangled codes; made for codes with many more dimensions than factors.

    Paper: Cao et al. 2022, "An empirical study on disentanglement of negative-free contrastive
    learning".
    Differs: dividing by the sum over codes turns the sampling noise of a factor that no code knows
    into full importances (``paper``). ``unknot`` divides by the entropy of the factor instead, and
    leaves out codes that tell nothing; without any information all values are 0.
    Note: unlike for MIG, copies of a code do not lower it. A code with hardly any information about
    each factor hardly counts.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T.repeat(20, axis=0)
        >>> med(factors.astype(float), factors)
        med 1.0000 .completeness 1.0000 .top 1.0000 (protocol unknot v1, 600 rows)
    """
    info = rows.information(settings.counting)
    normalizer = info.mutual.sum(0) if settings.normalizer == "sum" else info.factors
    table = ratio(info.mutual, normalizer.expand_as(info.mutual))
    per_code, per_factor = concentration(table, dim=1), concentration(table, dim=0)
    best = _best(table, per_code, settings.top)
    values = {
        "": mean(per_code, table.sum(1)),
        "completeness": mean(per_factor, table.sum(0)),
        "top": mean(per_code[best], table[best].sum(1)),
    }
    parts = {"importance": table, "per_code": per_code, "per_factor": per_factor, "kept": best}
    remarks = info.remarks
    if not bool(table.sum() > 0):
        remarks = (*remarks, "no code tells anything: all values are 0")
    return Measured(values, parts, remarks)


def _best(
    table: Float[Tensor, "z f"], per_code: Float[Tensor, " z"], top: int
) -> Bool[Tensor, " z"]:
    """The most disentangled codes of those that belong to each factor."""
    belongs = torch.nn.functional.one_hot(table.argmax(1), table.shape[1]).bool()
    order = per_code.argsort(descending=True, stable=True)
    place = belongs[order].long().cumsum(0)
    best = torch.zeros_like(belongs)
    best[order] = belongs[order] & (place <= top)
    return best.any(1) & (table.sum(1) > 0)
