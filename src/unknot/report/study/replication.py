"""Tables on whether runs replicate published ones."""

from dataclasses import asdict
from typing import Any

from unknot.analysis.comparison import Comparison
from unknot.analysis.replication import MARGIN, Count, Pooled, replicate
from unknot.core.errors import DataError
from unknot.report.study.blocks import (
    NOTHING,
    Cell,
    FigureFolder,
    Grid,
    count_cell,
    number_cell,
    text_cell,
)


def replication_tables(comparison: Comparison, folder: FigureFolder, prefix: str) -> list[Grid]:
    """What agrees beside controls, and each score over all configurations; none without spread."""
    try:
        replication = replicate(comparison)
    except DataError:  # nothing published has a spread over seeds
        return []
    shifted = ", ".join(
        f"{share:.0%} if all means were off by {shift:g} standard deviations of a seed"
        for shift, share in replication.shifted.items()
    )
    counts = Grid(
        ["agrees", "ours", "of", "published seeds", "wrong settings"],
        [_count_row(count) for count in replication.counts],
        title="What agrees, and what would agree anyway",
        note="Published seeds: the same count for as many seeds sampled from the published runs, "
        "mean and 5 to 95 %. Wrong settings: for ours against the published values of the next "
        "setting of the same objective. A count that is as high there says nothing. Values within "
        f"three standard errors would be {shifted}.",
        file=folder.table(f"{prefix}replication", [asdict(c) for c in replication.counts]),
    )
    pooled = Grid(
        ["score", "difference", "90 % interval", "verdict", "visible", "configurations"],
        [_pooled_row(one) for one in replication.pooled],
        title="Each score over all configurations",
        note="Mean difference in standard deviations of a published seed. Equal: the interval lies "
        f"within ±{MARGIN:g}. Visible: the difference that such a comparison finds in four of five "
        "cases. One sample of rows for all runs adds an error that is not in these intervals.",
        file=folder.table(f"{prefix}pooled", [_record(one) for one in replication.pooled]),
    )
    return [counts, pooled]


def _count_row(count: Count) -> list[Cell]:
    same = NOTHING
    if count.same is not None:
        mean, low, high = count.same
        same = number_cell(mean, digits=1, small=f"{low:.0f} to {high:.0f}")
    wrong = NOTHING if count.wrong is None else count_cell(count.wrong)
    return [text_cell(count.name), count_cell(count.ours), count_cell(count.total), same, wrong]


def _pooled_row(one: Pooled) -> list[Cell]:
    low, high = one.interval
    return [
        text_cell(one.score),
        number_cell(one.difference, digits=2),
        Cell(f"{low:.2f} to {high:.2f}", repr(low)),
        Cell(one.verdict, one.verdict, alarm=one.verdict == "differs"),
        number_cell(one.visible, digits=2),
        count_cell(one.cells),
    ]


def _record(pooled: Pooled) -> dict[str, Any]:
    low, high = pooled.interval
    return {
        **asdict(pooled),
        "low": low,
        "high": high,
        "visible": pooled.visible,
        "verdict": pooled.verdict,
    }
