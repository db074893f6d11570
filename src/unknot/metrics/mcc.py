"""MCC, the mean correlation coefficient."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.metrics.parts.columns import correlation, to_unit_range
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


RANK = 1e-9
"""A direction of the codes with a smaller share of the largest one's length is none."""
PROTOCOLS = {"paper": Settings(), "unknot": Settings(correlation="spearman")}


@metric(
    PROTOCOLS,
    range=(0, 1),
    part_ranges={"held_out": (0, 1), "linear": (0, 1), "linear_held_out": (0, 1)},
    measures=("identifiability",),
    depends_on=("correlation",),
    cost=0.02,
    reads=(
        "1: each factor has its own latent that rises or falls with it. Two factors mixed "
        "equally still get 0.7."
    ),
    parts={
        "held_out": "The same on half of the rows, with the latents that the other half chose.",
        "linear": "1: each factor is a weighted sum of all latents.",
        "linear_held_out": "The same on half of the rows, with the weights of the other half.",
    },
)
def mcc(rows: Rows, settings: Settings) -> Measured:
    r"""Mean correlation coefficient of factors and latents in the best one-to-one assignment.

    $$\max_\pi \frac1K \sum_k |r(z_{\pi(k)}, v_k)|$$
    over all ways $\pi$ to give each factor a code of its own. Factors beyond the number of codes
    count 0. The assignment is the part ``code_of_factor``, -1 for a factor without a code.

    ``mcc.linear`` is Pearson's correlation of each factor with its least-squares prediction from
    all codes, so that codes count as the factors up to a linear map. ``mcc.held_out`` and
    ``mcc.linear_held_out`` are out of sample: half of the rows choose the assignment, or the
    weights, and the correlations are those of the other half. They are lower where rows are few or
    codes many.

    Paper: Hyvärinen and Morioka 2016, "Unsupervised feature extraction by time-contrastive learning
    and nonlinear ICA"; the usual score of identifiability.
    Differs: surplus codes cost nothing, where that literature has as many codes as factors.
    ``paper`` is Pearson's correlation, ``unknot`` Spearman's, which outliers and monotone maps of
    a code cannot move; both are in use. Out of sample is as in the code of Khemakhem et al. 2020
    (ICE-BeeM). For codes up to a linear map that code has canonical correlations, which are shared
    out among directions of both sides; here each factor keeps its own.
    Note: a second latent for the same factor costs nothing. Cyclic and nominal factors are not
    handled.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T
        >>> mcc(-factors[:, ::-1].astype(float), factors)
        mcc 1.0000 .held_out 1.0000 .linear 1.0000 ...
    """
    ranks = settings.correlation == "spearman"
    table = rows.correlations(ranks=ranks).abs()
    per_factor, assigned = _assigned(table, table)
    order = noise.permutation(rows.seed, "metric/mcc", 0, len(rows), 1)[:, 0].to(rows.codes.device)
    first, second = (rows[half] for half in order.tensor_split(2))
    held_out, _ = _assigned(first.correlations(ranks=ranks).abs(), second.correlations(ranks=ranks))
    linear = _linear(rows, rows)
    linear_held_out = _linear(first, second)
    values = {
        "": per_factor.mean(),
        "held_out": held_out.abs().mean(),
        "linear": linear.mean(),
        "linear_held_out": linear_held_out.mean(),
    }
    parts = {
        "per_factor": per_factor,
        "code_of_factor": assigned,
        "table": table,
        "linear_per_factor": linear,
        "linear_held_out_per_factor": linear_held_out,
    }
    return Measured(values, parts)


def _assigned(
    choice: Float[Tensor, "z f"], table: Float[Tensor, "z f"]
) -> tuple[Float[Tensor, " f"], Int[Tensor, " f"]]:
    """Entries of a table where another one has its best assignment, and the code of each factor."""
    from scipy.optimize import linear_sum_assignment

    codes, factors = linear_sum_assignment(choice.cpu().numpy(), maximize=True)
    assigned = torch.full((table.shape[1],), -1)
    assigned[factors] = torch.from_numpy(codes)
    per_factor = table.new_zeros(table.shape[1])
    per_factor[factors] = table[codes, factors]
    return per_factor, assigned


def _linear(train: Rows, test: Rows) -> Float[Tensor, " f"]:
    """Correlation of each factor with its prediction by least squares; 0 where there is none."""
    correlations = []
    for k in range(len(train.names)):
        known, known_test = train.levels[:, k] >= 0, test.levels[:, k] >= 0
        if not (bool(known.any()) and bool(known_test.any())):
            correlations.append(train.codes.new_zeros(()))
            continue
        x, x_test = train.codes[known], test.codes[known_test]
        x, x_test = to_unit_range(x), to_unit_range(x_test, x)
        middle = x.mean(0)
        y = to_unit_range(train.values[known, k : k + 1].double())
        # By singular values: codes may be constant, equal, or more than there are rows.
        weights = torch.linalg.pinv(x - middle, rtol=RANK) @ (y - y.mean(0))
        predicted = (x_test - middle) @ weights
        truth = test.values[known_test, k : k + 1].double()
        # Weights that point the wrong way tell nothing.
        correlations.append(correlation(predicted, truth)[0, 0].clamp_min(0))
    return torch.stack(correlations)
