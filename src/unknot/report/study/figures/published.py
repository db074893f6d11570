"""Figure of a study: our runs and published ones."""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

from unknot.analysis.comparison import FAR, Comparison
from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import cut_off, kept_bounds
from unknot.core.errors import DataError
from unknot.core.text import number
from unknot.metrics.parts.facts import score_bounds
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.boxes import note_at_right
from unknot.report.study.style import (
    ROW,
    DataFigure,
    Look,
    configuration_rows,
    legend,
    looks,
    panels,
)
from unknot.report.style import ACCENT, ALARM, MUTED, PAPER, set_panel, styled


def applies(part: Part) -> Iterator[Figure]:
    """Where some configuration is among the published ones too."""
    if part.comparison and part.comparison.differences:
        yield Figure("published", "published", partial(draw, part.comparison))


@styled
def draw(
    comparison: Comparison,
    *,
    baselines: Mapping[str, Mapping[str, float]] | None = None,
    title: str = "Our runs and published ones",
) -> DataFigure:
    """Our runs and the published ones: a tick for each, and means with two standard errors.

    Args:
        comparison: From `unknot.analysis.comparison.compare`.
        baselines: Values by name and score, drawn as dashed lines.
        title: What stands above the panels.
    """
    differences = comparison.differences
    if not differences:
        raise DataError("No configuration is in both tables: there is nothing to compare.")
    order = {
        (d.ours.label, str(d.ours.settings)): Configuration(
            d.ours.objective, d.ours.swept_value, d.ours.axis, {}, {}
        )
        for d in differences
    }
    layout = configuration_rows(list(order.values()))
    heights = dict(zip(order, layout.places, strict=True))
    scores = list(dict.fromkeys(d.ours.score for d in differences))
    size = (2.15, ROW * 1.15 * (layout.length + 1.5) + 0.45)
    figure, all_axes = panels(len(scores), size=size, head=1.1, title=title)
    levels = {
        f"baseline: {name}": Look(look.color, "", "--")
        for name, look in looks(baselines or {}).items()
    }
    for score, axes in zip(scores, all_axes, strict=True):
        of_score = [d for d in differences if d.ours.score == score]
        runs = [value for d in of_score for value in (*d.ours.values, *d.published.values)]
        bounds = kept_bounds(np.array(runs), score_bounds(score))
        for values, look in zip((baselines or {}).values(), levels.values(), strict=True):
            if score in values:
                axes.axvline(
                    values[score], color=look.color, linestyle="--", linewidth=0.9, zorder=0
                )
        for d in of_score:
            y = heights[d.ours.label, str(d.ours.settings)]
            for summary, color, fill, up in (
                (d.published, MUTED, PAPER, -0.17),
                (d.ours, ALARM if d.flagged else ACCENT, None, 0.17),
            ):
                wide = 2 * (0.0 if np.isnan(summary.se) else summary.se)
                axes.vlines(
                    summary.values,
                    y + up - 0.15,
                    y + up + 0.15,
                    color=color,
                    linewidth=0.5,
                    alpha=0.5,
                )
                ends = summary.mean - wide, summary.mean + wide
                axes.hlines(y + up, *cut_off(*ends, bounds), color=color, linewidth=1.1)
                axes.plot(
                    summary.mean, y + up, "o", color=color, markersize=3.2,
                    markerfacecolor=fill or color, markeredgewidth=0.9,
                )  # fmt: skip
            if d.flagged:
                note_at_right(axes, number(round(d.z, 1)), y)
        set_panel(axes, score, grid="x", ticks=3)
        layout.label_axis(axes)
    dots = {
        "published": Look(MUTED, "o", "", fill=PAPER),
        "ours": Look(ACCENT, "o", ""),
        f"ours, |z| > {FAR:g}": Look(ALARM, "o", ""),
    }
    legend(figure, {**dots, **levels}, across=4, notes=_notes(comparison))
    return DataFigure(figure, comparison.rows())


def _notes(comparison: Comparison) -> list[str]:
    """How many runs there are, how many differ, and what was not the same."""
    differences = comparison.differences
    sizes = [sorted({getattr(d, w).n for d in differences}) for w in ("ours", "published")]
    ours, theirs = (str(s[0]) if len(s) == 1 else f"{s[0]} to {s[-1]}" for s in sizes)
    flagged = sum(d.flagged for d in differences)
    lost = sum(d.ours.runs - d.ours.n for d in differences)
    differs = sorted({text for d in differences for text in d.differs})
    rest = " ..." if len(differs) > 4 else ""
    return [
        f"Runs per configuration: ours {ours}, published {theirs}. Ticks are runs, bars two "
        f"standard errors; {flagged} of {len(differences)} differ by more than {FAR:g} "
        "standard errors.",
        f"{lost} values of ours are missing." if lost else "",
        f"Not the same: {'; '.join(differs[:4])}{rest}." if differs else "",
    ]
