"""Modularity, how alone each code's best factor is."""

import torch

from unknot.metrics.parts.information import CARBONNEAU, STUDY, UNKNOT, Counting
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import mean, ratio

PROTOCOLS = {"study2019": STUDY, "paper": STUDY, "carbonneau": CARBONNEAU, "unknot": UNKNOT}


@metric(
    PROTOCOLS,
    range=(0, 1),
    measures=("modularity",),
    depends_on=("bins",),
    cost=0.01,
    reads=(
        "1: each latent has information about at most one factor. A code without "
        "information can score high."
    ),
)
def modularity(rows: Rows, settings: Counting) -> Measured:
    r"""Modularity: one minus the squared information of a latent besides its best factor.

    $$\frac1D \sum_j 1 - \frac{\sum_{k \ne k(j)} I(z_j; v_k)^2}{(K - 1) \max_k I(z_j; v_k)^2}$$

    Paper: Ridgeway and Mozer 2018, "Learning deep disentangled embeddings with the F-statistic
    loss".
    Differs: a constant code scores 0 and is counted, as in the 2019 study; ``unknot`` leaves codes
    without information out. Elsewhere noise scores above 0.5: counting noise favours factors of
    many values.
    """
    info = rows.information(settings)
    squares = info.mutual.square()
    most = squares.amax(1)
    others = max(squares.shape[1] - 1, 1)
    scores = torch.where(most > 0, 1 - ratio(squares.sum(1) - most, most * others), 0.0)
    parts = {"per_code": scores, "information": info.mutual, "alive": info.alive}
    return Measured({"": mean(scores, info.alive.double())}, parts, info.remarks)
