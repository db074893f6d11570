"""Figure of a study: where differences in scores come from."""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.patches import Patch

from unknot.analysis import Results
from unknot.analysis.variances import VarianceShares
from unknot.core.errors import DataError
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_style import (
    HATCHES,
    DataFigure,
    below,
    panels,
)
from unknot.report.style import (
    ACCENT,
    ALARM,
    INK,
    PAPER,
    RULE,
    show_frame,
    styled,
)

TITLE = "Where differences in scores come from"


def applies(part: Part) -> Iterator[Figure]:
    """Where scores vary over two configurations, one of which has two seeds."""
    results, found = part.results, part.results.configurations
    varied = [score for score in results.panels if results.varies(score)]
    several = any(len(one.sample(s).values) > 1 for one in found for s in varied)
    if len(found) > 1 and several:
        yield Figure(
            "shares", "shares", TITLE, notes(results.variance_shares(varied)),
            lambda: draw(results, varied),
        )  # fmt: skip


def notes(found: Sequence[VarianceShares]) -> tuple[str, ...]:
    """Which runs are left out."""
    return tuple(sorted({remark for one in found for remark in one.remarks}))


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
) -> DataFigure:
    """Shares of each score's variance that objective, strength and seed account for.

    Args:
        results: Of one dataset.
        scores: Names of columns; all that are scores unless given.
    """
    found = results.variance_shares(scores)
    if not found:
        raise DataError("No score varies over these runs: there is nothing to explain.")
    parts = list(found[0].shares)
    colours = dict(zip(parts, (ACCENT, ALARM, RULE), strict=True))
    figure, (axes,) = panels(
        1, across=1, size=(6.4, 0.29 * len(found) + 0.45), head=0.8,
        title=TITLE,
    )  # fmt: skip
    for y, one in enumerate(found):
        start = 0.0
        for part, hatch in zip(parts, HATCHES, strict=False):
            share = one.shares[part]
            axes.barh(
                y, share, left=start, height=0.72, color=colours[part], edgecolor=PAPER,
                hatch=hatch, linewidth=0.8,
            )  # fmt: skip
            if share >= 0.04:
                axes.text(
                    start + share / 2, y, f"{share:.0%}", ha="center", va="center",
                    bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.2},
                )  # fmt: skip
            start += share
    axes.set_yticks(range(len(found)), [one.score for one in found])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    show_frame(axes)
    shown = [
        Patch(facecolor=colours[part], hatch=hatch, edgecolor=PAPER)
        for part, hatch in zip(parts, HATCHES, strict=False)
    ]
    below(figure, shown, parts, across=len(parts), notes=notes(found))
    return DataFigure(figure, [_share_row(one) for one in found])


def _share_row(one: VarianceShares) -> dict[str, Any]:
    corrected = {f"{name}.corrected": share for name, share in one.corrected.items()}
    return {"score": one.score, **one.shares, **corrected, "n": one.n}
