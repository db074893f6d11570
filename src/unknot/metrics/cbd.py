"""CbD, correlation-based disentanglement."""

from dataclasses import dataclass
from typing import Literal

import torch

from unknot.core.errors import ConfigError
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import UNKNOT
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import gap, mean


@dataclass(frozen=True)
class Settings(RowSettings):
    """Which correlation, which codes, and the weight of the two gaps."""

    samples: int | None = None
    correlation: Literal["pearson", "spearman"] = "pearson"
    alpha: float = 0.5
    """Weight of the mean over codes (rows); the rest is the mean over factors (columns)."""
    dead: Literal["counted", "left out"] = "counted"
    version: int = 1

    @property
    def gaps(self) -> bool:
        """Each factor is correlated by itself."""
        return True

    @property
    def real(self) -> bool:
        """Correlations are of numbers."""
        return True


PROTOCOLS = {
    "paper": Settings(),
    "carbonneau": Settings(),
    "unknot": Settings(correlation="spearman", dead="left out"),
}


@metric(
    PROTOCOLS,
    ceiling=True,
    range=(0, 1),
    part_ranges={"row": (0, 1), "column": (0, 1)},
    measures=("modularity", "compactness"),
    depends_on=("correlation",),
    cost=0.04,
    reads=(
        "1: one latent per factor, proportional to it. Cyclic and nominal factors are not handled."
    ),
    parts={
        "row": "1: each latent is proportional to one factor only. Higher is more modular.",
        "column": "1: each factor is in one latent only. Higher is more compact.",
    },
)
def cbd(rows: Rows, settings: Settings) -> Measured:
    r"""Correlation-based disentanglement: gaps between correlations of latents and factors.

    In the table $P_{jk} = |r(z_j, v_k)|$, ``cbd.row`` is the mean over codes of the gap between
    their two best factors, ``cbd.column`` the mean over factors of the gap between their two best
    codes, and
    $$\mathrm{CbD} = \alpha \, \mathrm{row} + (1 - \alpha) \, \mathrm{column}.$$

    Paper: Moğultay Özcan 2024, "On disentangled representation learning" (dissertation), eq. 5.3 to
    5.9. Rows are codes; it calls the row part compactness and the column part modularity, others
    the reverse.
    Differs: a constant code correlates with nothing. ``unknot`` takes ranks, so that outliers and
    monotone maps of a code do not matter, and leaves codes without information out; under ``paper``
    a dead latent counts as a gap of 0. The thesis sets it beside scores of the library of
    Carbonneau et al.; ``carbonneau`` is ``paper``, so that one table can have them all.
    """
    if settings.alpha > 1:
        raise ConfigError(f"cbd: Settings.alpha should be from 0 to 1; got {settings.alpha}.")
    table = rows.correlations(ranks=settings.correlation == "spearman").abs()
    alive = torch.ones_like(table[:, 0], dtype=torch.bool)
    remarks: tuple[str, ...] = ()
    if settings.dead == "left out":
        info = rows.information(UNKNOT)
        alive, remarks = info.alive, info.silent
        table = torch.where(alive[:, None], table, 0.0)
    per_code, per_factor = gap(table, dim=1), gap(table, dim=0)
    row, column = mean(per_code, alive.double()), per_factor.mean()
    values = {
        "": settings.alpha * row + (1 - settings.alpha) * column,
        "row": row,
        "column": column,
    }
    of_code, of_factor = (t.topk(min(2, t.shape[1]), dim=1) for t in (table, table.T))
    parts = {
        "table": table,
        "per_code": per_code,
        "per_factor": per_factor,
        "best_factor": table.argmax(1),
        "second_factor": of_code.indices[:, -1],
        "best_code": table.argmax(0),
        "second_code": of_factor.indices[:, -1],
        "largest_of_code": of_code.values[:, 0],
        "second_of_code": of_code.values[:, 0] - per_code,
        "largest_of_factor": of_factor.values[:, 0],
        "second_of_factor": of_factor.values[:, 0] - per_factor,
    }
    return Measured(values, parts, remarks)
