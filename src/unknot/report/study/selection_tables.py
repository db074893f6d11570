"""Tables of a study's page: objectives, each at the configuration that a score selects."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from unknot.analysis import Results
from unknot.analysis.configurations import Configuration
from unknot.analysis.health import is_sound
from unknot.analysis.ranking import DIGITS
from unknot.analysis.statistics import Summary
from unknot.core.files import file_stem
from unknot.core.text import decimals
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
from unknot.report.study.style import swept_text

MARKS = "Best of a column in bold, second underlined, whether or not seeds separate them."


@dataclass(frozen=True)
class Selected:
    """The configuration of an objective with the best mean of a score."""

    by: str
    configuration: Configuration
    summaries: dict[str, Summary]
    """Of all scores that are shown."""


def select(results: Results, score: str) -> list[Selected]:
    """For each objective its configuration with the best mean of a score, if any has one.

    Configurations that have collapsed or are at chance are not selected.

    Example:
        >>> rows = [("a", 1, 0.2, 9.0), ("a", 4, 0.5, 3.0), ("b", 1, 0.3, 5.0)]
        >>> names = "objective", "objective.beta", "mig", "sap"
        >>> results = Results([dict(zip(names, row, strict=True)) for row in rows])
        >>> [(s.configuration.label, s.summaries["sap"].mean) for s in select(results, "mig")]
        [('a beta 4', 3.0), ('b', 5.0)]
    """
    best: dict[str, tuple[float, Configuration]] = {}
    for configuration in results.configurations:
        if not (configuration.has(score) and is_sound(configuration, score)):
            continue
        gain = results.sign(score) * results.summary(configuration, [score])[score].mean
        if gain > best.get(configuration.objective, (-math.inf,))[0]:
            best[configuration.objective] = gain, configuration
    panels = results.panels
    return [Selected(score, c, results.summary(c, panels)) for _, c in best.values()]


def selection_tables(part: Part, folder: FigureFolder) -> list[Grid | More]:
    """Best of each objective, and all scores of what each score selects.

    None where there is nothing to choose from, or one objective.
    """
    results = part.results
    selected = {score: select(results, score) for score in results.ranked}
    comparable = {score: rows for score, rows in selected.items() if len(rows) > 1}
    if len(results.configurations) <= len(results.objectives) or not comparable:
        return []
    grids = [_selected_table(part, score, rows, folder) for score, rows in comparable.items()]
    first, *others = grids
    more = [More("Selected by the other scores", others)] if others else []
    return [_best_table(part, comparable, folder), first, *more]


def _best_table(part: Part, chosen: dict[str, list[Selected]], folder: FigureFolder) -> Grid:
    """A row for each objective: best mean ± standard deviation, and the value that has it."""
    results = part.results
    summaries = {
        score: {s.configuration.objective: s.summaries[score] for s in rows}
        for score, rows in chosen.items()
    }
    cells = {
        score: _marked(results, score, of_score, lambda summary: swept_text(summary))
        for score, of_score in summaries.items()
    }
    names = [c.objective for c in results.objectives]
    rows = [[text_cell(name), *(cells[s].get(name, NOTHING) for s in chosen)] for name in names]
    file = folder.table(
        f"{part.prefix}best-of-objectives",
        [summary.row() for of_score in summaries.values() for summary in of_score.values()],
    )
    spread = " ± standard deviation over seeds" if _has_seeds(summaries) else ""
    note = f"Best mean{spread}, and below it the configuration that has it. {MARKS}"
    title = "Best of each objective"
    return Grid(["objective", *chosen], rows, note=note, title=title, file=file)


def _selected_table(
    part: Part, by: str, selected: Sequence[Selected], folder: FigureFolder
) -> Grid:
    """A row for each objective: all scores of the configuration that one of them selects."""
    results = part.results
    summaries = {
        score: {s.configuration.objective: s.summaries[score] for s in selected}
        for score in results.panels
    }
    cells = [_marked(results, s, of_score, lambda _: "") for s, of_score in summaries.items()]
    rows = [
        [
            Cell(c.objective, c.objective, swept_text(c)),
            *(of_score.get(c.objective, NOTHING) for of_score in cells),
        ]
        for c in (s.configuration for s in selected)
    ]
    lines = [{"selected_by": by, **s.row()} for item in selected for s in item.summaries.values()]
    file = folder.table(f"{part.prefix}selected-by-{file_stem(by)}", lines)
    plain = [score for score in summaries if score in results.unranked]
    note = f"Each objective at its configuration with the best mean {by}. {MARKS}"
    note += f" Not marked: {', '.join(plain)}." if plain else ""
    return Grid(["objective", *summaries], rows, note=note, title=f"Selected by {by}", file=file)


def _has_seeds(summaries: dict[str, dict[str, Summary]]) -> bool:
    return any(s.n > 1 for of_score in summaries.values() for s in of_score.values())


def _marked(
    results: Results,
    score: str,
    summaries: dict[str, Summary],
    small: Callable[[Summary], str],
) -> dict[str, Cell]:
    """The cells of a column by objective, with the best and the second of them marked."""
    gains = [round(results.sign(score) * s.mean, DIGITS) for s in summaries.values() if s.n]
    order = [] if score in results.unranked else sorted(set(gains), reverse=True)[:2]
    cells = {}
    for objective, summary in summaries.items():
        if not summary.n:
            continue
        cell = number_cell(summary.mean, small=small(summary))
        if summary.n > 1:
            cell = replace(cell, text=f"{cell.text} ± {decimals(summary.sd)}")
        gain = round(results.sign(score) * summary.mean, DIGITS)
        cells[objective] = replace(cell, place=order.index(gain) + 1 if gain in order else 0)
    return cells
