"""DCIMIG, gaps of codes summed over factors."""

import torch

from unknot.metrics.parts.information import CARBONNEAU, STUDY, UNKNOT, Counting
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import gap

PROTOCOLS = {"paper": STUDY, "carbonneau": CARBONNEAU, "unknot": UNKNOT}


@metric(
    PROTOCOLS,
    ceiling=True,
    range=(0, 1),
    measures=("modularity", "compactness", "explicitness"),
    depends_on=("bins",),
    cost=0.02,
    reads="Share of the information about the factors that is in latents of their own.",
)
def dcimig(rows: Rows, settings: Counting) -> Measured:
    r"""DCIMIG (3CharM): gap of each latent to its best factor; each factor takes its largest gap.

    $$\frac{\sum_k \max_{j: k(j) = k} I(z_j; v_k) - I(z_j; v_{(2)})}{\sum_k H(v_k)}$$
    where $k(j)$ is the factor that code $j$ knows best.

    Paper: Sepliarskaia et al. 2019, "Evaluating disentangled representations".
    Differs: information is counted, under ``paper`` in the 20 bins of the 2019 study.
    Note: a second latent for the same factor costs nothing.
    """
    info = rows.information(settings)
    gaps = torch.zeros_like(info.mutual)
    gaps.scatter_(1, info.mutual.argmax(1, keepdim=True), gap(info.mutual, dim=1)[:, None])
    best = gaps.amax(0)
    parts = {"per_factor": best / info.factors, "information": info.mutual}
    return Measured({"": best.sum() / info.factors.sum()}, parts, info.remarks)
