"""Runs that meet a condition, and columns of a study that are computed when they are asked for."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

import numpy as np

from unknot.analysis import Results
from unknot.analysis.configurations import Columns
from unknot.analysis.plain_table import numbers, numeric
from unknot.core.errors import ConfigError, DataError
from unknot.core.registry import nearest
from unknot.core.text import number
from unknot.studies.study import Study

LOWEST = "recon.lowest"
"""The smallest reconstruction loss that a run logged, of a single batch."""
CONDITION = re.compile(r"\s*([^<>=\s]+)\s*(<=|>=|<|>)\s*(\S+)\s*")
COMPARE: Mapping[str, Callable[[Any, float], Any]] = {"<=": le, ">=": ge, "<": lt, ">": gt}


def with_lowest(study: Study, table: Columns) -> Columns:
    """A study's table with the smallest reconstruction loss over the steps of each run.

    Runs without curves, or that did not log it, have none.
    """
    from unknot.runs.folder import RunFolder

    logged: dict[Any, np.ndarray] = {}
    lowest: list[float | None] = []
    for population, member, status in zip(
        table["population"], table["member"], table["status"], strict=True
    ):
        if status != "done":
            lowest.append(None)
            continue
        if population not in logged:
            curves = RunFolder(study.store.place(population)).curves()
            there = "recon" in curves.values and curves.steps
            logged[population] = curves["recon"].numpy() if there else np.empty((0, 0))
        values = logged[population]
        lowest.append(float(np.nanmin(values[:, member])) if values.size else None)
    return {**table, LOWEST: lowest}


def asks_for_lowest(scores: Iterable[str], conditions: Iterable[str]) -> bool:
    """Whether a score or a condition names it."""
    return LOWEST in scores or any(_parse(text)[0] == LOWEST for text in conditions)


def runs_where(results: Results, conditions: Sequence[str]) -> tuple[Results, list[str]]:
    """The runs that meet all conditions, and a sentence on how many do not.

    A run without the number does not meet a condition.

    Args:
        results: The runs.
        conditions: Such as ``recon<50`` or ``mig >= 0.1``, of columns of numbers.

    Example:
        >>> runs = Results({"objective": ["vae"] * 3, "recon": [10.0, 80.0, None]}, ["recon"])
        >>> kept, notes = runs_where(runs, ["recon<50"])
        >>> kept.table["recon"], notes
        ([10.0], ['Only runs with recon<50 are shown: 1 of 3.'])
    """
    if not conditions:
        return results, []
    count = len(results.table["objective"])
    rows = np.ones(count, dtype=bool)
    spans: dict[str, str] = {}
    for text in conditions:
        name, sign, limit = _parse(text)
        if name not in (columns := numeric(results.table)):
            raise ConfigError(f"There is no column of numbers '{name}'{nearest(name, columns)}")
        values = numbers(results.table, name)
        rows &= COMPARE[sign](values, limit)  # NaN is neither
        if (there := values[np.isfinite(values)]).size:
            spans[name] = f"{name} is {number(there.min())} to {number(there.max())}"
    words = " and ".join(conditions)
    if not rows.any():
        ends = f": {', '.join(spans.values())}" if spans else ""
        raise DataError(f"None of {count} runs has {words}{ends}.")
    note = f"Only runs with {words} are shown: {int(rows.sum()):,} of {count:,}."
    return results.where(rows.tolist()), [note]


def _parse(text: str) -> tuple[str, str, float]:
    match = CONDITION.fullmatch(text)
    try:
        if match:
            return match[1], match[2], float(match[3])
    except ValueError:
        pass
    raise ConfigError(f"A condition on runs looks like recon<50 or mig>=0.1; got '{text}'.")
