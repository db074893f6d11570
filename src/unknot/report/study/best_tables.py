"""Tables of a study's page that say which is best: configurations, objectives, swept values."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from unknot.analysis import Results, seeds_needed
from unknot.analysis.configurations import Configuration
from unknot.analysis.intervals import FEW, LEVEL
from unknot.analysis.ranking import Winner
from unknot.analysis.seeds import PAIR_DRAWS, SEED_COUNTS
from unknot.analysis.verdicts import informative_scores, verdict
from unknot.core.text import decimals, setting_label, setting_text
from unknot.report.study.blocks import (
    NOTHING,
    Cell,
    FigureFolder,
    Grid,
    More,
    Part,
    count_cell,
    interval_cell,
    number_cell,
    share_cell,
    share_text,
    text_cell,
)
from unknot.report.study.score_histories import score_histories
from unknot.report.study.style import swept_text
from unknot.report.study.tables import INTERVAL, grid, without_empty_columns

AGAIN = "probability of being best again"
MOST_SEEDS = 30
"""Seeds of each configuration to look at, at most."""
MOST_PAIRED = 100
"""Configurations of which the file of seed counts has all pairs."""


def winners(results: Results) -> list[Grid]:
    """The best configuration of each score and how sure that is.

    None of scores by which fewer than two configurations are sound.
    """
    scores = informative_scores(results)
    if len(results.configurations) < 2 or not scores:
        return []
    columns: dict[str, Callable[[Winner], Cell]] = {
        "score": lambda winner: text_cell(winner.score),
        "best mean": lambda winner: (
            _configuration(winner.best) if winner.tied == 1 else text_cell(winner.label)
        ),
        "separated from all others": lambda winner: _verdict_cell(results, winner.score),
        "mean": lambda winner: number_cell(winner.mean),
        INTERVAL: lambda winner: interval_cell(winner.low, winner.high),
        AGAIN: lambda winner: share_cell(winner.share),
        "worst configuration": lambda winner: _configuration(winner.worst),
        "mean ": lambda winner: number_cell(winner.worst_mean),
    }
    shown = [winner for winner in results.winners if winner.score in scores]
    table = without_empty_columns(grid(shown, columns))
    note = (
        f"Separated: where both have {FEW} seeds or more, by Welch's t-test at {LEVEL:.0%}, "
        "corrected for the number of configurations; else where ranges do not overlap."
    )
    if AGAIN in table.head:
        note += (
            f" {AGAIN.capitalize()}: share of bootstrap resamples of the seeds in which it is best."
        )
    return [replace(table, note=note)]


def _configuration(configuration: Configuration) -> Cell:
    """The objective, and below it what tells the configuration from its others."""
    return Cell(configuration.objective, configuration.label, swept_text(configuration))


def _verdict_cell(results: Results, score: str) -> Cell:
    """Whether the seeds tell the best configuration from all others, and else from how many not."""
    result = verdict(results, score)
    if result is None:
        return NOTHING
    if not result.decided:
        return text_cell(f"no: {len(result.rivals)} may be as good")
    seeds = len(result.best.sample(score).values)
    return text_cell("yes" if seeds >= FEW else "in every seed")


def best_steps(part: Part) -> list[Grid]:
    """For each configuration the step at which each score was best; none without such scores."""
    if part.study is None or not (histories := score_histories(part.study, part.results)):
        return []
    results = part.results
    scores = [s for s in results.ranked if any(h.score == s for h in histories)]
    cells: dict[str, dict[str, Cell]] = {}
    for history in histories:
        place = history.best(results.sign(history.score))
        value, last = history.means[place], history.means[-1]
        small = f"at {history.steps[place]:,}; end {decimals(last)}"
        label = history.configuration.label
        cells.setdefault(label, {})[history.score] = number_cell(value, small=small)
    rows = [
        [text_cell(label), *(of_label.get(score, NOTHING) for score in scores)]
        for label, of_label in cells.items()
    ]
    note = (
        "Best mean over the steps that were scored, its step, and the mean at the end. It is the "
        "best of several, so it is biased: compare it only with others of as many steps."
    )
    return [Grid(["configuration", *scores], rows, note=note)] if scores else []


def ranks(results: Results, folder: FigureFolder, prefix: str) -> list[Grid]:
    """Objectives by their mean rank over the scores; none where no score is informative."""
    if not informative_scores(results):
        return []
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
    return [without_empty_columns(Grid(head, rows, heat=True, note=f"{note}.", file=file))]


def best_values(results: Results, folder: FigureFolder, prefix: str) -> list[Grid]:
    """The best swept value of each objective for each score."""
    scores = informative_scores(results)
    best_by_score = [best for best in results.best_values if best.score in scores]
    if len(results.configurations) < 2 or all(len(best.shares) < 2 for best in best_by_score):
        return []
    rows = []
    for objective in dict.fromkeys(best.objective for best in best_by_score):
        by_score = {best.score: best for best in best_by_score if best.objective == objective}
        axis = next((setting_label(best.axis) for best in by_score.values() if best.axis), "")
        row = [text_cell(objective), text_cell(axis)]
        for score in scores:
            if (best := by_score.get(score)) is None:
                row.append(NOTHING)
                continue
            value = best.swept_value
            key = repr(value) if isinstance(value, float) else value
            share = () if math.isnan(best.share) else (share_text(best.share), best.share)
            row.append(Cell(setting_text(value), key, *share))
        rows.append(row)
    file = folder.table(f"{prefix}best-values", [best.row() for best in best_by_score])
    return [Grid(["objective", "setting", *scores], rows, heat=True, file=file)]


def _probability_cell(probability: float) -> Cell:
    """A probability by resampling, which is never 0 or 1: that would claim certainty.

    Example:
        >>> [_probability_cell(p).text for p in (0.71, 0.997, 1.0, 0.0)]
        ['0.71', '> 0.99', '> 0.99', '< 0.01']
    """
    if 0.005 <= probability < 0.995:
        return number_cell(probability, digits=2)
    return Cell("> 0.99" if probability > 0.5 else "< 0.01", repr(float(probability)))


def seed_counts(results: Results, folder: FigureFolder, prefix: str) -> list[Grid | More]:
    """How likely n seeds show which of two configurations is better."""
    seeds = [f"{n} {'seed' if n == 1 else 'seeds'}" for n in SEED_COUNTS]
    head = ["better", "worse", "difference", *seeds, f"seeds for {LEVEL:.0%}"]
    grids, scores = [], informative_scores(results)
    for score in scores:
        rows, remarks = [], dict[str, None]()
        for better, worse in results.contrasts(score):
            samples = (c.sample(score).values for c in (better, worse))
            count = seeds_needed(*samples, most=MOST_SEEDS, draws=PAIR_DRAWS)
            remarks |= dict.fromkeys(count.remarks)
            rows.append(
                [
                    _configuration(better),
                    _configuration(worse),
                    number_cell(count.difference),
                    *(_probability_cell(count.probability[n - 1]) for n in SEED_COUNTS),
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
    pairs = [row for s in scores for row in results.seed_pairs(s, first=MOST_PAIRED)]
    first, *others = grids
    more = [More("By the other scores", others)] if others else []
    return [replace(first, file=folder.table(f"{prefix}seeds", pairs)), *more]
