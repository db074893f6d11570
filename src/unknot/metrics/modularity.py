"""Modularity, how alone each code's best factor is."""

from functools import partial

import torch

from unknot.metrics.parts import protocols
from unknot.metrics.parts.aggregate import mean, ratio
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows, take
from unknot.metrics.parts.result import Measured, Score, score
from unknot.metrics.parts.tables import CARBONNEAU, STUDY, UNKNOT, Counting, information

PROTOCOLS = {"study2019": STUDY, "paper": STUDY, "carbonneau": CARBONNEAU, "unknot": UNKNOT}


@metric(
    better="higher",
    range=(0, 1),
    measures=("modularity",),
    cost=0.01,
    reads=(
        "1: each latent carries information about one factor at most. A code that knows nothing "
        "can look modular."
    ),
)
def modularity(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Counting = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""Modularity: one minus the squared information a code has beside its best factor.

    $$\frac1D \sum_j 1 - \frac{\sum_{k \ne k(j)} I(z_j; v_k)^2}{(K - 1) \max_k I(z_j; v_k)^2}$$

    Paper: Ridgeway and Mozer 2018, "Learning deep disentangled embeddings with the F-statistic
    loss".
    Differs: a constant code scores 0 and is counted, as in the 2019 study; ``unknot`` leaves codes
    without information out. Elsewhere noise scores above 0.5: counting noise favours factors of
    many values.
    Range: 0 to 1.
    Reads as: never alone; a code that knows nothing can look modular.
    """
    chosen = protocols.pick("modularity", PROTOCOLS, protocol)
    rows = take(codes, factors, samples=chosen.settings.samples, seed=seed)
    measure = partial(_measure, counting=chosen.settings)
    return score(chosen, measure, rows, seed=seed, interval=interval)


def _measure(rows: Rows, counting: Counting) -> Measured:
    known = information(rows, counting)
    squares = known.mutual.square()
    most = squares.amax(1)
    others = max(squares.shape[1] - 1, 1)
    scores = torch.where(most > 0, 1 - ratio(squares.sum(1) - most, most * others), 0.0)
    parts = {"per_code": scores, "information": known.mutual, "alive": known.alive}
    return Measured({"": mean(scores, known.alive.double())}, parts, known.remarks)
