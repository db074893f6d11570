"""Cells: the runs of a study's table that differ in nothing but the seed.

A table (`unknot.analysis.plain_table`) has one row for each run, with columns ``seed``, ``status``,
``diverged``, ``objective``, settings (``objective.beta``, ``data``, ``steps``) and scores. Columns
are settings by the first word of their names; everything else that holds numbers is a score.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from unknot.analysis.plain_table import PlainTable, column, columns, numbers, numeric
from unknot.core.dotted import is_setting
from unknot.core.errors import ConfigError, DataError
from unknot.core.registry import nearest
from unknot.core.text import setting_label, setting_text

NO_SCORES = ("id", "seed", "status", "diverged", "seconds", "member", "population", "version")
"""Columns that say what became of a run."""
FINISHED = ("done", "diverged")

Columns = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Cell:
    """Runs that differ in nothing but the seed."""

    objective: str
    strength: float | str
    """What tells it from the objective's other cells: a number where one setting does."""
    axis: str
    """The setting that strength is a value of; empty where there is none, or more than one."""
    settings: dict[str, Any]
    runs: Columns
    data: str = ""

    @property
    def label(self) -> str:
        """Objective and strength, for people.

        Example:
            >>> Cell("beta_vae", 16.0, "objective.beta", {}, {}).label
            'beta_vae beta 16'
        """
        words = [self.objective, setting_label(self.axis), setting_text(self.strength)]
        return " ".join(word for word in words if word)

    @property
    def key(self) -> str:
        """Its settings as one text, the same on every machine."""
        return json.dumps(self.settings, sort_keys=True, default=str)


@dataclass(frozen=True, eq=False)
class Taken:
    """What a cell has of one score, and what is missing of it and why."""

    values: Float[np.ndarray, " n"]
    """Of runs that ended well and have the score, in the order of the table."""
    runs: int
    diverged: int
    undefined: int
    """Ended well but have no number."""
    unfinished: int
    """Failed, or not yet there."""


def cells(table: PlainTable) -> list[Cell]:
    """Runs by their settings: data and objectives as they appear, each by strength, smallest first.

    Of the settings that differ among an objective's cells on one dataset, one may decide the others
    (``lambda_d = 10 lambda_od``); the first such is the strength. Where none does, strength is a
    text of all.

    Raises:
        ConfigError: The table has no column ``objective``.

    Example:
        >>> rows = [{"objective": "vae", "seed": s, "mig": 0.1 * s} for s in range(3)]
        >>> [(cell.label, cell.runs["seed"]) for cell in cells(rows)]
        [('vae', [0, 1, 2])]
    """
    given = plain_columns(table)
    objectives = [str(name) for name in column(given, "objective")]
    names = setting_names(given)
    keys = list(zip(*(map(hashable, given[name]) for name in names), strict=True))
    rows: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(keys):
        rows.setdefault(key, []).append(i)
    data = [str(name) for name in given.get("data", [""] * len(objectives))]
    together: dict[tuple[str, str], list[list[int]]] = {}
    for index in rows.values():
        together.setdefault((data[index[0]], objectives[index[0]]), []).append(index)
    found = []
    for (where, objective), groups in together.items():
        varying = [n for n in names if len({hashable(given[n][i[0]]) for i in groups}) > 1]
        axis = next((n for n in varying if _decides(given[n], groups)), "")
        own = []
        for index in groups:
            settings = {n: given[n][index[0]] for n in names if given[n][index[0]] is not None}
            runs = {name: [held[i] for i in index] for name, held in given.items()}
            strength = _strength(settings, axis, varying)
            own.append(Cell(objective, strength, axis, settings, runs, where))
        found += sorted(own, key=_order)
    return found


def plain_columns(table: PlainTable) -> Columns:
    """Columns by name; a setting that is a table of its own becomes one column for each entry."""
    given = columns(table)
    if "objective" not in given and "objective.name" in given:
        given["objective"] = given.pop("objective.name")
    for name in [n for n, held in given.items() if any(isinstance(c, Mapping) for c in held)]:
        held = given.pop(name)
        inner = dict.fromkeys(key for c in held if isinstance(c, Mapping) for key in c)
        given[name] = [None if isinstance(c, Mapping) else c for c in held]
        for key in inner:
            given[f"{name}.{key}"] = [c.get(key) if isinstance(c, Mapping) else None for c in held]
        if all(c is None for c in given[name]):
            del given[name]
    return given


def setting_names(given: Columns) -> list[str]:
    """Names of the columns that are settings, the objective's first."""
    own = [name for name in given if is_setting(name)]
    return sorted(own, key=lambda name: not name.startswith("objective"))


def score_names(given: Columns) -> list[str]:
    """Names of the columns that hold scores."""
    left = set(setting_names(given)) | set(NO_SCORES)
    return [name for name in numeric(given) if name not in left]


def chosen_scores(given: Columns, scores: Sequence[str] | None) -> list[str]:
    """The scores asked for, or all there are.

    Raises:
        ConfigError: There is no such column, or no score at all.
    """
    if scores is None:
        scores = score_names(given)
        if not scores:
            raise ConfigError(f"The table has no scores; its columns are {', '.join(given)}.")
    for name in scores:
        column(given, name)
    return list(scores)


def has_diverged(given: Columns) -> list[bool]:
    """Whether each run diverged: by its status, or by a mark of its own."""
    n = len(next(iter(given.values())))
    marks = given.get("diverged", [None] * n)
    states = given.get("status", [None] * n)
    return [
        state == "diverged" or (mark is not None and mark == mark and bool(mark))
        for mark, state in zip(marks, states, strict=True)
    ]


def converged(table: PlainTable) -> tuple[Columns, int]:
    """The table without the runs that diverged, and how many those were.

    Raises:
        DataError: All did.
    """
    given = plain_columns(table)
    gone = has_diverged(given)
    if all(gone):
        raise DataError(f"All {len(gone)} runs of the table diverged.")
    kept = {
        name: [c for c, out in zip(held, gone, strict=True) if not out]
        for name, held in given.items()
    }
    return kept, sum(gone)


def taken(runs: Columns, score: str) -> Taken:
    """The values of a score, and how many runs have none for which reason."""
    values = numbers(runs, score)
    gone = np.array(has_diverged(runs), dtype=bool)
    states = runs.get("status", [None] * len(values))
    ended = np.array([state is None or state in FINISHED for state in states], dtype=bool)
    there = ended & ~gone
    known = there & ~np.isnan(values)
    return Taken(
        values[known],
        len(values),
        int(gone.sum()),
        int((there & ~known).sum()),
        int((~ended & ~gone).sum()),
    )


def pick(table: PlainTable, settings: Mapping[str, Any]) -> Columns:
    """The runs of certain settings.

    Raises:
        ConfigError: There is no such setting, or no such run.

    Example:
        >>> table = {"objective": ["vae", "ae"], "mig": [0.1, 0.2]}
        >>> pick(table, {"objective": "ae"})["mig"]
        [0.2]
    """
    given = plain_columns(table)
    for name in settings:
        if name not in given:
            raise ConfigError(f"The table has no setting '{name}'{nearest(name, list(given))}")
    wanted = [
        all(given[name][i] == value for name, value in settings.items())
        for i in range(len(next(iter(given.values()))))
    ]
    if not any(wanted):
        said = ", ".join(f"{name} {setting_text(value)}" for name, value in settings.items())
        raise ConfigError(f"The table has no run with {said}.")
    return {
        name: [c for c, own in zip(held, wanted, strict=True) if own]
        for name, held in given.items()
    }


def hashable(value: Any) -> Any:  # noqa: ANN401 - a setting of any kind
    """A setting as a key of a dictionary; NaN is the same as none.

    Example:
        >>> hashable([{"kind": "within"}]), hashable(float("nan"))
        ('[{"kind": "within"}]', None)
    """
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, sort_keys=True, default=str)
    return value


def _strength(settings: dict[str, Any], axis: str, varying: list[str]) -> float | str:
    if not axis:
        return ", ".join(f"{setting_label(n)} {setting_text(settings.get(n))}" for n in varying)
    held = settings.get(axis)
    number = isinstance(held, int | float) and not isinstance(held, bool)
    return float(held) if number else setting_text(held)  # type: ignore[arg-type]


def _decides(held: list[Any], groups: list[list[int]]) -> bool:
    return len({hashable(held[index[0]]) for index in groups}) == len(groups)


def _order(cell: Cell) -> tuple[bool, float]:
    """Smallest first; texts after numbers, as they are first met."""
    return (False, cell.strength) if isinstance(cell.strength, float) else (True, 0.0)
