"""MIG-sup, the gap seen from the codes."""

from unknot.metrics.mig import Settings, divisor
from unknot.metrics.parts.information import CARBONNEAU, STUDY, UNKNOT
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.tables import gap, mean, ratio

PROTOCOLS = {
    "paper": Settings(STUDY),
    "carbonneau": Settings(CARBONNEAU, normalizer="code"),
    "unknot": Settings(UNKNOT),
}


@metric(
    PROTOCOLS,
    ceiling=True,
    range=(0, 1),
    measures=("modularity",),
    depends_on=("bins",),
    cost=0.02,
    reads=("1: each latent has information about one factor only, though perhaps not all of it."),
)
def mig_sup(rows: Rows, settings: Settings) -> Measured:
    r"""MIG-sup: gap between the two best factors of each latent, mean over latents.

    $$\frac1D \sum_j I'(z_j; v_{(1)}) - I'(z_j; v_{(2)}), \quad I' = I / H(v)$$

    Paper: Li et al. 2020, "Progressive learning and disentanglement of hierarchical
    representations".
    Differs: counted from codes, under ``paper`` in the 20 bins of the 2019 study. ``carbonneau``
    divides by the entropy of the code. Both count dead latents, so that five live latents of ten
    reach half; ``unknot`` leaves dead latents out. Moğultay Özcan 2024 prints it in nats, without a
    normaliser: ``replace(PROTOCOLS["paper"], normalizer="none")``.
    """
    info = rows.information(settings.counting)
    gaps = gap(ratio(info.mutual, divisor(info, settings.normalizer)), dim=1)
    parts = {"per_code": gaps, "information": info.mutual, "alive": info.alive}
    return Measured({"": mean(gaps, info.alive.double())}, parts, info.remarks)
