"""Figure of a study: where differences in scores come from."""

from collections.abc import Iterator, Sequence
from functools import partial

from matplotlib.patches import Patch

from unknot.analysis import Results
from unknot.analysis.intervals import FEW
from unknot.core.errors import DataError
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.style import DataFigure, legend, panels
from unknot.report.style import ACCENT, ALARM, INK, PAPER, RULE, show_frame, styled

LOOKS = ((ACCENT, ""), (ALARM, "////"), (RULE, "...."))
"""Colours and hatches of objective, swept value and seed."""


def applies(part: Part) -> Iterator[Figure]:
    """Where scores vary over two configurations with seeds enough to know their spread."""
    results, configurations = part.results, part.results.configurations
    varied = [score for score in results.panels if results.varies(score)]
    if varied and len(configurations) > 1 and min(c.size for c in configurations) >= FEW:
        yield Figure("shares", "shares", partial(draw, results, varied))


@styled
def draw(results: Results, scores: Sequence[str] | None = None) -> DataFigure:
    """Shares of each score's variance that objective, swept value and seed account for.

    Args:
        results: Of one dataset.
        scores: Names of columns; all that are scores unless given.
    """
    all_shares = results.variance_shares(scores)
    if not all_shares:
        raise DataError("No score varies over these runs: there is nothing to explain.")
    figure, (axes,) = panels(
        1, size=(6.4, 0.29 * len(all_shares) + 0.45), head=0.8,
        title="Where differences in scores come from",
    )  # fmt: skip
    for y, shares in enumerate(all_shares):
        start = 0.0
        for share, (color, hatch) in zip(shares.shares.values(), LOOKS, strict=True):
            axes.barh(
                y, share, left=start, height=0.72, color=color, edgecolor=PAPER, hatch=hatch,
                linewidth=0.8,
            )  # fmt: skip
            if share >= 0.04:
                axes.text(
                    start + share / 2, y, f"{share:.0%}", ha="center", va="center",
                    bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.2},
                )  # fmt: skip
            start += share
    axes.set_yticks(range(len(all_shares)), [shares.score for shares in all_shares])
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0, labelcolor=INK)
    show_frame(axes)
    patches = {
        name.replace("_", " "): Patch(facecolor=color, hatch=hatch, edgecolor=PAPER)
        for name, (color, hatch) in zip(all_shares[0].shares, LOOKS, strict=True)
    }
    legend(
        figure,
        patches,
        notes=sorted({remark for shares in all_shares for remark in shares.remarks}),
    )
    rows = [
        {
            "score": shares.score,
            **shares.shares,
            **{f"{name}.corrected": share for name, share in shares.corrected.items()},
            "n": shares.n,
        }
        for shares in all_shares
    ]
    return DataFigure(figure, rows)
