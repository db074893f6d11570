"""MIG-sup, the gap seen from the codes."""

from functools import partial

from unknot.metrics.mig import Settings
from unknot.metrics.parts import protocols
from unknot.metrics.parts.aggregate import gap, mean, ratio
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Codes, Factors, Rows, take
from unknot.metrics.parts.result import Measured, Score, score
from unknot.metrics.parts.tables import CARBONNEAU, STUDY, UNKNOT, information

PROTOCOLS = {
    "paper": Settings(STUDY),
    "carbonneau": Settings(CARBONNEAU, normaliser="code"),
    "unknot": Settings(UNKNOT),
}


@metric(
    better="higher",
    range=(0, 1),
    measures=("modularity",),
    cost=0.02,
    reads="1: each latent tells about one factor alone, though maybe no factor completely.",
)
def mig_sup(
    codes: Codes,
    factors: Factors = None,
    *,
    protocol: str | Settings = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""MIG-sup: how far a code's best factor is ahead of its second best, mean over codes.

    $$\frac1D \sum_j I'(z_j; v_{(1)}) - I'(z_j; v_{(2)}), \quad I' = I / H(v)$$

    Paper: Li et al. 2020, "Progressive learning and disentanglement of hierarchical
    representations".
    Differs: counted from codes, under ``paper`` in the 20 bins of the 2019 study. ``carbonneau``
    divides by the entropy of the code. Both count dead codes, so that five live codes of ten reach
    half; ``unknot`` leaves dead codes out.
    Range: 0 to 1.
    Reads as: near 1 each code tells about one factor alone, though maybe no factor completely.
    """
    chosen = protocols.pick("mig_sup", PROTOCOLS, protocol)
    rows = take(codes, factors, samples=chosen.settings.counting.samples, seed=seed)
    measure = partial(_measure, settings=chosen.settings)
    return score(chosen, measure, rows, seed=seed, interval=interval, ceiling=True)


def _measure(rows: Rows, settings: Settings) -> Measured:
    known = information(rows, settings.counting)
    whole = known.factors if settings.normaliser == "factor" else known.codes[:, None]
    gaps = gap(ratio(known.mutual, whole.expand_as(known.mutual)), dim=1)
    parts = {"per_code": gaps, "information": known.mutual, "alive": known.alive}
    return Measured({"": mean(gaps, known.alive.double())}, parts, known.remarks)
