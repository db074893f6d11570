"""Tables of a study's page: cells, bests, ranks, numbers of seeds, published values."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unknot.analysis import Results, seeds_needed
from unknot.analysis.comparison import FAR, Comparison
from unknot.analysis.seeds import AT, PAIR_DRAWS
from unknot.analysis.statistics import LEVEL, Summary
from unknot.core.text import decimals, setting_label, setting_text
from unknot.report.study_blocks import (
    Entry,
    FigureFolder,
    Grid,
    More,
    count,
    interval,
    percent,
    value,
    words,
)

AGAIN = "probability of being best again"
MOST_SEEDS = 30
"""Seeds of each setting to look at, at most."""
MOST_CELLS = 100
"""Settings of which the file of seed counts has all pairs."""


def overview(results: Results) -> Grid:
    """A row for each setting, a column of means for each score, darker where it is better."""
    scores = results.panels
    found = results.summaries(scores)
    by_cell: dict[str, dict[str, Summary]] = {}
    for one in found:
        by_cell.setdefault(f"{one.label}|{one.settings}", {})[one.score] = one
    ends = {s: _ends([one.mean for one in found if one.score == s]) for s in scores}
    rows: list[list[Entry]] = []
    for own in by_cell.values():
        first = next(iter(own.values()))
        lost = max(own.values(), key=lambda one: one.runs - one.n)
        rows.append(
            [
                setting_entry(first, len(rows)),
                count(first.runs),
                *(_heat(own[s], ends[s], s in results.lower) for s in scores),
                words(lost.missing),
            ]
        )
    lower = [s for s in scores if s in results.lower]
    note = f"Mean over seeds, and below it its {LEVEL:.0%} interval. Darker is better"
    note += f" (for {', '.join(lower)}, lower is better)." if lower else "."
    head = ["configuration", "runs", *scores, "missing"]
    if not any(row[-1].text for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return Grid(head, rows, heat=True, note=note)


def details(results: Results, score: str) -> Grid:
    """All numbers of one score: a row for each setting."""
    rows = [
        [
            setting_entry(one, place),
            count(one.n),
            value(one.mean),
            Entry(interval(one.mean_low, one.mean_high) or "–", _key(one.mean_low)),
            value(one.median),
            Entry(interval(one.median_low, one.median_high) or "–", _key(one.median_low)),
            value(one.sd),
            value(one.low),
            value(one.high),
            words(one.missing),
        ]
        for place, one in enumerate(results.summaries([score]))
    ]
    head = [
        "configuration", "runs", "mean", f"{LEVEL:.0%} interval", "median",
        f"{LEVEL:.0%} interval ", "sd", "lowest", "highest", "missing",
    ]  # fmt: skip
    return Grid(head, rows, title=score)


def setting_entry(one: Summary, place: int) -> Entry:
    """Objective and strength; sorted by name, then as the settings come."""
    said = " ".join(w for w in (setting_label(one.axis), setting_text(one.strength)) if w)
    return Entry(one.objective, f"{one.objective} {place:06d}", said)


def winners(results: Results) -> list[Grid]:
    """The setting with the best mean of each score and how sure that is; none of a single one."""
    if len(results.configurations) < 2:
        return []
    rows = [
        [
            words(one.score),
            words(one.label),
            value(one.mean),
            Entry(interval(one.low, one.high) or "–", _key(one.low)),
            percent(one.share),
            words(one.worst.label),
            value(one.worst_mean),
        ]
        for one in results.winners
    ]
    head = [
        "score",
        "best configuration",
        "mean",
        f"{LEVEL:.0%} interval",
        AGAIN,
        "worst configuration",
        "mean ",
    ]
    note = (
        f"{AGAIN.capitalize()}: share of bootstrap resamples of the seeds in which it is best. "
        "With few seeds it is too confident."
    )
    return [Grid(head, rows, note=note)]


def ranks(results: Results, figure_folder: FigureFolder, name: str) -> list[Grid]:
    """Objectives by their mean rank over the scores."""
    found = results.ranking
    if (~np.isnan(found.ranks)).sum(0).max() < 2:
        return []
    wins = found.wins()
    rows = [
        [
            words(objective),
            value(float(found.mean_rank[i]), digits=2),
            Entry(
                interval(float(found.mean_rank_low[i]), float(found.mean_rank_high[i]), 2) or "–",
                _key(float(found.mean_rank_low[i])),
            ),
            count(wins[objective][0]),
            *(
                Entry("–", "")
                if math.isnan(found.ranks[i, k])
                else Entry(
                    f"{found.ranks[i, k]:g}",
                    repr(float(found.ranks[i, k])),
                    decimals(float(found.means[i, k])),
                    1 - (found.ranks[i, k] - 1) / max(len(found.objectives) - 1, 1),
                )
                for k in range(len(found.scores))
            ),
        ]
        for i, objective in enumerate(found.objectives)
    ]
    rows.sort(key=lambda row: float(row[1].key or "inf"))
    head = ["objective", "mean rank", f"{LEVEL:.0%} interval", "wins", *found.scores]
    note = "; ".join(
        ("Rank by each score, 1 is best; below it the mean over configurations", *found.remarks)
    )
    file = figure_folder.table(f"{name}ranking", found.rows())
    return [Grid(head, rows, heat=True, note=f"{note}.", file=file)]


def strengths(results: Results, figure_folder: FigureFolder, name: str) -> list[Grid]:
    """The best strength of each objective for each score."""
    found = results.best_strengths
    if len(results.configurations) < 2 or all(len(best.shares) < 2 for best in found):
        return []
    by = {(best.objective, best.score): best for best in found}
    objectives = list(dict.fromkeys(best.objective for best in found))
    rows = []
    for objective in objectives:
        own = [by.get((objective, score)) for score in results.scores]
        axis = next((setting_label(best.axis) for best in own if best and best.axis), "")
        rows.append(
            [
                words(objective),
                words(axis),
                *(
                    Entry(
                        setting_text(best.strength),
                        repr(best.strength) if isinstance(best.strength, float) else best.strength,
                        *(() if math.isnan(best.share) else (f"{best.share:.0%}", best.share)),
                    )
                    if best
                    else Entry("–", "")
                    for best in own
                ),
            ]
        )
    file = figure_folder.table(f"{name}strengths", [best.row() for best in found])
    return [Grid(["objective", "setting", *results.scores], rows, heat=True, file=file)]


def seed_counts(results: Results, figure_folder: FigureFolder, name: str) -> list[Grid | More]:
    """How likely n seeds show which of two settings is better."""
    grids: dict[str, Grid] = {}
    for score in results.scores:
        rows, remarks = [], dict[str, None]()
        for pair in results.contrasts(score):
            sides = (one.sample(score).values for one in pair)
            found = seeds_needed(*sides, most=MOST_SEEDS, draws=PAIR_DRAWS)
            remarks |= dict.fromkeys(found.remarks)
            rows.append(
                [
                    words(pair[0].label),
                    words(pair[1].label),
                    value(found.difference),
                    *(value(found.probability[n - 1], digits=2) for n in AT),
                    Entry(f"over {MOST_SEEDS}", repr(1e9))
                    if found.needed is None
                    else count(found.needed),
                ]
            )
        if rows:
            numbers = [f"{n} {'seed' if n == 1 else 'seeds'}" for n in AT]
            head = ["better", "worse", "difference", *numbers, f"seeds for {LEVEL:.0%}"]
            note = f"{'; '.join(remarks)}.".capitalize() if remarks else ""
            grids[score] = Grid(head, rows, note=note, title=score)
    if not grids:
        return []
    pairs = [row for s in results.scores for row in results.seed_pairs(s, first=MOST_CELLS)]
    file = figure_folder.table(f"{name}seeds", pairs)
    first, *others = grids.values()
    more = [More("By the other scores", others)] if others else []
    return [replace(first, file=file), *more]


def published_words(found: Comparison | None) -> str:
    """How many values have a published counterpart, and how near they are to it."""
    if found is None or not found.differences:
        return "No configuration here is in that table: data, objective and strength must agree."
    known = [d for d in found.differences if d.z == d.z]
    said = f"{len(found.differences)} values have a published counterpart. "
    if known:
        within = sum(not d.flagged for d in known)
        said += f"{within} of {len(known)} lie within three standard errors of it. "
    differs = sorted({text for d in found.differences for text in d.differs})
    return said + (f"Not as published: {'; '.join(differs)}." if differs else "")


def beside(found: Comparison, file: str) -> Grid:
    """Our means beside the published ones."""
    rows = [
        [
            setting_entry(d.ours, place),
            words(d.ours.score),
            value(d.ours.mean, small=f"n {d.ours.n}"),
            value(d.published.mean, small=f"n {d.published.n}"),
            value(d.difference),
            _z(d.z, d.flagged),
            words("; ".join(d.differs)),
        ]
        for place, d in enumerate(found.differences)
    ]
    head = ["configuration", "score", "ours", "published", "difference", "z", "not the same"]
    note = f"z: the difference in standard errors, by one spread for both; beyond {FAR:g} marked."
    return Grid(head, rows, note=note, file=file)


def _z(z: float, flagged: bool) -> Entry:
    if math.isnan(z):
        return Entry("–", "")
    return Entry(decimals(z, 1), repr(z), alarm=flagged)


def _heat(one: Summary, ends: tuple[float, float], lower: bool) -> Entry:
    if math.isnan(one.mean):
        return Entry("–", "")
    low, high = ends
    share = (one.mean - low) / (high - low) if high > low else 0.0
    small = interval(one.mean_low, one.mean_high)
    return value(one.mean, small=small, share=1 - share if lower else share)


def _ends(means: Sequence[float]) -> tuple[float, float]:
    known = [mean for mean in means if not math.isnan(mean)]
    return (min(known), max(known)) if known else (0.0, 0.0)


def _key(x: float) -> str:
    return "" if math.isnan(x) else repr(x)
