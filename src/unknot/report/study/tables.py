"""Tables of a study's page: configurations, bests, ranks, numbers of seeds, published values."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from unknot.analysis import Results, seeds_needed
from unknot.analysis.comparison import FAR, Comparison, Difference
from unknot.analysis.ranking import Winner
from unknot.analysis.seeds import PAIR_DRAWS, SEED_COUNTS
from unknot.analysis.statistics import LEVEL, Summary
from unknot.core.text import decimals, setting_label, setting_text
from unknot.report.study.baselines import Baseline
from unknot.report.study.blocks import (
    NOTHING,
    Cell,
    FigureFolder,
    Grid,
    More,
    count_cell,
    interval_cell,
    interval_text,
    number_cell,
    share_cell,
    text_cell,
)
from unknot.report.study.style import swept_text

T = TypeVar("T")
AGAIN = "probability of being best again"
INTERVAL = f"{LEVEL:.0%} interval"
MOST_SEEDS = 30
"""Seeds of each configuration to look at, at most."""
MOST_PAIRED = 100
"""Configurations of which the file of seed counts has all pairs."""


def _grid(
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
    for i in range(0, len(summaries), len(scores)):
        of_scores = summaries[i : i + len(scores)]
        worst = max(of_scores, key=lambda summary: summary.runs - summary.n)
        rows.append(
            [
                _configuration(of_scores[0], len(rows)),
                count_cell(of_scores[0].runs),
                *(
                    _heat(summary, means[summary.score], summary.score in results.lower)
                    for summary in of_scores
                ),
                text_cell(worst.missing),
            ]
        )
    lower = [s for s in scores if s in results.lower]
    note = f"Mean over seeds, and below it its {INTERVAL}. Darker is better"
    note += f" (for {', '.join(lower)}, lower is better)." if lower else "."
    head = ["configuration", "runs", *scores, "missing"]
    if not any(row[-1].text for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Grid(head, rows, heat=True, note=note, file=file)


def _heat(summary: Summary, means: Sequence[float], lower: bool) -> Cell:
    numbers = [mean for mean in means if not math.isnan(mean)]
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 0.0)
    share = (summary.mean - low) / (high - low) if high > low else 0.0
    small = interval_text(summary.mean_low, summary.mean_high)
    return number_cell(summary.mean, small=small, share=1 - share if lower else share)


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
        "lowest": lambda summary: number_cell(summary.low),
        "highest": lambda summary: number_cell(summary.high),
        "missing": lambda summary: text_cell(summary.missing),
    }
    summaries = results.summaries([score])
    return _grid(summaries, columns, configuration=lambda summary: summary, title=score)


def winners(results: Results) -> list[Grid]:
    """The best configuration of each score and how sure that is; none of a single one."""
    if len(results.configurations) < 2:
        return []
    columns: dict[str, Callable[[Winner], Cell]] = {
        "score": lambda winner: text_cell(winner.score),
        "best configuration": lambda winner: text_cell(winner.label),
        "mean": lambda winner: number_cell(winner.mean),
        INTERVAL: lambda winner: interval_cell(winner.low, winner.high),
        AGAIN: lambda winner: share_cell(winner.share),
        "worst configuration": lambda winner: text_cell(winner.worst.label),
        "mean ": lambda winner: number_cell(winner.worst_mean),
    }
    note = (
        f"{AGAIN.capitalize()}: share of bootstrap resamples of the seeds in which it is best. "
        "With few seeds it is too confident."
    )
    return [_grid(results.winners, columns, note=note)]


def ranks(results: Results, folder: FigureFolder, prefix: str) -> list[Grid]:
    """Objectives by their mean rank over the scores."""
    ranking = results.ranking
    if (~np.isnan(ranking.ranks)).sum(0).max() < 2:
        return []
    wins, last = ranking.wins(), max(len(ranking.objectives) - 1, 1)

    def rank_cell(rank: float, mean: float) -> Cell:
        if math.isnan(rank):
            return NOTHING
        return Cell(f"{rank:g}", repr(rank), decimals(mean), 1 - (rank - 1) / last)

    rows = [
        [
            text_cell(objective),
            number_cell(float(ranking.mean_rank[i]), digits=2),
            interval_cell(ranking.mean_rank_low[i], ranking.mean_rank_high[i], 2),
            count_cell(wins[objective][0]),
            *map(rank_cell, ranking.ranks[i].tolist(), ranking.means[i].tolist()),
        ]
        for i, objective in enumerate(ranking.objectives)
    ]
    rows.sort(key=lambda row: float(row[1].key or "inf"))
    head = ["objective", "mean rank", INTERVAL, "wins", *ranking.scores]
    note = "; ".join(
        ("Rank by each score, 1 is best; below it the mean over configurations", *ranking.remarks)
    )
    file = folder.table(f"{prefix}ranking", ranking.rows())
    return [Grid(head, rows, heat=True, note=f"{note}.", file=file)]


def best_values(results: Results, folder: FigureFolder, prefix: str) -> list[Grid]:
    """The best swept value of each objective for each score."""
    best_by_score = results.best_values
    if len(results.configurations) < 2 or all(len(best.shares) < 2 for best in best_by_score):
        return []
    rows = []
    for objective in dict.fromkeys(best.objective for best in best_by_score):
        by_score = {best.score: best for best in best_by_score if best.objective == objective}
        axis = next((setting_label(best.axis) for best in by_score.values() if best.axis), "")
        row = [text_cell(objective), text_cell(axis)]
        for score in results.scores:
            if (best := by_score.get(score)) is None:
                row.append(NOTHING)
                continue
            value = best.swept_value
            key = repr(value) if isinstance(value, float) else value
            share = () if math.isnan(best.share) else (f"{best.share:.0%}", best.share)
            row.append(Cell(setting_text(value), key, *share))
        rows.append(row)
    file = folder.table(f"{prefix}best-values", [best.row() for best in best_by_score])
    return [Grid(["objective", "setting", *results.scores], rows, heat=True, file=file)]


def seed_counts(results: Results, folder: FigureFolder, prefix: str) -> list[Grid | More]:
    """How likely n seeds show which of two configurations is better."""
    seeds = [f"{n} {'seed' if n == 1 else 'seeds'}" for n in SEED_COUNTS]
    head = ["better", "worse", "difference", *seeds, f"seeds for {LEVEL:.0%}"]
    grids = []
    for score in results.scores:
        rows, remarks = [], dict[str, None]()
        for better, worse in results.contrasts(score):
            samples = (c.sample(score).values for c in (better, worse))
            count = seeds_needed(*samples, most=MOST_SEEDS, draws=PAIR_DRAWS)
            remarks |= dict.fromkeys(count.remarks)
            rows.append(
                [
                    text_cell(better.label),
                    text_cell(worse.label),
                    number_cell(count.difference),
                    *(number_cell(count.probability[n - 1], digits=2) for n in SEED_COUNTS),
                    Cell(f"over {MOST_SEEDS}", repr(1e9))
                    if count.needed is None
                    else count_cell(count.needed),
                ]
            )
        if rows:
            note = f"{'; '.join(remarks)}.".capitalize() if remarks else ""
            grids.append(Grid(head, rows, note=note, title=score))
    if not grids:
        return []
    pairs = [row for s in results.scores for row in results.seed_pairs(s, first=MOST_PAIRED)]
    first, *others = grids
    more = [More("By the other scores", others)] if others else []
    return [replace(first, file=folder.table(f"{prefix}seeds", pairs)), *more]


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
    return _grid(differences, columns, configuration=lambda d: d.ours, note=note, file=file)
