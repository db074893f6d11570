"""Mean mutual information of pairs of codes."""

from dataclasses import replace

from unknot.metrics.parts.information import STUDY, UNKNOT, Counting, discretize, information
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric

PROTOCOLS = {"study2019": STUDY, "unknot": replace(UNKNOT, dead="counted")}


@metric(
    PROTOCOLS,
    better="lower",
    range=(0, None),
    unit="nats",
    measures=("independence",),
    depends_on=("bins",),
    needs=("codes",),
    cost=0.02,
    reads=(
        "Mutual information between two latents, in nats, mean over pairs. 0: pairwise independent."
    ),
)
def mutual_info_score(rows: Rows, settings: Counting) -> Measured:
    r"""Mutual information between latents, mean over pairs, in nats.

    $$\frac{1}{z (z - 1)} \sum_{i \neq j} I(z_i; z_j)$$
    ``mutual_info_score.largest`` is that of the most dependent pair. Factors are not used.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: counts of independent codes are never quite independent: 20 bins of 10,000 rows give
    0.015 nats (``study2019``). ``unknot`` corrects that, and its bins have equal mass, so that
    outliers cannot move them. A single code has no pairs and scores 0.
    Note: at most the logarithm of the number of bins. Unlike `gaussian_tc` it sees relations that
    are not linear. Dead latents count, and lower it; it is low for noise too.
    """
    bins = discretize(rows.codes, settings.bins, settings.edges)
    info = information(rows.codes, bins, bins, settings)
    apart = info.mutual - info.mutual.diag().diag()
    pairs = len(apart) * (len(apart) - 1)
    values = {"": apart.sum() / max(pairs, 1), "largest": apart.max()}
    return Measured(values, {"information": info.mutual}, info.remarks)
