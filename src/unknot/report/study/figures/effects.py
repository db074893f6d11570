"""Figure of a study: what a setting does, in pairs of runs that differ in nothing else."""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from unknot.analysis import Results
from unknot.analysis.effects import Effect, effects, pooled_settings
from unknot.core.files import file_stem
from unknot.core.text import setting_label, setting_text, shorten
from unknot.report.study.blocks import Figure, Part
from unknot.report.study.style import DataFigure, panels
from unknot.report.style import ACCENT, INK, MUTED, footnote, set_panel, styled

IN_SIGHT = 4
"""Settings whose figures are in sight; those of others open on request."""
LONGEST = 16
"""Letters of a value; of two that have more together, each has a line."""
TURN = 0.618
"""Of a row's height, from dot to dot: they fill it evenly, however many there are."""


def applies(part: Part) -> Iterator[Figure]:
    """One for each setting whose pairs lie in more than one configuration."""
    results = part.results
    for place, name in enumerate(pooled_settings(results.table, results.settings)):
        if scores := compared_scores(results, name):
            summary = "" if place < IN_SIGHT else "Effects of further settings"
            show = partial(draw, results, name, scores)
            yield Figure("effects", f"effect-{file_stem(name)}", show, summary)


def compared_scores(results: Results, name: str) -> list[str]:
    """Scores that mean the same on both sides of a pair: no loss where the objective differs."""
    same = not name.startswith("objective")
    return [
        score
        for score in results.panels
        if (same or score not in results.unranked)
        and any(len(e.differences) for e in effects(results.table, results.settings, name, score))
    ]


@styled
def draw(results: Results, name: str, scores: Sequence[str] | None = None) -> DataFigure:
    """The differences of pairs from the first value of a setting, a row for each other value.

    Args:
        results: Of one dataset.
        name: Of a setting.
        scores: A panel each; all there are unless given.
    """
    names = results.choose(scores)
    effects_by_score = {
        s: effects(results.table, results.settings, name, s, results.level) for s in names
    }
    values = [effect.value for effect in effects_by_score[names[0]]]
    reference = setting_text(effects_by_score[names[0]][0].reference)
    ends = [(shorten(reference, LONGEST), shorten(setting_text(v), LONGEST)) for v in values]
    long = max(len(a) + len(b) for a, b in ends) > LONGEST
    labels = [f"{a} →\n{b}" if long else f"{a} → {b}" for a, b in ends]
    figure, all_axes = panels(
        len(names), size=(2.3, (0.46 if long else 0.34) * len(values) + 0.75), head=0.75,
        title=f"Effect of {setting_label(name)}, in pairs of runs",
    )  # fmt: skip
    for score, axes in zip(names, all_axes, strict=True):
        axes.axvline(0, color=MUTED, linewidth=0.9)
        for place, effect in enumerate(effects_by_score[score]):
            d = effect.differences
            shift = (np.arange(len(d)) * TURN) % 1 - 0.5
            axes.scatter(
                d, place + 0.6 * shift, s=7, color=ACCENT, linewidth=0,
                alpha=0.5 if len(d) < 100 else 0.25,
            )  # fmt: skip
            axes.hlines(place, effect.low, effect.high, color=INK, linewidth=2, zorder=4)
            axes.plot(effect.mean, place, "D", color=INK, markersize=4, zorder=5)
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.set_yticks(range(len(values)), labels)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.label_outer()
        set_panel(axes, score, grid="x", ticks=3)
    all_effects = [effect for of_score in effects_by_score.values() for effect in of_score]
    footnote(figure, _describe(all_effects, results.level))
    return DataFigure(figure, [effect.row() for effect in all_effects])


def _describe(every: Sequence[Effect], level: float) -> list[str]:
    """What is drawn, and what is left out."""
    overs = list(dict.fromkeys(effect.over for effect in every if effect.over))
    text = "Dots: pairs; diamond: mean"
    text += f"; bar: {level:.0%} interval over {' or '.join(overs)}." if overs else "."
    unpaired, flawed = (max(getattr(e, n) for e in every) for n in ("unpaired", "flawed"))
    lines = [text]
    if unpaired:
        lines.append(f"Left out: up to {unpaired} runs without a partner.")
    if flawed:
        lines.append(f"In up to {flawed} pairs a model collapsed or draws nothing.")
    return lines
