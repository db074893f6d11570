"""``unknot study table``: one row per run."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unknot.cli.options import Json, StudyArgument, parse_path

TABLES = (".csv", ".tsv", ".txt", ".parquet")
"""Endings of files that may be written again."""
GAP = 2
"""Spaces between columns."""
ID_DIGITS = 6
"""Of an id: enough to tell runs apart, and for `unknot study extract`."""
LEAST_DECIMAL = 0.001
"""Smaller numbers, such as learning rates, keep their digits."""
MOST_LINES = 40
"""Of a table for people; files and --json have all."""


def table(
    study: StudyArgument,
    csv: Annotated[
        Path | None,
        typer.Option(help="Write CSV to this file (- for stdout).", parser=parse_path),
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(help="Write Parquet to this file (needs unknot[parquet]).", parser=parse_path),
    ] = None,
    dropped: Annotated[
        bool, typer.Option("--dropped", help="Include runs that the study file no longer contains.")
    ] = False,
    json: Json = False,
) -> None:
    """Print one row per run: settings, status and scores.

    Example: `unknot study table studies/betas --csv betas.csv`
    """
    from unknot.cli.screen import print_json, say
    from unknot.core.csv_files import csv_text
    from unknot.core.errors import ConfigError, StoreError
    from unknot.core.files import write_whole
    from unknot.studies import export
    from unknot.studies.study import Study

    for path in filter(None, (csv, parquet)):
        if path.exists() and path.suffix not in TABLES:
            raise StoreError(f"{path} is there already and is no table; choose another name.")
    if parquet and parquet.suffix in TABLES[:-1]:
        raise ConfigError(f"The name of a Parquet file ends in .parquet; got {parquet}.")
    source = Study.open(study)
    rows = source.table(dropped=dropped)
    if csv:
        if str(csv) == "-":
            typer.echo(csv_text(rows), nl=False)
            return
        write_whole(csv, csv_text(rows))
    if parquet:
        export.write_parquet(rows, parquet)
    if csv or parquet:
        say(f"{len(rows):,} runs in {', '.join(str(path) for path in (csv, parquet) if path)}")
    elif json:
        print_json(rows)
    else:
        print_short(
            export.headline_columns(rows, source.scores()),
            rows,
            "runs; use --csv FILE or --json for all",
        )


def print_short(names: Sequence[str], rows: Sequence[Mapping[str, Any]], what: str) -> None:
    """The first lines of a table, with as many columns as the terminal has room for.

    Names of columns are short where that is clear, and so are ids and scores. Columns that do not
    fit are named below.
    """
    from unknot.cli.screen import print_table, say, stdout
    from unknot.studies.export import setting_value

    brief = [name.removeprefix("objective.") for name in names]
    heads = {n: b if brief.count(b) == 1 else n for n, b in zip(names, brief, strict=True)}
    lines = [
        {head: _short(n, setting_value(row, n)) for n, head in heads.items()}
        for row in rows[:MOST_LINES]
    ]
    widths = {head: max(len(head), *(len(line[head]) for line in lines)) for head in heads.values()}
    ends = itertools.accumulate(width + GAP for width in widths.values())
    fitting = [head for head, end in zip(widths, ends, strict=True) if end - GAP <= stdout.width]
    print_table(lines, fitting or [*widths][:1])
    if left_out := [head for head in widths if head not in fitting]:
        say(f"Not shown, for want of room: {', '.join(left_out)}.")
    if len(rows) > MOST_LINES:
        say(f"... and {len(rows) - MOST_LINES:,} more {what}")


def _short(name: str, value: Any) -> str:
    """A cell of the terminal: enough of an id to name the run, and three digits of a fraction."""
    from unknot.core.text import cell_text, decimals

    if name == "id":
        return str(value)[:ID_DIGITS]
    if isinstance(value, float) and not value.is_integer():
        return decimals(value) if abs(value) >= LEAST_DECIMAL else cell_text(value)
    return cell_text(value)
