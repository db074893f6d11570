"""MCC, the mean correlation coefficient."""

from dataclasses import dataclass
from typing import Literal

import torch

from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric


@dataclass(frozen=True)
class Settings(RowSettings):
    """Which correlation."""

    samples: int | None = None
    correlation: Literal["pearson", "spearman"] = "pearson"
    version: int = 1

    @property
    def real(self) -> bool:
        """Correlations are of numbers."""
        return True

    @property
    def gaps(self) -> bool:
        """Each factor is looked at by itself."""
        return True


PROTOCOLS = {"paper": Settings(), "unknot": Settings(correlation="spearman")}


@metric(
    PROTOCOLS,
    range=(0, 1),
    measures=("identifiability",),
    depends_on=("correlation",),
    cost=0.02,
    reads=(
        "1: each factor has its own latent that rises or falls with it. Two factors mixed "
        "equally still get 0.7."
    ),
)
def mcc(rows: Rows, settings: Settings) -> Measured:
    r"""Mean correlation coefficient of factors and latents in the best one-to-one assignment.

    $$\max_\pi \frac1K \sum_k |r(z_{\pi(k)}, v_k)|$$
    over all ways $\pi$ to give each factor a code of its own. Factors beyond the number of codes
    count 0. The assignment is the part ``code_of_factor``, -1 for a factor without a code.

    Paper: Hyvärinen and Morioka 2016, "Unsupervised feature extraction by time-contrastive learning
    and nonlinear ICA"; the usual score of identifiability.
    Differs: surplus codes cost nothing, where that literature has as many codes as factors.
    ``paper`` is Pearson's correlation, ``unknot`` Spearman's, which outliers and monotone maps of
    a code cannot move; both are in use.
    Note: a second latent for the same factor costs nothing. Cyclic and nominal factors are not
    handled.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T
        >>> mcc(-factors[:, ::-1].astype(float), factors)
        mcc 1.0000 (protocol unknot v1, 30 rows)
    """
    from scipy.optimize import linear_sum_assignment

    table = rows.correlations(ranks=settings.correlation == "spearman").abs()
    codes, factors = linear_sum_assignment(table.cpu().numpy(), maximize=True)
    assigned = torch.full((table.shape[1],), -1)
    assigned[factors] = torch.from_numpy(codes)
    per_factor = table.new_zeros(table.shape[1])
    per_factor[factors] = table[codes, factors]
    parts = {"per_factor": per_factor, "code_of_factor": assigned, "table": table}
    return Measured({"": per_factor.mean()}, parts)
