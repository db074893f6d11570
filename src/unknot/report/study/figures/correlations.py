"""Figure of a study: how scores agree about which runs are good."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np

from unknot.analysis import Results
from unknot.analysis.health import flaws
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.likelihoods import by_likelihood
from unknot.report.study.style import DataFigure, panels
from unknot.report.style import INK, PAPER, SIGNS, footnote, show_frame, styled

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


def applies(part: Part) -> Iterator[Figure]:
    """Two maps, where two scores vary over four runs or more."""
    results = part.results
    # Losses of several likelihoods are several functions, which have no order in common.
    names = results.panels if len(by_likelihood(results)) == 1 else results.scores
    varied = [score for score in names if results.varies(score)]
    if len(varied) < 2 or results.runs_with(*varied[:2]) < 4:
        return
    yield Figure("agreement", "correlations", partial(draw, results, varied))
    pearson = partial(draw, results, varied, kind="pearson")
    summary = "Pearson’s correlations" if len(varied) > SIDE_BY_SIDE else ""
    yield Figure("agreement", "correlations-pearson", pearson, summary)


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    kind: Literal["spearman", "pearson"] = "spearman",
) -> DataFigure:
    """Spearman's or Pearson's correlation of each pair of scores times 100, in colours and numbers.

    Numbers in brackets have a p-value above 0.05. The rows have both kinds, whichever is drawn.

    Args:
        results: Of one dataset.
        scores: Names of columns; all that are scores unless given.
        kind: Whether of ranks or of the values themselves.
    """
    pairs = results.agreement(scores)
    kinds = [name for kind in TITLES for name in (kind, f"{kind}_p")]
    values = {name: getattr(pairs, name) for name in kinds}
    matrix, chance = values[kind], values[f"{kind}_p"] > CHANCE
    n = len(pairs.names)
    side = 0.46 * n
    figure, (axes,) = panels(1, size=(side + 2.1, side + 1.25), head=0.45, title=TITLES[kind])
    axes.imshow(matrix, cmap=SIGNS, vmin=-1, vmax=1)
    for (i, j), value in np.ndenumerate(matrix):
        text = f"{100 * value:.0f}".replace("-", "−")
        axes.text(
            j, i, f"({text})" if chance[i, j] else text, ha="center", va="center",
            color=PAPER if value > DEEP else INK,
        )  # fmt: skip
    axes.set_xticks(range(n), pairs.names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(n), pairs.names)
    axes.tick_params(length=0, labelcolor=INK)
    show_frame(axes)
    low, high = f"{pairs.n.min():,}", f"{pairs.n.max():,}"
    runs = low if low == high else f"{low} to {high}"
    brackets = f" In brackets: p above {CHANCE:g}." if chance.any() else ""
    count = sum(map(bool, flaws(results.table)))
    among = f" {count} of all runs collapsed or draw nothing." if count else ""
    footnote(figure, (f"Over {runs} runs.{among}{brackets}", *pairs.remarks))
    rows = [
        {
            "first": pairs.names[i],
            "second": pairs.names[j],
            **{name: float(of_pair[i, j]) for name, of_pair in values.items()},
            "n": int(count),
        }
        for (i, j), count in np.ndenumerate(pairs.n)
    ]
    return DataFigure(figure, rows)
