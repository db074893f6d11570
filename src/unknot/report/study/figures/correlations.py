"""Figure of a study: how scores agree about which runs are good."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from unknot.analysis import Results
from unknot.analysis.agreements import ScoreAgreement
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_style import (
    DataFigure,
    panels,
)
from unknot.report.style import (
    INK,
    PAPER,
    SIGNS,
    footnote,
    show_frame,
    styled,
)

CHANCE = 0.05
"""p-values above this are shown as no more than chance."""
DEEP = 0.88
"""Correlations above this are so dark that light letters are easier to read."""
TITLES = {
    "spearman": "Rank correlation of scores × 100 (Spearman)",
    "pearson": "Linear correlation of scores × 100 (Pearson)",
}
SIDE_BY_SIDE = 6
"""Scores up to which two maps of them fit beside each other."""

Kind: TypeAlias = Literal["spearman", "pearson"]


def applies(part: Part) -> Iterator[Figure]:
    """Two maps, where two scores vary over four runs or more."""
    results = part.results
    varied = [score for score in results.panels if results.varies(score)]
    if len(varied) < 2 or results.runs_with(*varied[:2]) < 4:
        return
    found = results.agreement(varied)
    kinds: tuple[Kind, ...] = ("spearman", "pearson")
    for kind, name in zip(kinds, ("correlations", "correlations-pearson"), strict=True):
        folded = kind == "pearson" and len(varied) > SIDE_BY_SIDE
        yield Figure(
            "agreement", name, TITLES[kind], notes(found, kind),
            lambda kind=kind: draw(results, varied, kind=kind),  # type: ignore[misc]
            "Pearson’s correlations" if folded else "",
        )  # fmt: skip


def notes(found: ScoreAgreement, kind: Kind) -> tuple[str, ...]:
    """How many runs there are, and what brackets mean."""
    low, high = f"{found.n.min():,}", f"{found.n.max():,}"
    runs = low if low == high else f"{low} to {high}"
    bracketed = f" In brackets: p above {CHANCE:g}." if _chance(found, kind).any() else ""
    return f"Over {runs} runs.{bracketed}", *found.remarks


def _chance(found: ScoreAgreement, kind: Kind) -> np.ndarray:
    return (found.spearman_p if kind == "spearman" else found.pearson_p) > CHANCE


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    kind: Kind = "spearman",
) -> DataFigure:
    """Spearman's or Pearson's correlation of each pair of scores times 100, in colours and numbers.

    Numbers in brackets have a p-value above 0.05. The rows have both kinds, whichever is drawn.

    Args:
        results: Of one dataset.
        scores: Names of columns; all that are scores unless given.
        kind: Whether of ranks or of the values themselves.
    """
    found = results.agreement(scores)
    ranks = kind == "spearman"
    shown = found.spearman if ranks else found.pearson
    chance = _chance(found, kind)
    n = len(found.names)
    side = 0.46 * n
    figure, (axes,) = panels(
        1, across=1, size=(side + 2.1, side + 1.25), head=0.45,
        title=TITLES[kind],
    )  # fmt: skip
    axes.imshow(shown, cmap=SIGNS, vmin=-1, vmax=1)
    for i in range(n):
        for j in range(n):
            words = f"{100 * shown[i, j]:.0f}".replace("-", "−")
            axes.text(
                j, i, f"({words})" if chance[i, j] else words, ha="center", va="center",
                color=PAPER if shown[i, j] > DEEP else INK,
            )  # fmt: skip
    axes.set_xticks(range(n), found.names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(n), found.names)
    axes.tick_params(length=0, labelcolor=INK)
    show_frame(axes)
    footnote(figure, notes(found, kind))
    return DataFigure(figure, _pairs(found))


def _pairs(found: ScoreAgreement) -> list[dict[str, Any]]:
    return [
        {
            "first": a,
            "second": b,
            "spearman": float(found.spearman[i, j]),
            "spearman_p": float(found.spearman_p[i, j]),
            "pearson": float(found.pearson[i, j]),
            "pearson_p": float(found.pearson_p[i, j]),
            "n": int(found.n[i, j]),
        }
        for i, a in enumerate(found.names)
        for j, b in enumerate(found.names)
    ]
