"""Which scores of a table a page shows, and what it says of the others."""

from collections import Counter
from collections.abc import Sequence

from unknot.analysis import Results
from unknot.analysis.configurations import FINISHED, Columns, has_diverged, score_names
from unknot.core import registry
from unknot.core.errors import ConfigError, DataError
from unknot.core.text import joined
from unknot.metrics import facts, lower_is_better
from unknot.metrics.parts.facts import LOSSES, ONE_FACTOR, score_bounds
from unknot.report.study.foreign_table import TERMS
from unknot.report.study.run_columns import LOWEST
from unknot.studies.study import Study

PROMINENT_PARTS = ("dci.disentanglement", "dci.completeness", "dci.informativeness")
"""Parts of a score that are shown beside it."""
NEITHER = "neither high nor low values are better"
MOST = 12
"""Scores that have figures unless others are asked for."""
MOST_OBJECTIVES = 500
"""Of a page; figures of more would take minutes and be many feet high."""


def choose_scores(
    results: Results, scores: Sequence[str] | None, candidates: Sequence[str]
) -> Results:
    """The results with the scores to show: those named, or what there is of the candidates."""
    table = results.table
    if "objective" not in table:
        raise ConfigError(
            "A table needs a column 'objective' that says what each run was trained with; got "
            f"{', '.join(list(table)[:12])}."
        )
    if (count := len({*table["objective"]})) > MOST_OBJECTIVES:
        raise DataError(
            f"The column 'objective' has {count:,} different names; a page shows at most "
            f"{MOST_OBJECTIVES}. Put what else is in them into columns of their own, or split the "
            "table."
        )
    numeric = score_names(table, results.settings)
    present = [name for name in numeric if results.has(name)]
    if scores is not None:
        results.choose(scores)
        if wrong := [name for name in scores if name not in numeric]:
            raise ConfigError(
                f"The column '{wrong[0]}' holds no scores; there are {_first_names(numeric)}"
            )
    else:
        known = {*numeric}
        scores = _headline(results, [name for name in candidates if name in known])
        scores = scores or [name for name in TERMS if name in present]
    if all(has_diverged(table)):
        count = len(table["objective"])
        all_runs = f"All {count:,} runs" if count > 1 else "The only run"
        raise DataError(f"{all_runs} diverged: there is nothing to show.")
    if not scores:
        _check_finished(table)
        raise ConfigError(f"The table has no scores; its columns are {_first_names(list(table))}")
    return Results(
        table,
        scores,
        settings=results.settings,
        others=[name for name in present if name not in scores],
        lower=[name for name in numeric if lower_is_better(name)],
        losses=[name for name in numeric if name.partition("@")[0] in ("kl", LOWEST, *LOSSES)],
        silent=results.silent | {n: NEITHER for n in numeric if _has_no_better(n)},
        bounds={name: score_bounds(name) for name in numeric},
    )


def vacuous_scores(study: Study) -> dict[str, str]:
    """Scores that cannot tell good codes from bad ones on this data."""
    return {
        name: ONE_FACTOR
        for name, remarks in study.store.remarks().items()
        if any(ONE_FACTOR in remark for remark in remarks)
    }


def _has_no_better(column: str) -> bool:
    """Whether neither more nor less of a metric is better."""
    name = column.partition("@")[0].partition(".")[0]
    return name in registry.names("metrics") and facts(name).better == "neither"


def _headline(results: Results, names: Sequence[str]) -> list[str]:
    """The scores to show: no parts of others but prominent ones, none twice, none that are not."""
    headline: list[str] = []
    known = {*names}
    for name in names:
        if len(headline) == MOST:
            break
        wholes = [whole for whole in wholes_of(name) if whole in known]
        prominent = not wholes or name.partition("@")[0] in PROMINENT_PARTS
        twice = any(results.table[name] == results.table[n] for n in wholes)
        if results.has(name) and prominent and not twice:
            headline.append(name)
    return headline


def wholes_of(name: str) -> list[str]:
    """The columns that a column would be a part of, by the same protocol.

    Example:
        >>> wholes_of("dci.error.train@study2019"), wholes_of("dci")
        (['dci@study2019', 'dci.error@study2019'], [])
    """
    part, separator, protocol = name.partition("@")
    words = part.split(".")
    return [".".join(words[:n]) + separator + protocol for n in range(1, len(words))]


def _first_names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:12])}{', ...' if len(names) > 12 else ''}."


def _check_finished(table: Columns) -> None:
    """Raise a DataError where no run of a table has finished."""
    states = Counter(table.get("status", ()))
    if states and not {None, *FINISHED} & {*states}:
        counts = joined([f"{count:,} {state}" for state, count in states.items()])
        raise DataError(f"No run of the table has finished ({counts}): there is nothing to show.")
