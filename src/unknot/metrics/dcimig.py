"""DCIMIG, gaps of codes summed over factors."""

from functools import partial

import torch

from unknot.metrics.parts import protocols
from unknot.metrics.parts.aggregate import gap
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows, take
from unknot.metrics.parts.result import Measured, Score, score
from unknot.metrics.parts.tables import CARBONNEAU, STUDY, UNKNOT, Counting, information

PROTOCOLS = {"paper": STUDY, "carbonneau": CARBONNEAU, "unknot": UNKNOT}


@metric(
    better="higher",
    range=(0, 1),
    measures=("modularity", "compactness", "explicitness"),
    cost=0.02,
    reads="The share of all there is to know about the factors that sits in latents of their own.",
)
def dcimig(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Counting = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""DCIMIG (3CharM): each code gives its gap to its best factor, each factor takes the largest.

    $$\frac{\sum_k \max_{j: k(j) = k} I(z_j; v_k) - I(z_j; v_{(2)})}{\sum_k H(v_k)}$$
    where $k(j)$ is the factor that code $j$ knows best.

    Paper: Sepliarskaia et al. 2019, "Evaluating disentangled representations".
    Differs: information is counted, under ``paper`` in the 20 bins of the 2019 study.
    Range: 0 to 1.
    Reads as: the share of all there is to know about the factors that sits in codes of their own;
    a second code of the same factor costs nothing.
    """
    chosen = protocols.pick("dcimig", PROTOCOLS, protocol)
    rows = take(codes, factors, samples=chosen.settings.samples, seed=seed)
    measure = partial(_measure, counting=chosen.settings)
    return score(chosen, measure, rows, seed=seed, interval=interval, ceiling=True)


def _measure(rows: Rows, counting: Counting) -> Measured:
    known = information(rows, counting)
    own = torch.zeros_like(known.mutual)
    own.scatter_(1, known.mutual.argmax(1, keepdim=True), gap(known.mutual, dim=1)[:, None])
    best = own.amax(0)
    parts = {"per_factor": best / known.factors, "information": known.mutual}
    return Measured({"": best.sum() / known.factors.sum()}, parts, known.remarks)
