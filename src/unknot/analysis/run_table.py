"""A table of runs with what its columns are, and parts of it."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from unknot.analysis.configurations import (
    Columns,
    Configuration,
    configurations,
    has_diverged,
    hashable,
    objective_first,
    plain_columns,
    sample,
    score_names,
    setting_names,
)
from unknot.analysis.intervals import LEVEL, NO_BOUNDS, Bounds, kept_bounds
from unknot.analysis.lines import Line, setting_lines
from unknot.analysis.plain_table import PlainTable, column, keep, numbers, split_table
from unknot.analysis.statistics import DRAWS
from unknot.core.errors import ConfigError, DataError
from unknot.core.text import shown
from unknot.core.typed import typed

DIFFERENT_LOSSES = "a loss of different objectives or weights is not the same function"

Kind = TypeVar("Kind", bound="RunTable")
"""The class of a table; tests check types method by method, which `typing.Self` does not allow."""


class RunTable:
    """The runs of a table: which columns are scores and settings, and the runs of a dataset.

    `unknot.analysis.Results` has the arguments and what is computed of the runs.
    """

    @typed("scores", "settings", "level", "draws", "seed")
    def __init__(
        self,
        table: PlainTable,
        scores: Sequence[str] | None = None,
        *,
        settings: Sequence[str] | None = None,
        others: Sequence[str] = (),
        lower: Iterable[str] = (),
        losses: Iterable[str] = (),
        silent: Mapping[str, str] | None = None,
        bounds: Mapping[str, Bounds] | None = None,
        cost: str = "recon",
        level: float = LEVEL,
        draws: int = DRAWS,
        seed: int = 0,
    ) -> None:
        if not 0 < level < 1:
            raise ConfigError(f"level is a probability such as 0.95; got {level}.")
        self.table = plain_columns(table)
        self.settings = setting_names(self.table)
        if settings is not None:
            names = set(settings)
            self.settings = objective_first(name for name in self.table if name in names)
        self.lower, self.losses = frozenset(lower), frozenset(losses)
        self.silent = dict(silent or {})
        self._bounds = {
            name: kept_bounds(sample(self.table, name).values, of_column)
            for name, of_column in (bounds or {}).items()
            if name in self.table
        }
        self.cost, self.level, self.draws, self.seed = cost, level, draws, seed
        self.others = [name for name in others if name in self.table]
        self._scores = None if scores is None else self.choose(scores)

    @cached_property
    def scores(self) -> list[str]:
        """Names of the columns that are compared.

        Raises:
            ConfigError: None was given, and the table has none.
        """
        if self._scores is not None:
            return self._scores
        names = score_names(self.table, self.settings)
        if not names:
            raise ConfigError(f"The table has no scores; its columns are {', '.join(self.table)}.")
        return names

    @cached_property
    def unranked(self) -> dict[str, str]:
        """Columns by which no configuration is called best, and why.

        Losses are functions of the objective and its weights: where these differ, so do they.
        """
        objectives = {
            tuple((n, hashable(v)) for n, v in c.settings.items() if n.startswith("objective"))
            for c in self.configurations
        }
        different = self.losses if len(objectives) > 1 else ()
        return {**dict.fromkeys(different, DIFFERENT_LOSSES), **self.silent}

    @property
    def ranked(self) -> list[str]:
        """The scores by which configurations are compared."""
        return [score for score in self.scores if score not in self.unranked]

    def marked(self: Kind, **columns: Sequence[Any]) -> Kind:
        """The same results with further columns."""
        return self._part({**self.table, **{name: list(v) for name, v in columns.items()}})

    @property
    def panels(self) -> list[str]:
        """The scores, and the cost where runs have it."""
        cost = [self.cost] if self.cost not in self.scores and self.has(self.cost) else []
        return [*self.scores, *cost]

    @typed()
    def choose(self, scores: Sequence[str] | None) -> list[str]:
        """The columns asked for, or all scores.

        Raises:
            ConfigError: There is no such column, or no score at all.
        """
        if scores is None:
            return self.scores
        for name in scores:
            column(self.table, name)
        return list(scores)

    @typed()
    def sign(self, score: str) -> float:
        """-1 where lower is better, else 1."""
        return -1.0 if score in self.lower else 1.0

    @typed()
    def bounds(self, score: str) -> Bounds:
        """The smallest and the largest value that a score can have; None where there is no such."""
        return self._bounds.get(score, NO_BOUNDS)

    @typed()
    def has(self, score: str) -> bool:
        """Whether some run that finished has the score."""
        return any(c.has(score) for c in self.configurations)

    @typed()
    def varies(self, score: str) -> bool:
        """Whether two runs have different numbers of it."""
        values = numbers(self.table, score)
        values = values[~np.isnan(values)]
        return len(values) > 1 and float(np.ptp(values)) > 0

    @typed()
    def values(self, score: str) -> Float[np.ndarray, " n"]:
        """The numbers of a score, of the runs that finished without divergence."""
        return sample(self.table, score).values

    def runs_with(self, *scores: str) -> int:
        """How many runs have numbers of all these, whatever became of them."""
        if any(s not in self.table for s in scores):
            return 0
        return int(np.all([~np.isnan(numbers(self.table, s)) for s in scores], axis=0).sum())

    @cached_property
    def configurations(self) -> list[Configuration]:
        """Runs by their settings, in the order in which figures and tables have them."""
        return configurations(self.table, self.settings)

    @cached_property
    def objectives(self) -> list[Configuration]:
        """All runs of each objective together, as if they were one configuration."""
        parts = split_table(self.table, "objective")
        return [Configuration(str(name), "", "", {}, runs) for name, runs in parts.items()]

    @cached_property
    def lines(self) -> list[Line]:
        """Configurations that differ in one number; see `setting_lines`."""
        return setting_lines(self.configurations)

    @cached_property
    def by_data(self: Kind) -> dict[str, Kind]:
        """The results of each dataset, with the scores that some run on it has."""
        if "data" not in self.table:
            return {"": self._part(self.table)}
        return {
            str(name): self._part(table) for name, table in split_table(self.table, "data").items()
        }

    @typed()
    def only(self: Kind, name: str, values: Iterable[Any]) -> Kind:
        """The results of the runs with certain values of a setting."""
        choices = set(values)
        return self.where([value in choices for value in column(self.table, name)])

    @typed()
    def where(self: Kind, rows: Iterable[Any]) -> Kind:
        """The results of the runs that are marked."""
        try:
            marks = [bool(mark) for mark in rows]
        except (TypeError, ValueError, RuntimeError):  # of an array inside, say
            marks = []
        if len(marks) != (count := len(next(iter(self.table.values())))):
            raise ConfigError(
                f"rows must have True or False for each of {count:,} runs; got {shown(rows)}."
            )
        return self._part(keep(self.table, marks))

    @typed()
    def without(self: Kind, name: str) -> Kind:
        """The results as if a setting had never been there."""
        table = {n: values for n, values in self.table.items() if n != name}
        return self._part(table, [n for n in self.settings if n != name])

    def _part(self: Kind, table: Columns, settings: Sequence[str] | None = None) -> Kind:
        part = type(self)(
            table, self._scores, settings=self.settings if settings is None else settings,
            others=self.others, lower=self.lower, losses=self.losses, silent=self.silent,
            bounds=self._bounds, cost=self.cost, level=self.level, draws=self.draws, seed=self.seed,
        )  # fmt: skip
        if self._scores is not None:
            part._scores = [name for name in self._scores if part.has(name)]
        return part

    def _check_one_dataset(self) -> None:
        """Levels of two datasets cannot be averaged."""
        data = list(dict.fromkeys(c.data for c in self.configurations))
        if len(data) > 1:
            raise ConfigError(
                f"Expected the runs of one dataset; got {', '.join(data)}. Split the table with "
                "unknot.analysis.split_table(table, 'data')."
            )

    @cached_property
    def converged(self) -> tuple[Columns, tuple[str, ...]]:
        """The runs that did not diverge, and a remark on those that did."""
        diverged = has_diverged(self.table)
        if all(diverged):
            raise DataError(f"All {len(diverged)} runs of the table diverged.")
        n = sum(diverged)
        remarks = (f"{n} runs that diverged were left out",) if n else ()
        return keep(self.table, [not out for out in diverged]), remarks
