"""From columns of a user's labels to a table of factors: kinds, levels, gaps, clean names."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from unknot.core.border import clean_name
from unknot.core.errors import ConfigError, DataError
from unknot.core.factor_table import MISSING, FactorTable, Level
from unknot.core.factors import KINDS, Kind
from unknot.core.registry import nearest
from unknot.core.text import shorten, shown

FEW = 20
"""Fractions with more values than this are continuous."""
MOST_LEVELS = 100_000
"""Of a factor that is not continuous."""
LONGEST_NAME = 60
SHOWN = 5
"""Changed names that are listed."""
NO_LABEL = ("", "na", "n/a", "nan", "none", "null")
"""Texts that stand for a missing label, in small letters."""
CLASS_NAMES = re.compile(r"(^|[^a-zA-Z])(?i:id|class|label)$|[a-z](Id|ID|Class|Label)$")
"""Not every name with these last letters: a grid is no class."""


def tabulate(
    columns: Mapping[str, Iterable[Any]], kinds: Mapping[str, str] | None = None
) -> FactorTable:
    """A table of factors from labels: text, numbers, truth values, with gaps.

    Text and truth values are nominal. Whole numbers are ordered, or nominal if the name of the
    column ends in id, class or label. Fractions are ordered, and continuous if there are more than
    20 different ones. A factor is cyclic only if ``kinds`` says so.

    Args:
        columns: By name, all of one length. None, NaN and empty texts are missing labels.
        kinds: Of some factors, where it is not to be inferred.

    Raises:
        DataError: Columns cannot be labels.
        ConfigError: A kind does not exist, or is of no column.

    Example:
        >>> table = tabulate({"person": ["Max", "Ada", None], "size": [1.5, 2, 1.5]})
        >>> table.summary, table.values.tolist()
        ('person (nominal, 2, 1 missing), size (ordered, 2)', [[1, 0], [0, 1], [-1, 0]])
    """
    kinds = kinds or {}
    _check_kinds(kinds, [*columns])
    if not columns:
        raise DataError("There are no labels: the table has no columns.")
    parts = {name: _factor(name, column, kinds.get(name)) for name, column in columns.items()}
    if len({len(values) for _, _, values in parts.values()}) > 1:
        lengths = {name: len(values) for name, (_, _, values) in parts.items()}
        raise DataError(f"Labels need one row per image; got columns of lengths {lengths}.")
    values = torch.from_numpy(np.stack([values for _, _, values in parts.values()], axis=1))
    return FactorTable(
        tuple(parts),
        tuple(kind for kind, _, _ in parts.values()),
        tuple(levels for _, levels, _ in parts.values()),
        values,
    )


def clean_names(names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    r"""Headers of a table as names on one line, not too long, each once; and what was changed.

    Example:
        >>> clean_names(["age", "eye\ncolour", "age"])
        (('age', 'eye colour', 'age 2'), "'eye\\ncolour' is called 'eye colour', ...")
    """
    clean: dict[str, str] = {}  # and what each was called; as a set, it keeps their order
    counts: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        choice = short = clean_name(name)[:LONGEST_NAME].strip() or f"column {number}"
        while choice in clean:
            counts[short] = counts.get(short, 1) + 1
            choice = f"{short} {counts[short]}"
        clean[choice] = name
    changes = [
        f"{shorten(old, LONGEST_NAME)!r} is called {new!r}"
        for new, old in clean.items()
        if old != new
    ]
    more = f" and {len(changes) - SHOWN:,} more" if len(changes) > SHOWN else ""
    return tuple(clean), ", ".join(changes[:SHOWN]) + more


def replace_kinds(table: FactorTable, words: Iterable[str]) -> FactorTable:
    """A table with some of its kinds as people type them."""
    kinds = parse_kinds(words)
    _check_kinds(kinds, table.names)
    chosen = tuple(
        next(k for k in KINDS if k == kinds.get(name, kind))
        for name, kind in zip(table.names, table.kinds, strict=True)
    )
    return replace(table, kinds=chosen)


def parse_kinds(words: Iterable[str]) -> dict[str, str]:
    """Kinds as people type them.

    Example:
        >>> parse_kinds(["angle=cyclic"])
        {'angle': 'cyclic'}
    """
    kinds: dict[str, str] = {}
    for word in words:
        name, equals, kind = (part.strip() for part in word.rpartition("="))
        if not equals or not name:
            raise ConfigError(f"A kind looks like angle=cyclic; got '{word}'.")
        if kinds.setdefault(name, kind) != kind:
            raise ConfigError(f"The kind of '{name}' is given twice, as {kinds[name]} and {kind}.")
    return kinds


def _check_kinds(kinds: Mapping[str, str], names: Sequence[str]) -> None:
    for name, kind in kinds.items():
        if name not in names:
            raise ConfigError(f"There is no label '{name}'{nearest(name, [*names])}")
        if kind not in KINDS:
            raise ConfigError(f"There is no kind '{kind}'{nearest(kind, [*KINDS])}")


def _factor(
    name: str, column: Iterable[Any], kind: str | None
) -> tuple[Kind, tuple[Level, ...], np.ndarray]:
    """Kind, levels and level numbers of a column."""
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise DataError(f"The label '{name}' needs a value for each row; got {shown(column)}.")
    cells = [_cell(cell, name) for cell in column]
    known = [cell for cell in cells if cell is not None]
    if not known:
        raise DataError(f"The label '{name}' is missing in all {len(cells):,} rows; leave it out.")
    texts = any(isinstance(cell, str | bool) for cell in known)
    if texts:  # numbers among words are words
        known = [str(cell) for cell in known]
    levels, numbers = np.unique(np.array(known), return_inverse=True)
    inferred = next(k for k in KINDS if k == (kind or _infer(name, levels)))
    if inferred == "continuous" and texts:
        raise ConfigError(f"The label '{name}' has text and cannot be continuous.")
    if len(levels) > MOST_LEVELS and inferred != "continuous":
        raise DataError(
            f"The label '{name}' has {len(levels):,} different values, more than "
            f"{MOST_LEVELS:,}; leave the column out"
            + ("." if texts else f", or say that it is continuous (--kind '{name}=continuous').")
        )
    values = np.full(len(cells), MISSING, dtype=np.int64)
    values[[cell is not None for cell in cells]] = numbers.reshape(-1)
    return inferred, tuple(levels.tolist()), values


def _infer(name: str, levels: np.ndarray) -> Kind:
    if levels.dtype.kind not in "iuf" or CLASS_NAMES.search(name):
        return "nominal"
    whole = levels.dtype.kind in "iu" or bool((levels == np.round(levels)).all())
    return "ordered" if whole or len(levels) <= FEW else "continuous"


def _cell(cell: Any, name: str) -> str | bool | int | float | None:
    """A label as a plain value; None where it is missing."""
    if cell is np.ma.masked:
        return None
    if hasattr(cell, "item") and not isinstance(cell, str):  # a number of NumPy or PyTorch
        cell = cell.item()
    if isinstance(cell, str):
        text = cell.strip()
        return None if text.lower() in NO_LABEL else text
    if cell is None or isinstance(cell, bool | int):
        return cell
    if isinstance(cell, float):
        if math.isinf(cell):
            raise DataError(f"The label '{name}' has an infinite value; replace it.")
        whole = cell.is_integer() and abs(cell) < 2**53
        return None if math.isnan(cell) else int(cell) if whole else cell
    if type(cell).__name__ in ("NAType", "NaTType"):  # of pandas
        return None
    raise DataError(f"Labels are text or real numbers; '{name}' has {cell!r}.")
