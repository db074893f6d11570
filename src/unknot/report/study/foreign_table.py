"""Tables of runs from elsewhere: which columns are settings and scores, and texts made safe."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

from unknot.analysis import Results
from unknot.analysis.configurations import (
    FACTS,
    Columns,
    plain_columns,
    repeated_seed,
    score_names,
    setting_names,
)
from unknot.core import registry
from unknot.core.border import LONGEST_TEXT
from unknot.core.csv_files import read_table
from unknot.core.errors import DataError
from unknot.core.files import open_file, os_reason
from unknot.core.text import plain, shown

TERMS = ("recon", "kl", "loss")
"""What every run logs; shown where there are no scores."""


def read_foreign(path: Path) -> tuple[Columns, list[str]]:
    """The table of a file from elsewhere, and how its columns were taken."""
    return name_settings(_with_seeds(plain_columns(_printable(read_table(path)))))


def _printable(table: Columns) -> Columns:
    """A table whose texts can be drawn: control characters are escapes."""
    return {
        name: [plain(cell) if isinstance(cell, str) else cell for cell in column]
        for name, column in table.items()
    }


def _with_seeds(table: Columns) -> Columns:
    """A table from elsewhere with whole numbers as seeds, or nothing where it has none."""
    if "seed" not in table:
        return table
    for seed in table["seed"]:
        if seed is not None and not (isinstance(seed, int | float) and seed == int(seed)):
            raise DataError(f"A seed is a whole number; the column 'seed' has '{shown(seed)}'.")
    return {**table, "seed": [None if seed is None else int(seed) for seed in table["seed"]]}


def metric_columns(results: Results) -> list[str]:
    """The columns of a table from elsewhere that are scores.

    Settings go by their first words (`unknot.core.dotted.is_setting`) and facts of a run by their
    names (`unknot.analysis.configurations.FACTS`). Of the other columns of numbers, scores are
    those named after a metric, such as ``mig`` or ``dci.completeness@study2019``; where there is
    none, all but the losses that training logs.
    """
    numeric = score_names(results.table, results.settings)
    scores = [name for name in numeric if _is_metric(name)]
    return scores or [name for name in numeric if name not in TERMS]


def name_settings(table: Columns) -> tuple[Columns, list[str]]:
    """A table from elsewhere with the settings among its columns named as such, and what was done.

    Where a configuration has a seed twice, a column that nothing calls a setting is one: a field of
    the objective such as ``beta``, else a column that tells these runs apart and recurs over seeds.
    It becomes ``objective.beta``.
    """
    repeats = repeated_seed(table, setting_names(table))
    if "objective" not in table or ("seed" in table and not repeats):
        return table, []
    fields = _objective_fields(table)
    names = [name for name in _other_columns(table) if name in fields]
    if repeats and repeated_seed(table, [*setting_names(table), *names]):
        names += _grid_columns(table, [*setting_names(table), *names])
    named = {f"objective.{name}" if name in names else name: v for name, v in table.items()}
    notes = [f"The column '{name}' was read as the setting objective.{name}." for name in names]
    if repeats := repeated_seed(named, setting_names(named)):
        row, count = repeats
        notes.append(
            f"Seed {table['seed'][row]} of {table['objective'][row]} occurs {count} times in one "
            "configuration. If these runs differ in a setting, call its column objective.NAME, "
            "such as objective.beta; otherwise they are averaged."
        )
    return named, notes


def _objective_fields(table: Columns) -> set[str]:
    names = {str(name) for name in table["objective"]} & {*registry.names("objectives")}
    return {field for name in names for field in registry.settings("objectives", name)}


def _other_columns(table: Columns) -> list[str]:
    """Columns that are no settings, no facts of a run, no metrics and no losses."""
    named = {*setting_names(table), *FACTS, *TERMS}
    return [name for name in table if name not in named and not _is_metric(name)]


def _grid_columns(table: Columns, settings: Sequence[str]) -> list[str]:
    """The fewest further columns that leave no seed twice, if the values of each recur over seeds.

    A score tells runs apart as well, but hardly ever has a value again.
    """
    several = [
        name
        for name in _other_columns(table)
        if name not in settings and min(Counter(map(str, table[name])).values()) > 1
    ]
    for size in (1, 2):
        for names in combinations(several, size):
            if not repeated_seed(table, [*settings, *names]):
                return [*names]
    return []


def _is_metric(column: str) -> bool:
    return column.partition("@")[0].partition(".")[0] in registry.names("metrics")


def is_published(file: Path) -> bool:
    """Whether a file has the columns of the 2019 study."""
    try:
        with open_file(file) as opened:
            head = opened.readline(LONGEST_TEXT).decode("utf-8-sig", "replace")
    except OSError as error:
        raise DataError(f"Cannot read the table {file}: {os_reason(error)}.") from error
    return "model_num" in head and "model_name" in head
