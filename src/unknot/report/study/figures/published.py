"""Figure of a study: our runs beside published ones."""

from collections.abc import Iterator, Mapping

import numpy as np

from unknot.analysis.comparison import FAR, Comparison
from unknot.analysis.configurations import Configuration
from unknot.core.errors import DataError
from unknot.core.text import number
from unknot.report.study.catalogue import Figure, Part
from unknot.report.study_style import (
    ROW,
    DataFigure,
    Look,
    across,
    legend,
    lines_of,
    looks,
    panels,
)
from unknot.report.style import (
    ACCENT,
    ALARM,
    INK,
    MUTED,
    PAPER,
    SMALL,
    set_panel,
    styled,
)

TITLE = "Ours beside published"


def applies(part: Part) -> Iterator[Figure]:
    """Where some configuration is among the published ones too."""
    found = part.comparison
    if found and found.differences:
        n = len({d.ours.score for d in found.differences})
        yield Figure(
            "published", "published", TITLE, tuple(notes(found)),
            lambda: draw(found, across=across(n)),
        )  # fmt: skip


@styled
def draw(
    found: Comparison,
    *,
    baselines: Mapping[str, Mapping[str, float]] | None = None,
    across: int = 4,
) -> DataFigure:
    """Our runs beside the published ones: a tick for each, and means with two standard errors.

    Args:
        found: From `unknot.analysis.comparison.compare`.
        baselines: Values by name and score, drawn as dashed lines.
        across: Panels side by side.
    """
    if not found.differences:
        raise DataError("No configuration is in both tables: there is nothing to compare.")
    order = {
        (d.ours.label, str(d.ours.settings)): Configuration(
            d.ours.objective, d.ours.strength, d.ours.axis, {}, {}
        )
        for d in found.differences
    }
    lines = lines_of(list(order.values()))
    at = dict(zip(order, lines.places, strict=True))
    scores = list(dict.fromkeys(d.ours.score for d in found.differences))
    size = (2.15, ROW * 1.15 * (lines.length + 1.5) + 0.45)
    figure, drawn = panels(len(scores), across=across, size=size, head=1.1, title=TITLE)
    levels = looks([f"baseline: {name}" for name in baselines or {}])
    for i, (score, axes) in enumerate(zip(scores, drawn, strict=True)):
        for name, look in zip(baselines or {}, levels.values(), strict=True):
            if (value := (baselines or {})[name].get(score)) is not None:
                axes.axvline(value, color=look.colour, linestyle="--", linewidth=0.9, zorder=0)
        for d in found.differences:
            if d.ours.score != score:
                continue
            y = at[d.ours.label, str(d.ours.settings)]
            for one, colour, fill, up in (
                (d.published, MUTED, PAPER, -0.17),
                (d.ours, ALARM if d.flagged else ACCENT, None, 0.17),
            ):
                wide = 2 * (0.0 if np.isnan(one.se) else one.se)
                axes.vlines(
                    one.values, y + up - 0.15, y + up + 0.15, color=colour, linewidth=0.5, alpha=0.5
                )
                axes.hlines(y + up, one.mean - wide, one.mean + wide, color=colour, linewidth=1.1)
                axes.plot(
                    one.mean, y + up, "o", color=colour, markersize=3.2,
                    markerfacecolor=fill or colour, markeredgewidth=0.9,
                )  # fmt: skip
            if d.flagged:
                axes.annotate(
                    f"{number(round(d.z, 1))}", (1, y), xycoords=axes.get_yaxis_transform(),
                    xytext=(1, 0), textcoords="offset points", va="center", fontsize=SMALL,
                    color=ALARM, annotation_clip=False,
                )  # fmt: skip
        set_panel(axes, score, grid="x", ticks=3)
        plain = {name: Look(INK, "", "-") for _, name in lines.heads}
        lines.label_axis(axes, plain, first=i % across == 0)
    dots = {
        "published": Look(MUTED, "o", "", fill=PAPER),
        "ours": Look(ACCENT, "o", ""),
        f"ours, |z| > {FAR:g}": Look(ALARM, "o", ""),
    }
    lined = {name: Look(look.colour, "", "--") for name, look in levels.items()}
    legend(figure, {**dots, **lined}, across=4, notes=notes(found))
    return DataFigure(figure, found.rows())


def notes(found: Comparison) -> list[str]:
    """How many runs there are, how many differ, and what was not the same."""
    sizes = [sorted({getattr(d, w).n for d in found.differences}) for w in ("ours", "published")]
    ours, theirs = (str(s[0]) if len(s) == 1 else f"{s[0]} to {s[-1]}" for s in sizes)
    flagged = sum(d.flagged for d in found.differences)
    lost = sum(d.ours.runs - d.ours.n for d in found.differences)
    differs = sorted({words for d in found.differences for words in d.differs})
    return [
        f"Runs per configuration: ours {ours}, published {theirs}. Ticks are runs, bars two "
        f"standard errors; {flagged} of {len(found.differences)} differ by more than {FAR:g} "
        "standard errors.",
        f"{lost} values of ours are missing." if lost else "",
        f"Not the same: {'; '.join(differs[:4])}{' ...' if len(differs) > 4 else ''}."
        if differs
        else "",
    ]
