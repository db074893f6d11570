"""Figure of a study: whether losses, which need no labels, tell runs with good scores."""

import textwrap
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from matplotlib.axes import Axes

from unknot.analysis import Results
from unknot.core.text import shorten
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.figures.correlations import CHANCE, DEEP
from unknot.report.study.likelihoods import likelihood_parts
from unknot.report.study.style import DataFigure, is_leftmost, panels
from unknot.report.style import (
    INK,
    LETTERS,
    LONGEST_LABEL,
    MUTED,
    PAPER,
    SIGNS,
    footnote,
    show_frame,
    styled,
    wrap,
)

LOSSES = ("elbo", "recon", "kl")
FEWEST = 4
"""Runs of which a correlation is drawn."""
CELL = 0.46, 0.3
"""Inches of a cell."""
ROOM = 18
"""Letters of a score's name beyond which a figure is wider."""
MOST_ACROSS = 4
"""Maps side by side."""
MOST_OBJECTIVES = 6
"""Objectives that have a map of their own."""


def applies(part: Part) -> Iterator[Figure]:
    """For each likelihood, where two scores and two losses vary over four runs or more."""
    for likelihood, suffix, results in likelihood_parts(part.results):
        scores, losses = _names(results)
        if min(len(scores), len(losses)) > 1:
            summary = "Scores against ELBO, reconstruction and KL divergence"
            show = partial(draw, results, scores, likelihood=likelihood if suffix else "")
            yield Figure("agreement", f"score-losses{suffix}", show, summary)


def _names(results: Results) -> tuple[list[str], list[str]]:
    """Scores, and losses, of the runs."""

    def shown(name: str) -> bool:
        return results.runs_with(name) >= FEWEST and results.varies(name)

    columns = (n for loss in LOSSES for n in results.table if n.partition("@")[0] == loss)
    losses = [name for name in columns if shown(name)]
    others = {*LOSSES, *results.losses}
    return [s for s in results.panels if shown(s) and s.partition("@")[0] not in others], losses


@styled
def draw(
    results: Results,
    scores: Sequence[str] | None = None,
    losses: Sequence[str] | None = None,
    *,
    likelihood: str = "",
) -> DataFigure:
    """Spearman's correlation times 100 of scores and losses, of all runs and of each objective.

    Numbers in brackets have a p-value above 0.05.

    Args:
        results: Of one dataset and likelihood.
        scores: Rows; all that vary unless given.
        losses: Columns; those of ELBO, reconstruction and KL divergence that vary unless given.
        likelihood: That the losses belong to, for the title.
    """
    found = _names(results)
    rows = found[0] if scores is None else results.choose(scores)
    columns = found[1] if losses is None else results.choose(losses)
    names = [c.objective for c in results.objectives]
    parts = {"all runs": results}
    if 1 < len(names) <= MOST_OBJECTIVES:
        by_objective = {name: results.only("objective", [name]) for name in names}
        parts |= {
            name: part for name, part in by_objective.items() if _is_shown(part, rows, columns)
        }
    of_likelihood = f" ({likelihood})" if likelihood else ""
    labels = [shorten(name, LONGEST_LABEL) for name in rows]
    beyond = max(0, max(map(len, labels)) - ROOM) / LETTERS / min(len(parts), MOST_ACROSS)
    size = CELL[0] * len(columns) + 0.75 + beyond, CELL[1] * len(rows) + 0.85
    figure, all_axes = panels(
        len(parts), most=MOST_ACROSS, size=size, head=0.7,
        title=f"Scores and losses{of_likelihood}, rank correlation × 100",
    )  # fmt: skip
    across, lines = int(LETTERS * (size[0] - 0.4)), []
    for (name, part), axes in zip(parts.items(), all_axes, strict=True):
        pairs = part.agreement([*rows, *columns])
        block = (slice(len(rows)), slice(len(rows), None))
        n = pairs.n[block]
        values = np.where(n < FEWEST, np.nan, pairs.spearman[block])
        _draw_map(axes, values, pairs.spearman_p[block])
        axes.set_title(textwrap.fill(shorten(name, 2 * across), across))
        axes.set_xticks(range(len(columns)), columns, rotation=40, ha="right")
        axes.set_yticks(range(len(rows)), labels if is_leftmost(axes) else [""] * len(rows))
        axes.tick_params(length=0, labelcolor=INK)
        lines += [
            {"runs": name, "score": rows[i], "loss": columns[j], "spearman": float(value),
             "p": float(pairs.spearman_p[block][i, j]), "n": int(n[i, j])}
            for (i, j), value in np.ndenumerate(values)
        ]  # fmt: skip
    runs = [results.runs_with(score, loss) for score in rows for loss in columns]
    low, high = f"{min(runs):,}", f"{max(runs):,}"
    count = low if low == high else f"{low} to {high}"
    note = (
        f"{count} runs in all. In brackets: p above {CHANCE:g}. Negative: runs with higher scores "
        "have lower losses, or a lower ELBO."
    )
    footnote(figure, (wrap(note, figure),))
    return DataFigure(figure, lines)


def _is_shown(part: Results, scores: Sequence[str], losses: Sequence[str]) -> bool:
    """Whether there are runs enough for some correlation."""
    return any(part.runs_with(a, b) >= FEWEST for a in scores for b in losses)


def _draw_map(axes: Axes, values: np.ndarray, p: np.ndarray) -> None:
    """Colours and numbers; a dash where there is no correlation to compute."""
    axes.imshow(np.nan_to_num(values), cmap=SIGNS, vmin=-1, vmax=1, aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{round(100 * value)}".replace("-", "−")
        text = f"({text})" if p[i, j] > CHANCE and text != "–" else text
        color = MUTED if text == "–" else PAPER if value > DEEP else INK
        axes.text(j, i, text, ha="center", va="center", color=color)
    show_frame(axes)
