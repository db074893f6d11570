"""CSV tables: rows as text, and text as rows."""

import csv
import io
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unknot.core.border import LONGEST_TEXT, NUMBER, clean_name, parse_number
from unknot.core.errors import DataError
from unknot.core.files import open_file, os_reason, unpack_hint
from unknot.core.text import shown

Rows = Sequence[Mapping[str, Any]]
NAMES = ("id", "population")
"""Columns of names, hexadecimal numbers among them that look like others: 12e456789012."""
MISSING = ("", "None", "NA", "N/A", "n/a")
"""Not "none", which is a setting's own word."""
NO_NUMBER = ("nan", "inf", "-inf", "infinity", "-infinity")
BARE_POINT = re.compile(r"^(-?)\.(?=[0-9])")
"""Before the digits of a number without its zero, as some programs write .5."""
FORMULA = ("=", "+", "-", "@")
"""Beginnings of a cell that a spreadsheet runs as a formula."""
GUARD = "'"
"""Put before such a cell; spreadsheets then show it as text, and `parse_csv` takes it off."""


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
    table.writerow([_guarded(name) for name in names])
    table.writerows([_guarded(plain_cell(row.get(name))) for name in names] for row in rows)
    return text.getvalue()


def plain_cell(value: Any) -> Any:
    """A value as a cell holds it: None where it is not a number, JSON for lists and tables."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return value if value == value else None  # only NaN differs from itself


def _guarded(text: Any) -> Any:
    """A cell that no spreadsheet takes for a formula.

    Example:
        >>> [_guarded(text) for text in ("vae", "=cmd|x", "-0.5", "-x")]
        ['vae', "'=cmd|x", '-0.5', "'-x"]
    """
    if not isinstance(text, str):
        return text
    bare = text.lstrip(GUARD + " \t\r\n")
    return GUARD + text if bare.startswith(FORMULA) and not _is_number(text) else text


def _unguarded(text: str) -> str:
    return text[1:] if text.startswith(GUARD) and _guarded(text[1:]) == text else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_csv(file: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, its cells as text, without the mark that Excel puts first.

    Names of columns lose line breaks and whatever is too long; a warning says which.
    """
    head, rows = read_cells(file)
    try:
        return _named_rows(head, rows)
    except ValueError as error:
        raise DataError(f"Cannot read the table {file}: {error}.") from error


def read_cells(file: Path) -> tuple[list[str], list[list[str]]]:
    """The first line of a CSV file and its other lines, all as text; see `parse_cells`."""
    try:
        with open_file(file) as opened:
            return parse_cells(opened.read().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(
            f"Cannot read the table {file}: it is not text in UTF-8.{unpack_hint(file)}"
        ) from error
    except OSError as error:
        raise DataError(f"Cannot read the table {file}: {os_reason(error)}.") from error
    except ValueError as error:
        raise DataError(f"Cannot read the table {file}: {error}.") from error


def parse_csv(text: str) -> list[dict[str, str]]:
    """The rows of a CSV text, its cells as text; a short row ends with empty cells.

    Raises:
        ValueError: It is no table.
    """
    return _named_rows(*parse_cells(text))


def parse_cells(text: str) -> tuple[list[str], list[list[str]]]:
    r"""The first line of a CSV text and its other lines; empty lines are passed over.

    Columns are parted by commas, semicolons or tabs, whichever the first line has most of.

    Raises:
        ValueError: It is no table.

    Example:
        >>> parse_cells("name;size\nMax;2\n")
        (['name', 'size'], [['Max', '2']])
    """
    csv.field_size_limit(LONGEST_TEXT)
    if "\0" in text:
        raise ValueError("it has a NUL character in it")
    part = max(",;\t", key=text.partition("\n")[0].count)
    try:
        lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=part) if row]
    except csv.Error as error:
        raise ValueError(str(error)) from error
    head, *rows = [[*map(_unguarded, row)] for row in lines] or [[]]
    return head, rows


def _named_rows(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    if any(len(row) > len(head) for row in rows):
        raise ValueError("it has rows that are longer than its first line")
    names = _column_names(head)
    full = [[*row, *[""] * (len(names) - len(row))] for row in rows]
    _refuse_doubles(names, full)
    return [dict(zip(names, row, strict=True)) for row in full]


def _column_names(head: Sequence[str]) -> list[str]:
    names = [clean_name(name) for name in head]
    for old, new in zip(head, names, strict=True):
        if old.strip() != new:
            warnings.warn(f"The column {shown(old)} is read as '{shown(new)}'.", stacklevel=4)
    return names


def _refuse_doubles(names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Refuse columns of one name that differ; one of them would be lost."""
    first: dict[str, int] = {}
    for place, name in enumerate(names):
        start = first.setdefault(name, place)
        if start < place and any(row[start] != row[place] for row in rows):
            which = f"called '{shown(name)}'" if name else "without a name"
            raise ValueError(f"it has different columns {which}; rename or remove all but one")


def read_table(file: Path) -> dict[str, list[Any]]:
    """A CSV file as columns: numbers, truth values and words; None for empty cells.

    Names of runs stay words, whatever they look like.
    """
    if not (rows := read_csv(file)):
        raise DataError(f"The table {file} has no rows.")
    try:
        return {
            name: [(row[name] or None) if name in NAMES else parse_cell(row[name]) for row in rows]
            for name in rows[0]
        }
    except ValueError as error:
        raise DataError(f"Cannot read the table {file}: {error}.") from error


def parse_cell(text: str) -> Any:
    """What a cell of a CSV file holds.

    Raises:
        ValueError: It is a number of more digits than any number needs.

    Example:
        >>> [parse_cell(text) for text in ("", "4", "0.5", "-.5", "True", "none", "nan")]
        [None, 4, 0.5, -0.5, True, 'none', None]
    """
    if text.strip() in MISSING or text.strip().lower() in NO_NUMBER:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    digits = BARE_POINT.sub(r"\g<1>0.", text.strip())
    number = parse_number(digits)
    if number is None and NUMBER.fullmatch(digits):
        return None  # too large for a number, 1e999
    return text if number is None else number
