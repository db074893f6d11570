"""Figures of a study: how scores agree, where differences come from, and published values."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.patches import Patch

from unknot.analysis import Results
from unknot.analysis.agreements import ScoreAgreement
from unknot.analysis.comparison import FAR, Comparison
from unknot.analysis.configurations import Configuration
from unknot.analysis.variances import VarianceShares
from unknot.core.errors import DataError
from unknot.core.text import number
from unknot.report.study_style import (
    HATCHES,
    ROW,
    DataFigure,
    Look,
    below,
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
    RULE,
    SIGNS,
    SMALL,
    footnote,
    set_panel,
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


@styled
def correlation_map(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    kind: Literal["spearman", "pearson"] = "spearman",
    title: str = "",
) -> DataFigure:
    """Spearman's or Pearson's correlation of each pair of scores times 100, in colours and numbers.

    Numbers in brackets have a p-value above 0.05. The rows have both kinds, whichever is drawn.

    Args:
        results: Of one dataset.
        scores: Names of columns; all that are scores unless given.
        kind: Whether of ranks or of the values themselves.
        title: What is shown.

    Raises:
        ConfigError: There is no such score.
        DataError: All runs diverged.
    """
    found = results.agreement(scores)
    ranks = kind == "spearman"
    shown = found.spearman if ranks else found.pearson
    chance = (found.spearman_p if ranks else found.pearson_p) > CHANCE
    n = len(found.names)
    side = 0.46 * n
    figure, (axes,) = panels(
        1, across=1, size=(side + 2.1, side + 1.25), head=0.45,
        title=title or TITLES[kind],
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
    runs = f"{found.n.min():,}" if found.n.min() == found.n.max() else (
        f"{found.n.min():,} to {found.n.max():,}"
    )  # fmt: skip
    bracketed = f" In brackets: p above {CHANCE:g}." if chance.any() else ""
    footnote(figure, (f"Over {runs} runs.{bracketed}", *found.remarks))
    return DataFigure(figure, _pairs(found))


@styled
def share_bars(
    results: Results,
    scores: Sequence[str] | None = None,
    *,
    title: str = "",
) -> DataFigure:
    """Shares of each score's variance that objective, strength and seed account for.

    Args:
        results: Of one dataset.
        scores: Names of columns; all that are scores unless given.
        title: What is shown.

    Raises:
        ConfigError: There is no such score.
        DataError: All runs diverged, no configuration has two seeds, or no score varies.
    """
    found = results.variance_shares(scores)
    if not found:
        raise DataError("No score varies over these runs: there is nothing to explain.")
    parts = list(found[0].shares)
    colours = dict(zip(parts, (ACCENT, ALARM, RULE), strict=True))
    figure, (axes,) = panels(
        1, across=1, size=(6.4, 0.29 * len(found) + 0.45), head=0.8,
        title=title or "Where differences in scores come from",
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
    remarks = sorted({remark for one in found for remark in one.remarks})
    below(figure, shown, parts, across=len(parts), notes=remarks)
    return DataFigure(figure, [_share_row(one) for one in found])


@styled
def beside_published(
    found: Comparison,
    *,
    baselines: Mapping[str, Mapping[str, float]] | None = None,
    across: int = 4,
    title: str = "Ours beside published",
) -> DataFigure:
    """Our runs beside the published ones: a tick for each, and means with two standard errors.

    Args:
        found: From `unknot.analysis.comparison.compare`.
        baselines: Values by name and score, drawn as dashed lines.
        across: Panels side by side.
        title: What is shown.

    Raises:
        DataError: There is nothing to compare.
    """
    if not found.differences:
        raise DataError("No setting is in both tables: there is nothing to compare.")
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
    figure, drawn = panels(len(scores), across=across, size=size, head=1.1, title=title)
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
    legend(figure, {**dots, **lined}, across=4, notes=_beside_words(found))
    return DataFigure(figure, found.rows())


def _beside_words(found: Comparison) -> list[str]:
    sizes = [sorted({getattr(d, w).n for d in found.differences}) for w in ("ours", "published")]
    ours, theirs = (str(s[0]) if len(s) == 1 else f"{s[0]} to {s[-1]}" for s in sizes)
    flagged = sum(d.flagged for d in found.differences)
    lost = sum(d.ours.runs - d.ours.n for d in found.differences)
    differs = sorted({words for d in found.differences for words in d.differs})
    return [
        f"Runs of a setting: ours {ours}, published {theirs}. Ticks are runs, bars two standard "
        f"errors; {flagged} of {len(found.differences)} differ by more than {FAR:g} of them.",
        f"{lost} values of ours are missing." if lost else "",
        f"Not the same: {'; '.join(differs[:4])}{' ...' if len(differs) > 4 else ''}."
        if differs
        else "",
    ]


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


def _share_row(one: VarianceShares) -> dict[str, Any]:
    corrected = {f"{name}.corrected": share for name, share in one.corrected.items()}
    return {"score": one.score, **one.shares, **corrected, "n": one.n}
