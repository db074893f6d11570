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
CONFIGURATION = "configuration"
"""The column that settings share where there is little room."""
LEAST_SCORES = 2
"""Columns of scores for which settings that share a column leave room."""
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
    from unknot.core.files import check_folder, write_whole
    from unknot.studies import export
    from unknot.studies.study import Study

    to_screen = str(csv) == "-"
    if to_screen and (json or parquet):
        raise ConfigError("--csv - prints CSV and nothing else; leave --json and --parquet out.")
    if (csv or parquet) and json:
        raise ConfigError("--json prints the table; leave it out, or --csv and --parquet.")
    for path in filter(None, (None if to_screen else csv, parquet)):
        check_folder(path.parent)
        if path.exists() and path.suffix not in TABLES:
            raise StoreError(f"{path} is there already and is no table; choose another name.")
    if parquet and parquet.suffix != TABLES[-1]:
        raise ConfigError(f"The name of a Parquet file ends in .parquet; got {parquet}.")
    source = Study.open(study)
    rows = source.table(dropped=dropped)
    if csv:
        if to_screen:
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

    Names of columns are short where that is clear, and so are ids and scores. Where not all fit,
    settings share a column, so that scores have room; what does not fit even so is named below.
    """
    from unknot.cli.screen import print_table, say, stdout
    from unknot.core.dotted import is_setting
    from unknot.core.text import shorten
    from unknot.studies.export import setting_value

    brief = [name.removeprefix("objective.") for name in names]
    heads = {n: b if brief.count(b) == 1 else n for n, b in zip(names, brief, strict=True)}
    lines = [
        {head: _short(n, setting_value(row, n)) for n, head in heads.items()}
        for row in rows[:MOST_LINES]
    ]
    columns, fitting = [*heads.values()], _fitting(lines, [*heads.values()], stdout.width)
    settings = [head for name, head in heads.items() if is_setting(name)]
    if len(fitting) < len(columns) and len(settings) > 1 and columns[-1] not in settings:
        texts = [_configuration(line, settings) for line in lines]
        columns = [CONFIGURATION if head == settings[0] else head for head in columns]
        columns = [head for head in columns if head not in settings]
        # Runs have ids, but a table of runs without a score says nothing.
        place = columns.index(CONFIGURATION)
        around = [*columns[:place], *columns[place + 1 : place + 1 + LEAST_SCORES]]
        room = stdout.width - sum(_width(lines, head) + GAP for head in around)
        lines = [
            {**line, CONFIGURATION: shorten(text, max(room, len(CONFIGURATION)))}
            for line, text in zip(lines, texts, strict=True)
        ]
        fitting = _fitting(lines, columns, stdout.width)
    print_table(lines, fitting)
    if left_out := [head for head in columns if head not in fitting]:
        say(f"Not shown, for want of room: {', '.join(left_out)}.")
    if len(rows) > MOST_LINES:
        say(f"... and {len(rows) - MOST_LINES:,} more {what}")


def _fitting(lines: Sequence[Mapping[str, str]], columns: Sequence[str], width: int) -> list[str]:
    """The first columns that fit beside each other, and at least one."""
    ends = itertools.accumulate(_width(lines, head) + GAP for head in columns)
    fitting = [head for head, end in zip(columns, ends, strict=True) if end - GAP <= width]
    return fitting or [*columns[:1]]


def _width(lines: Sequence[Mapping[str, str]], head: str) -> int:
    """Letters of a column."""
    return max(len(head), *(len(line[head]) for line in lines))


def _configuration(line: Mapping[str, str], settings: Sequence[str]) -> str:
    """Settings of a run in one cell: the objective, then names and values of the others."""
    named = [f"{head} {line[head]}" for head in settings if head != "objective" and line[head]]
    return " ".join(filter(None, (line.get("objective", ""), ", ".join(named))))


def _short(name: str, value: Any) -> str:
    """A cell of the terminal: enough of an id to name the run, and three digits of a fraction."""
    from unknot.core.text import cell_text, decimals

    if name == "id":
        return str(value)[:ID_DIGITS]
    if isinstance(value, float) and not value.is_integer():
        return decimals(value) if abs(value) >= LEAST_DECIMAL else cell_text(value)
    return cell_text(value)
