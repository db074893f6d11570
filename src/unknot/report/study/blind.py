"""Tables of a study's page: what selecting without labels would have lost."""

import math

from unknot.analysis import Results
from unknot.analysis.blind import BlindChoice
from unknot.core import registry
from unknot.metrics.parts.facts import facts
from unknot.report.study.blocks import (
    NOTHING,
    Cell,
    FigureFolder,
    Grid,
    More,
    Part,
    number_cell,
    text_cell,
)
from unknot.report.study.likelihoods import likelihood_name

RECON = "recon"
ENOUGH = 6
"""Choices among which a rank correlation of 0.9 is not chance: p below 0.05 on both sides."""


def criteria_of(results: Results) -> list[str]:
    """Columns that need no labels and of which more, or less, is better.

    A reconstruction loss counts where all configurations have the same likelihood.
    """
    known = {*registry.names("metrics")}
    names = [n for n in (*results.scores, *results.others) if results.has(n)]
    names = [n for n in names if not results.silent.get(n) and "." not in n]
    free = []
    for name in names:
        metric = name.partition("@")[0]
        if metric in known and "factors" not in facts(metric).needs and _varies(results, name):
            free.append(name)
    likelihoods = {likelihood_name(c) for c in results.configurations}
    if results.has(RECON) and len(likelihoods) == 1:
        free.append(RECON)
    return free


def _varies(results: Results, name: str) -> bool:
    return facts(name.partition("@")[0]).better != "neither" and results.varies(name)


def supervised(results: Results) -> list[str]:
    """Scores that need labels."""
    known = {*registry.names("metrics")}
    return [
        score
        for score in results.ranked
        if (metric := score.partition("@")[0].partition(".")[0]) in known
        and "factors" in facts(metric).needs
    ]


def blind_tables(part: Part, folder: FigureFolder) -> list[Grid | More]:
    """A row for each criterion and a column for each score; none where either is missing."""
    free, scores = criteria_of(part.results), supervised(part.results)
    if not (free and scores):
        return []
    results, grids = part.results, list[tuple[Grid, int]]()
    for among in ("configurations", "runs"):
        choices = results.blind_selection(free, scores, among=among)
        if not choices or (among == "runs" and grids and choices[0].n == grids[0][1]):
            continue
        file = folder.table(f"{part.prefix}blind-{among}", [choice.row() for choice in choices])
        grids.append((_grid(choices, free, scores, among, file), choices[0].n))
    if not grids:
        return []
    first, *others = (grid for grid, _ in grids)
    more = [More("The same for single runs, seeds and all", list(others))] if others else []
    return [first, *more]


def _grid(
    choices: list[BlindChoice], free: list[str], scores: list[str], among: str, file: str
) -> Grid:
    by_place = {(choice.criterion, choice.score): choice for choice in choices}
    best = ["best, by labels", *(_best(by_place, free, s) for s in scores)]
    rows = [[text_cell(str(best[0])), *(cell for cell in best[1:] if isinstance(cell, Cell))]]
    for name in free:
        cells = [
            NOTHING if (choice := by_place.get((name, s))) is None else _cell(choice)
            for s in scores
        ]
        rows.append([text_cell(name), *cells])
    note = (
        f"The score of what a criterion would choose among {among}; below it how far that is from "
        "the best, and Spearman's correlation of criterion and score (ρ). Darker: more of the way "
        "from the mean to the best."
    )
    if (n := choices[0].n) < ENOUGH:
        note = f"There are {n} {among}: too few to tell a good criterion from a lucky one. {note}"
    return Grid(["criterion", *scores], rows, note=note, file=file, heat=True)


def _best(by_place: dict[tuple[str, str], BlindChoice], free: list[str], score: str) -> Cell:
    there = [choice for name in free if (choice := by_place.get((name, score)))]
    if not there:
        return NOTHING
    return number_cell(there[0].best, small=f"mean {there[0].mean:.3f}", share=1.0)


def _cell(choice: BlindChoice) -> Cell:
    rho = "" if math.isnan(choice.correlation) else f", ρ {choice.correlation:.2f}"
    share = 0.0 if math.isnan(choice.regained) else min(max(choice.regained, 0.0), 1.0)
    return number_cell(choice.chosen, small=f"{choice.lost:.3f} lost{rho}", share=share)
