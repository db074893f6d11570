"""Tables of a study's page: configurations, single scores, baselines, published values."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from unknot.analysis import Results
from unknot.analysis.comparison import FAR, Comparison, Difference
from unknot.analysis.configurations import Configuration
from unknot.analysis.effects import Effect, effects, pooled_settings
from unknot.analysis.health import flaws, is_sound
from unknot.analysis.intervals import FEW, LEVEL, SPARSE, describe_coverage
from unknot.analysis.statistics import Summary
from unknot.core.text import decimals, joined, setting_label, setting_text
from unknot.report.study.baselines import Baseline
from unknot.report.study.blocks import (
    NOTHING,
    Cell,
    FigureFolder,
    Grid,
    Part,
    count_cell,
    interval_cell,
    interval_text,
    number_cell,
    text_cell,
)
from unknot.report.study.figures.effects import compared_scores
from unknot.report.study.style import swept_text
from unknot.studies.study import Study

T = TypeVar("T")
INTERVAL = f"{LEVEL:.0%} interval"


def grid(
    items: Sequence[T],
    columns: Mapping[str, Callable[[T], Cell]],
    *,
    configuration: Callable[[T], Summary] | None = None,
    **options: Any,
) -> Grid:
    """A table with a row for each item, which may begin with the configuration that it is of."""
    rows = [[cell(item) for cell in columns.values()] for item in items]
    if configuration is None:
        return Grid([*columns], rows, **options)
    names = [_configuration(configuration(item), place) for place, item in enumerate(items)]
    rows = [[name, *row] for name, row in zip(names, rows, strict=True)]
    return Grid(["configuration", *columns], rows, **options)


def _configuration(summary: Summary, place: int) -> Cell:
    """Objective and swept value; sorted by name, then as the configurations come."""
    return Cell(summary.objective, f"{summary.objective} {place:06d}", swept_text(summary))


def overview(results: Results, file: str) -> Grid:
    """A row for each configuration, a column of means for each score, darker where it is better."""
    scores, summaries = results.panels, results.summaries(results.panels)
    means = {s: [summary.mean for summary in summaries if summary.score == s] for s in scores}
    rows: list[list[Cell]] = []
    for place, configuration in enumerate(results.configurations):
        of_scores = summaries[place * len(scores) : (place + 1) * len(scores)]
        worst = max(of_scores, key=lambda summary: summary.runs - summary.n)
        rows.append(
            [
                _configuration(of_scores[0], len(rows)),
                count_cell(of_scores[0].runs),
                *(
                    _heat(summary, means[summary.score], results, configuration)
                    for summary in of_scores
                ),
                text_cell(", ".join(filter(None, (worst.missing, _flaws(configuration))))),
            ]
        )
    lower = [s for s in scores if s in results.lower and s not in results.unranked]
    note = "Darker is better" + (f" (for {', '.join(lower)}, lower is better)." if lower else ".")
    grey = [f" Grey, {s}: {results.unranked[s]}." for s in scores if s in results.unranked]
    note = f"{_describe_spread(summaries)} {note}{''.join(grey)}"
    head = ["configuration", "runs", *scores, "remarks"]
    return without_empty_columns(Grid(head, rows, heat=True, note=note, file=file))


def _flaws(configuration: Configuration) -> str:
    """How many runs of a configuration have collapsed or draw nothing."""
    counts = Counter(flaw for flaw in flaws(configuration.runs) if flaw)
    return ", ".join(f"{count} {flaw}" for flaw, count in counts.items())


def _heat(
    summary: Summary, means: Sequence[float], results: Results, configuration: Configuration
) -> Cell:
    """A mean, darker where it is better, or grey where it says nothing."""
    score = summary.score
    if score in results.unranked or (summary.n and not is_sound(configuration, score)):
        return replace(number_cell(summary.mean, small=_spread(summary)), muted=True)
    numbers = [mean for mean in means if not math.isnan(mean)]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    share = (summary.mean - low) / (high - low) if high > low else 0.0
    share = 1 - share if score in results.lower else share
    return number_cell(summary.mean, small=_spread(summary), share=share)


def _spread(summary: Summary) -> str:
    """The interval of a mean; of few seeds their range, and nothing of one."""
    if summary.n >= FEW:
        return interval_text(summary.mean_low, summary.mean_high) or "all equal"
    return interval_text(summary.low, summary.high) if summary.n > 1 else ""


def _describe_spread(summaries: Sequence[Summary]) -> str:
    """What stands below means, and what it assumes."""
    counts = {summary.n for summary in summaries}
    many, few = {n for n in counts if n >= FEW}, {n for n in counts if 1 < n < FEW}
    if not many | few:
        return "One seed each."
    below = f"its {INTERVAL}" if many else "the range of the seeds, too few for an interval"
    if many and few:
        below += f", or the range of fewer than {FEW} seeds"
    text = f"Mean over seeds, and below it {below}."
    return f"{text} {describe_coverage(min(many), LEVEL)}" if many else text


def effect_tables(part: Part, folder: FigureFolder) -> list[Grid]:
    """A row for each value of each setting whose effect is pooled: what each score changes by."""
    results = part.results
    table, settings = results.table, results.settings
    rows, lines, used = list[list[Cell]](), list[dict[str, Any]](), list[str]()
    for name in pooled_settings(table, settings):
        scores = compared_scores(results, name)
        effects_by_score = {s: effects(table, settings, name, s, results.level) for s in scores}
        used += [s for s in scores if s not in used]
        lines += [effect.row() for of_score in effects_by_score.values() for effect in of_score]
        for of_value in zip(*effects_by_score.values(), strict=True):
            first = of_value[0]
            change = f"{setting_text(first.reference)} → {setting_text(first.value)}"
            cells = {effect.score: _effect_cell(effect) for effect in of_value}
            pairs = count_cell(max(len(effect.differences) for effect in of_value))
            rows.append(
                [text_cell(setting_label(name)), text_cell(change), pairs,
                 *(cells.get(score, NOTHING) for score in results.panels)]
            )  # fmt: skip
    if not rows:
        return []
    note = f"Mean difference of pairs, and below it its {INTERVAL}. Grey: it may be zero."
    file = folder.table(f"{part.prefix}effects", lines)
    head = ["setting", "from → to", "pairs", *results.panels]
    return [without_empty_columns(Grid(head, rows, note=note, file=file))]


def _effect_cell(effect: Effect) -> Cell:
    """A mean difference with its sign; grey where the interval has zero in it, or there is none."""
    cell = number_cell(effect.mean, small=interval_text(effect.low, effect.high))
    sign = "+" if effect.mean > 0 else ""
    return replace(cell, text=sign + cell.text, muted=not effect.is_clear)


def score_remarks(study: Study, results: Results) -> list[Grid]:
    """Scores that do not apply to some runs, or that say little, and why."""
    names: dict[tuple[str, bool], list[str]] = {}
    for name, remarks in study.store.remarks().items():
        for remark, (_, missing) in remarks.items():
            if missing or name in results.scores:
                names.setdefault((remark, bool(missing)), []).append(name)
    rows = [
        [text_cell(remark), text_cell("do not apply" if missing else ""), text_cell(joined(scores))]
        for (remark, missing), scores in names.items()
    ]
    table = Grid(["remark", "", "scores"], rows, title="Remarks on scores", prose=True)
    return [without_empty_columns(table)] if rows else []


def baseline_table(baselines: Sequence[Baseline], scores: Sequence[str], file: str) -> Grid:
    """A row for each baseline."""
    rows = [
        [text_cell(baseline.name), *(number_cell(baseline.values.get(s)) for s in scores)]
        for baseline in baselines
    ]
    return Grid(["baseline", *scores], rows, file=file)


def details(results: Results, score: str) -> Grid:
    """All numbers of one score: a row for each configuration."""
    columns: dict[str, Callable[[Summary], Cell]] = {
        "runs": lambda summary: count_cell(summary.n),
        "mean": lambda summary: number_cell(summary.mean),
        INTERVAL: lambda summary: interval_cell(summary.mean_low, summary.mean_high),
        "median": lambda summary: number_cell(summary.median),
        f"{INTERVAL} ": lambda summary: interval_cell(summary.median_low, summary.median_high),
        "sd": lambda summary: number_cell(summary.sd),
        f"values of fewer than {SPARSE} seeds": _values_cell,
        "lowest": lambda summary: number_cell(summary.low),
        "highest": lambda summary: number_cell(summary.high),
        "missing": lambda summary: text_cell(summary.missing),
    }
    summaries = results.summaries([score])
    table = grid(summaries, columns, configuration=lambda summary: summary, title=score)
    return without_empty_columns(table)


def _values_cell(summary: Summary) -> Cell:
    """The single values of few seeds."""
    if not 1 < summary.n < SPARSE:
        return NOTHING
    return Cell(" · ".join(map(decimals, sorted(summary.values))), repr(summary.low))


def without_empty_columns(table: Grid) -> Grid:
    """A table without the columns that have nothing in any row."""
    places = [
        i for i in range(len(table.head)) if any(row[i].text not in ("", "–") for row in table.rows)
    ]
    rows = [[row[i] for i in places] for row in table.rows]
    return replace(table, head=[table.head[i] for i in places], rows=rows)


def describe_published(comparison: Comparison | None) -> str:
    """How many values have a published counterpart, and how near they are to it."""
    if comparison is None or not comparison.differences:
        return "No configuration here is in that table: data, objective and swept value must agree."
    differences = comparison.differences
    text = f"{len(differences)} values have a published counterpart. "
    flags = [d.flagged for d in differences if not math.isnan(d.z)]
    if flags:
        text += f"{flags.count(False)} of {len(flags)} lie within three standard errors of it. "
    differs = sorted({part for d in differences for part in d.differs})
    return text + (f"Not as published: {'; '.join(differs)}." if differs else "")


def published_values(comparison: Comparison, file: str) -> Grid:
    """Our means and the published ones."""
    columns: dict[str, Callable[[Difference], Cell]] = {
        "score": lambda d: text_cell(d.ours.score),
        "ours": lambda d: number_cell(d.ours.mean, small=f"n {d.ours.n}"),
        "published": lambda d: number_cell(d.published.mean, small=f"n {d.published.n}"),
        "difference": lambda d: number_cell(d.difference),
        "z": lambda d: replace(number_cell(d.z, digits=1), alarm=d.flagged),
        "not the same": lambda d: text_cell("; ".join(d.differs)),
    }
    note = f"z: the difference in standard errors, by one spread for both; beyond {FAR:g} marked."
    differences = comparison.differences
    return grid(differences, columns, configuration=lambda d: d.ours, note=note, file=file)
