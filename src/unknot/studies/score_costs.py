"""What scores cost: CPU seconds of each metric, and the rows that have to be encoded for them."""

from collections.abc import Sequence
from dataclasses import dataclass

from unknot.metrics import facts, protocols_for
from unknot.runs.metric_names import RECON, by_place, decodes, model_metrics

STUDY2019 = {
    "beta_vae": 0.51,
    "dci": 12.05,
    "efficiency": 20.82,
    "explicitness": 0.96,
    "sap": 0.86,
}
"""CPU seconds under ``study2019`` (docs/benchmarks.md); other metrics cost what they cost under
``unknot``, which their facts say."""
SHARED = {"study2019": "dci", "unknot": "explicitness"}
"""What a protocol's `efficiency` learns already, so that it costs next to nothing beside it."""
LATENTS, ROWS = 10, 10_000
"""Of the codes that costs were measured on; they are taken to be proportional to both, but for
more rows, of which a metric draws these."""
SAMPLE, MOST = 30_000, 1_000_000
"""Rows of a grid that metrics look at, together: those of a sample, and those that vote."""
UNKNOWN = 0.1
"""CPU seconds of a metric that does not say."""


@dataclass(frozen=True)
class ScoreCost:
    """Of one model, once."""

    cpu: float
    """Seconds of one core, with its codes at hand."""
    rows: int
    """Images to encode."""


def score_cost(
    metrics: Sequence[str] | None, protocol: str, *, latents: int, images: int, factors: bool = True
) -> ScoreCost:
    """What the scores of one model cost.

    Args:
        metrics: As a study asks for them; all of one model when None.
        protocol: Of those that do not say theirs.
        latents: Of the codes.
        images: Of the dataset.
        factors: Whether it has factors; else metrics that need them are left out, as they will be.
    """
    cpu, rows = 0.0, 0
    asked = model_metrics() if metrics is None else metrics
    for (name, _), names in by_place(asked, protocol).items():
        for metric in names:
            if metric == RECON or ("factors" in facts(metric).needs and not factors):
                continue
            if "efficiency" not in names or SHARED.get(name) != metric:
                cpu += _cpu_seconds(metric, name)
            rows = max(rows, MOST if facts(metric).rows == "most" else SAMPLE)
    return ScoreCost(cpu * latents / LATENTS * min(1.0, images / ROWS), min(rows, images))


def _cpu_seconds(metric: str, protocol: str) -> float:
    """Of one metric; 0 where it has no such protocol and is not computed."""
    known = protocols_for(metric)
    if known and protocol not in known:
        return 0.0
    if protocol.startswith("study2019") and metric in STUDY2019:
        return STUDY2019[metric]
    cost = facts(metric).cost
    if cost is None and decodes(metric):  # on the device of the model, and not of a core
        return 0.0
    return UNKNOWN if cost is None else cost
