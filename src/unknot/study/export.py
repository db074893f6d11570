"""What leaves a study: its table as a file, one model as a run folder."""

import csv as tables
import importlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unknot.core.errors import ConfigError
from unknot.core.files import atomic_path, write_whole
from unknot.study.study import Study

Rows = Sequence[Mapping[str, Any]]
ALWAYS = ("id", "seed", "status")
SETTINGS = (
    "data",
    "net",
    "objective",
    "draw",
    "optim",
    "steps",
    "batch",
    "precision",
    "order_seed",
)
"""First words of columns that are settings."""
LOGGED = ("loss", "recon", "kl")
"""Shown where there are no scores."""


def columns(rows: Rows) -> list[str]:
    """Names of all columns, in the order in which rows have them."""
    return [*dict.fromkeys(name for row in rows for name in row)]


def varied(rows: Rows) -> list[str]:
    """Names of the settings of which rows have different values.

    Example:
        >>> varied([{"objective": "vae"}, {"objective": "beta_vae", "objective.beta": 4}])
        ['objective']
    """
    settings = [name for name in columns(rows) if name.partition(".")[0] in SETTINGS]
    return [n for n in settings if len({str(row[n]) for row in rows if n in row}) > 1]


def telling(rows: Rows, scores: Sequence[str]) -> list[str]:
    """Names of the columns that people look at first: settings that differ, and scores."""
    logged = [name for name in LOGGED if any(name in row for row in rows)]
    return [*ALWAYS, *varied(rows), *(scores or logged)]


def csv(rows: Rows) -> str:
    """As CSV: nothing for what a row does not have, JSON for lists."""
    text = io.StringIO()
    names = columns(rows)
    table = tables.writer(text, lineterminator="\n")
    table.writerow(names)
    table.writerows([_plain(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


def _plain(value: Any) -> Any:  # noqa: ANN401
    return json.dumps(value) if isinstance(value, list | dict) else value


def write_csv(rows: Rows, path: Path) -> None:
    """Write a CSV file.

    Raises:
        WriteError: It could not be written.
    """
    write_whole(path, csv(rows))


def write_parquet(rows: Rows, path: Path) -> None:
    """Write a Parquet file.

    Raises:
        ConfigError: pyarrow is not installed.
        WriteError: It could not be written.
    """
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ConfigError(
            "Parquet needs pyarrow: pip install 'unknot[parquet]', or use --csv."
        ) from error
    held = {}
    for name in columns(rows):
        column = [_plain(row.get(name)) for row in rows]
        kinds = {type(value) for value in column if value is not None}
        if len(kinds - {int, float}) and len(kinds) > 1:  # a number here, a word there
            column = [None if value is None else str(value) for value in column]
        held[name] = column
    with atomic_path(path) as part:
        parquet.write_table(arrow.table(held), part)


def extract(study: Study, start: str, out: Path | None = None, *, device: str = "auto") -> Path:
    """Write one model as a run folder of its own, with its scores.

    Raises:
        StoreError: There is no such run, it is not trained yet, or the folder is not empty.
        WriteError: It could not be written.
    """
    from unknot.study import records

    name = study.find(start)
    folder = out or Path("runs") / name
    run = study.run(name, device=device)
    run.save(folder)
    own = [record for record in records.read(study.place(name)[0]) if record.id == name]
    records.append(folder, own)
    return folder
