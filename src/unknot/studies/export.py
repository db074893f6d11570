"""What leaves a study: its table as a file, one model as a run folder."""

import importlib
from collections.abc import Sequence
from pathlib import Path

from unknot.core.csv_files import Rows, columns, plain_cell
from unknot.core.dotted import is_setting
from unknot.core.errors import ConfigError
from unknot.core.files import atomic_path
from unknot.studies.study import Study

ALWAYS = ("id", "seed", "status")
LOGGED = ("loss", "recon", "kl")
"""Shown where there are no scores."""


def varying_settings(rows: Rows) -> list[str]:
    """Names of the settings of which rows have different values.

    Example:
        >>> varying_settings([{"objective": "vae"}, {"objective": "beta_vae", "objective.beta": 4}])
        ['objective']
    """
    settings = [name for name in columns(rows) if is_setting(name)]
    return [n for n in settings if len({str(row[n]) for row in rows if n in row}) > 1]


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
