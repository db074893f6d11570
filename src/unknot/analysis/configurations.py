"""Configurations: the runs of a table that differ in nothing but the seed.

A table (`unknot.analysis.plain_table`) has one row for each run, with columns ``seed``, ``status``,
``diverged``, ``objective``, settings (``objective.beta``, ``data``, ``steps``) and scores. Where
nobody says which columns are settings, their names decide (`unknot.core.dotted.is_setting`);
everything else that holds numbers is a score.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any, TypeGuard

import numpy as np
from jaxtyping import Float

from unknot.analysis.plain_table import PlainTable, column, columns, keep, numbers, numeric
from unknot.core.dotted import is_setting
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.core.text import setting_label, setting_text

FACTS = (
    "id", "seed", "status", "diverged", "seconds", "member", "population", "version", "contrast",
)  # fmt: skip
"""Columns that say what became of a run."""
FINISHED = ("done", "diverged")

Columns = dict[str, list[Any]]


@dataclass(frozen=True, eq=False)
class Sample:
    """What some runs have of one score, and what is missing of it and why."""

    values: Float[np.ndarray, " n"]
    """Of runs that finished and have the score, in the order of the table."""
    seeds: tuple[Any, ...]
    """Of the same runs; None where the table has none."""
    runs: int
    diverged: int
    undefined: int
    """Finished but have no number."""
    unfinished: int
    """Failed, or not yet there."""

    @property
    def missing(self) -> int:
        """Runs without a value."""
        return self.runs - len(self.values)


@dataclass(eq=False)
class Configuration:
    """Runs that differ in nothing but the seed; remembers the samples it was asked for."""

    objective: str
    swept_value: float | str
    """What tells it from the objective's others; a number where one setting does."""
    axis: str
    """The setting that this is a value of; empty where there is none, or more than one."""
    settings: dict[str, Any]
    runs: Columns
    data: str = ""
    _samples: dict[str, Sample] = field(default_factory=dict, repr=False)

    @property
    def label(self) -> str:
        """Objective and swept value, for people.

        Example:
            >>> Configuration("beta_vae", 16.0, "objective.beta", {}, {}).label
            'beta_vae beta 16'
        """
        words = [self.objective, setting_label(self.axis), setting_text(self.swept_value)]
        return " ".join(word for word in words if word)

    @property
    def key(self) -> str:
        """Its settings as one text, the same on every machine."""
        return json.dumps(self.settings, sort_keys=True, default=str)

    @property
    def size(self) -> int:
        """How many runs it has, whatever became of them."""
        return len(self.runs["objective"])

    def sample(self, score: str) -> Sample:
        """The values of a score, and how many runs have none for which reason.

        Raises:
            ConfigError: There is no such column.
            DataError: It holds something else than numbers.
        """
        if score not in self._samples:
            self._samples[score] = sample(self.runs, score)
        return self._samples[score]

    def has(self, *scores: str) -> bool:
        """Whether it has values of all these scores."""
        return all(s in self.runs and len(self.sample(s).values) for s in scores)


def configurations(table: Columns, settings: Sequence[str]) -> list[Configuration]:
    """Runs by their settings: data and objectives as they appear, each by swept value.

    Of the settings that differ among an objective's configurations on one dataset, one may decide
    the others (``lambda_d = 10 lambda_od``); the first such is the axis. Where none does, the swept
    value is a text of all.

    Args:
        table: Columns, from `plain_columns`.
        settings: Names of those that are settings.

    Raises:
        ConfigError: The table has no column ``objective``.
    """
    objectives = [str(name) for name in column(table, "objective")]
    keys = list(zip(*(map(hashable, table[name]) for name in settings), strict=True))
    rows: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(keys):
        rows.setdefault(key, []).append(i)
    data = [str(name) for name in table.get("data", [""] * len(objectives))]
    together: dict[tuple[str, str], list[list[int]]] = {}
    for index in rows.values():
        together.setdefault((data[index[0]], objectives[index[0]]), []).append(index)
    result = []
    for (where, objective), groups in together.items():
        counts = {n: len({hashable(table[n][index[0]]) for index in groups}) for n in settings}
        varying = [n for n, count in counts.items() if count > 1]
        axis = next((n for n in varying if counts[n] == len(groups)), "")
        telling = _without_repeats({n: [table[n][i] for i, *_ in groups] for n in varying})
        group = []
        for index in groups:
            values = {n: table[n][index[0]] for n in settings if table[n][index[0]] is not None}
            runs = {name: [entries[i] for i in index] for name, entries in table.items()}
            value = _swept_value(values, axis, telling)
            group.append(Configuration(objective, value, axis, values, runs, where))
        result += sorted(group, key=_order)
    return result


def plain_columns(table: PlainTable) -> Columns:
    """Columns by name; a setting that is a table of its own becomes one column for each entry.

    A setting that is a value in some runs and a table in others has the kind of the table there.

    Example:
        >>> plain_columns({"net.x": [5, {"kind": "linear"}]})
        {'net.x': [5, 'linear'], 'net.x.kind': [None, 'linear']}
    """
    plain = columns(table)
    if "objective" not in plain and "objective.name" in plain:
        plain["objective"] = plain.pop("objective.name")
    for name in [n for n, values in plain.items() if any(isinstance(v, Mapping) for v in values)]:
        values = plain.pop(name)
        inner = dict.fromkeys(key for v in values if isinstance(v, Mapping) for key in v)
        plain[name] = [None if isinstance(v, Mapping) else v for v in values]
        for key in inner:
            entries = [v.get(key) if isinstance(v, Mapping) else None for v in values]
            plain[f"{name}.{key}"] = entries
        if all(v is None for v in plain[name]):
            del plain[name]
    for name in [n for n in plain if f"{n}.kind" in plain]:
        pairs = zip(plain[name], plain[f"{name}.kind"], strict=True)
        plain[name] = [kind if hashable(value) is None else value for value, kind in pairs]
    return plain


def repeated_seed(table: Columns, settings: Sequence[str]) -> tuple[int, int] | None:
    """The row of a run whose seed its configuration has already, and how often; None if no seed is.

    Runs that differ in nothing but the seed cannot share one: a setting is not known as such.

    Example:
        >>> table = {"objective": ["vae", "vae"], "seed": [0, 0], "beta": [1, 4]}
        >>> repeated_seed(table, ["objective"]), repeated_seed(table, ["objective", "beta"])
        ((1, 2), None)
    """
    seeds = table.get("seed")
    if not seeds or not settings:
        return None
    rows: dict[tuple[Any, ...], list[int]] = {}
    for i, key in enumerate(zip(seeds, *(table[name] for name in settings), strict=True)):
        if key[0] is not None:
            rows.setdefault(tuple(map(hashable, key)), []).append(i)
    return next(((index[1], len(index)) for index in rows.values() if len(index) > 1), None)


def setting_names(table: Columns) -> list[str]:
    """Names of the columns that are settings, by their first words; the objective's first."""
    return objective_first(name for name in table if is_setting(name))


def objective_first(names: Iterable[str]) -> list[str]:
    """Names of settings, each once, those of the objective before others."""
    return sorted(dict.fromkeys(names), key=lambda name: not name.startswith("objective"))


def score_names(table: Columns, settings: Sequence[str]) -> list[str]:
    """Names of the columns that hold scores, or values that training logged."""
    return [name for name in numeric(table) if name not in settings and name not in FACTS]


def has_diverged(runs: Columns) -> list[bool]:
    """Whether each run diverged: by its status, or by a mark of its own."""
    n = len(next(iter(runs.values())))
    marks = runs.get("diverged", [None] * n)
    states = runs.get("status", [None] * n)
    return [
        state == "diverged" or (mark is not None and mark == mark and bool(mark))
        for mark, state in zip(marks, states, strict=True)
    ]


def sample(runs: Columns, score: str) -> Sample:
    """The values of a score, and how many runs have none for which reason."""
    values = numbers(runs, score)
    gone = np.array(has_diverged(runs), dtype=bool)
    states = runs.get("status", [None] * len(values))
    ended = np.array([state is None or state in FINISHED for state in states], dtype=bool)
    there = ended & ~gone
    scored = there & ~np.isnan(values)
    return Sample(
        values[scored],
        tuple(compress(runs.get("seed", [None] * len(values)), scored)),
        len(values),
        int(gone.sum()),
        int((there & ~scored).sum()),
        int((~ended & ~gone).sum()),
    )


def pick(table: Columns, settings: Mapping[str, Any]) -> Columns:
    """The runs of certain settings.

    Raises:
        ConfigError: There is no such setting, or no such run.

    Example:
        >>> table = {"objective": ["vae", "ae"], "mig": [0.1, 0.2]}
        >>> pick(table, {"objective": "ae"})["mig"]
        [0.2]
    """
    for name in settings:
        if name not in table:
            raise ConfigError(f"The table has no setting '{name}'{nearest(name, list(table))}")
    rows = [
        all(table[name][i] == value for name, value in settings.items())
        for i in range(len(next(iter(table.values()))))
    ]
    if not any(rows):
        text = ", ".join(f"{name} {setting_text(value)}" for name, value in settings.items())
        raise ConfigError(f"The table has no run with {text}.")
    return keep(table, rows)


def hashable(value: Any) -> Any:
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


def _without_repeats(varying: Columns) -> list[str]:
    """Names of settings, without entries of a table that the table's kind, or another, decides.

    Example:
        >>> rows = {"net.x": ["p", "q", "q"], "net.x.r": [None, 1, 1], "net.x.k": [None, 1, 2]}
        >>> _without_repeats(rows)
        ['net.x', 'net.x.k']
    """
    telling: list[str] = []
    for name, values in varying.items():
        table = name.rpartition(".")[0]
        near = [n for n in telling if n == table or n.rpartition(".")[0] == table]
        entries = [*map(hashable, values)]
        repeats = any(
            len({*zip(map(hashable, varying[n]), entries, strict=True)})
            == len({*map(hashable, varying[n])})
            for n in near
            if table.count(".")
        )
        if not repeats:
            telling.append(name)
    return telling


def _swept_value(settings: dict[str, Any], axis: str, varying: list[str]) -> float | str:
    if not axis:
        named = [n for n in varying if n in settings]
        return ", ".join(f"{setting_label(n)} {setting_text(settings[n])}" for n in named)
    value = settings.get(axis)
    return float(value) if is_number(value) else setting_text(value)


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether it is a number, and no truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _order(configuration: Configuration) -> tuple[bool, float]:
    """Smallest first; texts after numbers, as they are first met."""
    return (
        (False, configuration.swept_value)
        if isinstance(configuration.swept_value, float)
        else (True, 0.0)
    )
