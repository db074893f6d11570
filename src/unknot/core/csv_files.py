"""CSV tables: rows as text, and text as rows."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unknot.core.errors import DataError

Rows = Sequence[Mapping[str, Any]]
NAMES = ("id", "population")
"""Columns of names, hexadecimal numbers among them that look like others: 12e456789012."""
MISSING = ("", "None", "NA", "N/A", "n/a")
"""Not "none", which is a setting's own word."""
NO_NUMBER = ("nan", "inf", "-inf", "infinity", "-infinity")


def columns(rows: Rows) -> list[str]:
    """Names of all columns, in the order in which rows have them."""
    return [*dict.fromkeys(name for row in rows for name in row)]


def csv_text(rows: Rows, names: Sequence[str] | None = None) -> str:
    r"""Rows as a CSV text: nothing for what is missing, None or not a number; JSON for lists.

    Args:
        rows: By the name of the column.
        names: Of the columns; those that rows have unless given.

    Example:
        >>> csv_text([{"seed": 0, "mig": 0.5}, {"seed": 1, "weights": [1, 2]}])
        'seed,mig,weights\n0,0.5,\n1,,"[1, 2]"\n'
    """
    names = columns(rows) if names is None else names
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(names)
    table.writerows([plain_cell(row.get(name)) for name in names] for row in rows)
    return text.getvalue()


def plain_cell(value: Any) -> Any:
    """A value as a cell holds it: None where it is not a number, JSON for lists and tables."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return value if value == value else None  # only NaN differs from itself


def read_csv(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, its cells as text, without the mark that Excel puts first."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            return parse_csv(opened.read())
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DataError(f"Cannot read the table {file}: {error}.") from error


def parse_csv(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text, its cells as text; a short row ends with empty cells."""
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), restval=""))
    except csv.Error as error:
        raise ValueError(str(error)) from error
    if any(None in row for row in rows):
        raise ValueError("it has rows that are longer than its first line")
    return rows


def read_table(file: Path) -> dict[str, list[Any]]:
    """A CSV file as columns: numbers, truth values and words; None for empty cells.

    Names of runs stay words, whatever they look like.
    """
    if not (rows := read_csv(file)):
        raise DataError(f"The table {file} has no rows.")
    return {
        name: [(row[name] or None) if name in NAMES else parse_cell(row[name]) for row in rows]
        for name in rows[0]
    }


def parse_cell(text: str) -> Any:
    """What a cell of a CSV file holds.

    Example:
        >>> [parse_cell(text) for text in ("", "4", "0.5", "True", "none", "nan")]
        [None, 4, 0.5, True, 'none', None]
    """
    if text.strip() in MISSING or text.strip().lower() in NO_NUMBER:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        number = json.loads(text)
    except ValueError:
        return text
    return number if isinstance(number, int | float) else text
