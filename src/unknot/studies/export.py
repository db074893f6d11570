"""What leaves a study: its table as a file, one model as a run folder."""

import importlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unknot.core.csv_files import Rows, columns, plain_cell
from unknot.core.dotted import is_setting
from unknot.core.errors import ConfigError
from unknot.core.files import atomic_path
from unknot.studies.study import Study

ALWAYS = ("id", "seed", "status")
LOGGED = ("loss", "recon", "kl")
"""Shown where there are no scores."""


def setting_value(row: Mapping[str, Any], name: str) -> Any:
    """A setting of a row; of one that is a table there, its kind.

    Example:
        >>> setting_value({"objective.likelihood.kind": "overlap"}, "objective.likelihood")
        'overlap'
    """
    return row.get(name, row.get(f"{name}.kind"))


def varying_settings(rows: Rows) -> list[str]:
    """Names of the settings of which rows have different values.

    A setting that is a value here and a table there varies too, and its kind is then no other.

    Example:
        >>> varying_settings([{"objective": "vae"}, {"objective": "beta_vae", "objective.beta": 4}])
        ['objective']
        >>> varying_settings([{"net.x": 1}, {"net.x.kind": "linear", "net.x.end": 4}])
        ['net.x']
    """
    settings = [name for name in columns(rows) if is_setting(name)]
    values: dict[str, set[str]] = {name: set() for name in settings}
    for row, name in itertools.product(rows, settings):
        if name in row or f"{name}.kind" in row:
            values[name].add(str(setting_value(row, name)))
    kinds = {f"{name}.kind" for name in settings}
    return [name for name in settings if len(values[name]) > 1 and name not in kinds]


def headline_columns(rows: Rows, scores: Sequence[str]) -> list[str]:
    """Names of the columns that people look at first: settings that differ, results, scores."""
    logged = [name for name in LOGGED if any(name in row for row in rows)]
    taken = [name for name in columns(rows) if name.startswith("value.")]
    whole_first = sorted(scores, key=lambda name: "." in name)  # then parts, such as dci.error
    return [*ALWAYS, *varying_settings(rows), *taken, *(whole_first or logged)]


def write_parquet(rows: Rows, path: Path) -> None:
    """Write a Parquet file."""
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigError(
            "Parquet needs pyarrow: pip install 'unknot[parquet]', or use --csv."
        ) from error
    table = {}
    for name in columns(rows):
        column = [plain_cell(row.get(name)) for row in rows]
        kinds = {type(value) for value in column if value is not None}
        if len(kinds - {int, float}) and len(kinds) > 1:  # a number here, a word there
            column = [None if value is None else str(value) for value in column]
        table[name] = column
    with atomic_path(path) as part:
        parquet.write_table(arrow.table(table), part)


def extract(study: Study, start: str, out: Path | None = None, *, device: str = "auto") -> Path:
    """Write one model as a run folder of its own, with its scores."""
    from unknot.runs import records

    name = study.find(start)
    folder = out or Path("runs") / name
    run = study.run(name, device=device)
    run.save(folder)
    scores = [record for record in records.read(study.place(name)[0]) if record.id == name]
    records.append(folder, scores)
    return folder
