"""Mean mutual information of pairs of codes."""

from dataclasses import replace
from functools import partial

from unknot.metrics.parts import protocols
from unknot.metrics.parts.codes_only import take_codes
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows
from unknot.metrics.parts.result import Measured, Score, score
from unknot.metrics.parts.tables import STUDY, UNKNOT, Counting, discretise, information

PROTOCOLS = {"study2019": STUDY, "unknot": replace(UNKNOT, dead="counted")}


@metric(
    better="lower",
    range=(0, None),
    unit="nats",
    measures=("independence",),
    needs=("codes",),
    cost=0.02,
    reads=(
        "What one latent tells about another, in nats, mean over pairs. 0: independent, two by two."
    ),
)
def mutual_info_score(
    codes: Codes,
    factors: Factors = None,  # noqa: ARG001 - every score is called alike
    *,
    protocol: str | Counting = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""Mutual information of codes: what one code tells about another, mean over pairs.

    $$\frac{1}{z (z - 1)} \sum_{i \neq j} I(z_i; z_j)$$
    ``mutual_info_score.largest`` is that of the most dependent pair. Factors are not used.

    Paper: Locatello et al. 2019, "Challenging common assumptions in the unsupervised learning of
    disentangled representations".
    Differs: counts of independent codes are never quite independent: 20 bins of 10,000 rows give
    0.015 nats (``study2019``). ``unknot`` corrects that, and its bins have equal mass, so that
    outliers cannot move them. A single code has no pairs and scores 0.
    Range: 0 to the logarithm of the number of bins, in nats.
    Reads as: 0 is pairwise independence; it sees relations that are not linear, unlike
    `gaussian_tc`. Dead codes count, and lower it; low for noise too.
    """
    chosen = protocols.pick("mutual_info_score", PROTOCOLS, protocol)
    rows = take_codes(codes, samples=chosen.settings.samples, seed=seed)
    measure = partial(_measure, counting=chosen.settings)
    return score(chosen, measure, rows, seed=seed, interval=interval)


def _measure(rows: Rows, counting: Counting) -> Measured:
    bins = discretise(rows.codes, counting.bins, counting.edges)
    known = information(replace(rows, values=bins, levels=bins), counting)
    apart = known.mutual - known.mutual.diag().diag()
    pairs = len(apart) * (len(apart) - 1)
    values = {"": apart.sum() / max(pairs, 1), "largest": apart.max()}
    return Measured(values, {"information": known.mutual}, known.remarks)
