"""Means that documents print, with spreads where they do, and ours next to them.

Each file in ``printed/`` is a document: its tables as it prints them, and the columns of ours that
its scores are. A document has no single runs, so that `unknot.analysis.replication` cannot be
asked; each value is tested by itself, and says what can be said with so few runs.
"""

import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from unknot.analysis.intervals import NAN
from unknot.analysis.replication import MARGIN, ONE_SIDED
from unknot.analysis.results import Results
from unknot.analysis.statistics import Summary
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.core.text import setting_text

FOLDER = resources.files("unknot.analysis") / "printed"
POWER = 0.8
"""Of the test for the difference that would have been visible."""


@dataclass(frozen=True)
class Printed:
    """A value that a document prints."""

    table: str
    data: str
    objective: str
    settings: Mapping[str, Any]
    """Those that tell it from others; all must agree."""
    score: str
    mean: float
    sd: float
    """NaN where none is printed."""
    n: int
    """Runs behind it; 1 where the document does not say."""
    digits: int
    """Behind the point."""
    select: str
    """The score by which the document chose the model; empty where it chose none."""

    @property
    def can_equal(self) -> bool:
        """Whether enough runs of ours could show that they equal it: its own error is small."""
        return ONE_SIDED / math.sqrt(self.n) < MARGIN


@dataclass(frozen=True)
class PrintedCorrelation:
    """Spearman's correlation of two scores over the runs of a document."""

    where: str
    first: str
    second: str
    spearman: float
    n: int


@dataclass(frozen=True)
class Document:
    """What a document prints."""

    title: str
    source: str
    training: str
    """How long its models were trained."""
    notes: tuple[str, ...]
    columns: Mapping[str, Sequence[str]]
    """For each score the columns that are it, with their protocols, the best one first."""
    values: tuple[Printed, ...]
    correlations: tuple[PrintedCorrelation, ...] = ()


@dataclass(frozen=True)
class PrintedMatch:
    """A printed value, and ours."""

    printed: Printed
    ours: Summary

    @property
    def difference(self) -> float:
        """Our mean minus the printed one."""
        return self.ours.mean - self.printed.mean

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the spread; 0 where neither side has one."""
        ours, theirs = self.ours, self.printed
        return max(ours.n - 1, 0) + (0 if math.isnan(theirs.sd) else theirs.n - 1)

    @property
    def sd(self) -> float:
        """Standard deviation of a run, of both sides together; NaN where neither has one."""
        if not self.freedom:
            return NAN
        squares = (self.ours.n - 1) * self.ours.sd**2 if self.ours.n > 1 else 0.0
        if not math.isnan(self.printed.sd):
            squares += (self.printed.n - 1) * self.printed.sd**2
        return math.sqrt(squares / self.freedom)

    @property
    def error(self) -> float:
        """Standard error of the difference, that of rounding the printed value included."""
        rounding = 10.0 ** (-2 * self.printed.digits) / 12
        return math.sqrt(self.sd**2 * (1 / self.ours.n + 1 / self.printed.n) + rounding)

    @property
    def interval(self) -> tuple[float, float]:
        """90 % of the difference; NaN without a spread."""
        half = self._quantile(0.95) * self.error
        return self.difference - half, self.difference + half

    @property
    def visible(self) -> float:
        """The difference that such a comparison finds in four of five cases, at 5 %."""
        return (self._quantile(0.975) + self._quantile(POWER)) * self.error

    @property
    def verdict(self) -> str:
        """What can be said at these numbers of runs."""
        if math.isnan(self.error):
            return "no spread"
        low, high = self.interval
        margin = MARGIN * (self.sd if math.isnan(self.printed.sd) else self.printed.sd)
        if -margin < low and high < margin:
            return "equal"
        if abs(self.difference) > self._quantile(0.975) * self.error:
            return "differs"
        return "undecided" if self.printed.can_equal else "no difference seen"

    def row(self) -> dict[str, Any]:
        """As plain values of one line of a table."""
        low, high = self.interval
        return {
            "table": self.printed.table,
            "data": self.printed.data,
            "objective": self.ours.objective,
            "swept_value": self.ours.swept_value,
            "score": self.printed.score,
            "our_score": self.ours.score,
            "ours": self.ours.mean,
            "ours_sd": self.ours.sd,
            "ours_n": self.ours.n,
            "published": self.printed.mean,
            "published_sd": self.printed.sd,
            "published_n": self.printed.n,
            "difference": self.difference,
            "low": low,
            "high": high,
            "visible": self.visible,
            "verdict": self.verdict,
        }

    def _quantile(self, share: float) -> float:
        """Of Student's distribution; NaN without a spread."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, share)) if self.freedom else NAN


def names() -> list[str]:
    """The documents that there are."""
    return sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir())


def document(name: str) -> Document:
    """A document by its name.

    Raises:
        ConfigError: There is none of this name.

    Example:
        >>> mushom = document("mushom2020")
        >>> first = mushom.values[0]
        >>> first.objective, dict(first.settings), first.score, first.mean, first.sd, first.n
        ('beta_vae', {'objective.beta': 1}, 'beta_vae', 0.867, 0.079, 10)
    """
    if name not in names():
        raise ConfigError(f"There is no document '{name}'{nearest(name, names())}")
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return Document(
        table["title"],
        table["source"],
        table["training"],
        tuple(table["notes"]),
        table["columns"],
        tuple(_merged([value for part in table["table"] for value in _values(part)])),
        tuple(value for part in table.get("correlations", []) for value in _correlations(part)),
    )


def _values(table: Mapping[str, Any]) -> Iterator[Printed]:
    for row in table["rows"]:
        settings = {name: value for name, value in row.items() if name.startswith("objective.")}
        data, n = row.get("data", table.get("data")), table.get("n", 1)
        spreads = row.get("sd", [NAN] * len(row["mean"]))
        for score, mean, sd in zip(table["scores"], row["mean"], spreads, strict=True):
            if mean == mean:  # one cell is lost
                yield Printed(
                    table["name"], data, row["objective"], settings, score, mean, sd, n,
                    table["digits"], table.get("select", ""),
                )  # fmt: skip


def _merged(values: Sequence[Printed]) -> Iterator[Printed]:
    """Values of which each is once, with all tables that print it."""
    tables: dict[str, list[str]] = {}
    first: dict[str, Printed] = {}
    for value in values:
        key = repr(replace(value, table=""))
        first.setdefault(key, value)
        tables.setdefault(key, []).append(value.table)
    for key, value in first.items():
        yield replace(value, table=", ".join(tables[key]))


def _correlations(table: Mapping[str, Any]) -> Iterator[PrintedCorrelation]:
    for row in table["rows"]:
        for second, value in zip(table["with"], row["spearman"], strict=True):
            yield PrintedCorrelation(table["name"], row["score"], second, value, table["n"])


def match_printed(
    document: Document, results: Results, protocol: str | None = None
) -> list[PrintedMatch]:
    """Ours beside each printed value that we have a counterpart of.

    Counterparts agree in data, objective and all settings that the document names. Where it chose a
    model by a score, ours is the configuration with the best mean of that score.

    Args:
        document: From `document`.
        results: Of any number of datasets.
        protocol: That of the scores without one in their names; None where nobody says.
    """
    matches = []
    for value in document.values:
        column = our_column(document, results, value.score, protocol)
        matching = [c for c in results.configurations if column and _agrees(value, c)]
        matching = [c for c in matching if c.has(column)]
        if value.select and matching:
            choice = our_column(document, results, value.select, protocol)
            able = [c for c in matching if choice and c.has(choice)]
            matching = sorted(able, key=lambda c: -float(c.sample(choice).values.mean()))[:1]
        for configuration in matching:
            summary = results.summary(configuration, [column])[column]
            matches.append(PrintedMatch(value, summary))
    return matches


def our_column(document: Document, results: Results, score: str, protocol: str | None) -> str:
    """The column of ours that a document's score is; empty where there is none."""
    for name in document.columns.get(score, [score]):
        bare, _, named = name.partition("@")
        for column in (name, bare if not named or protocol in (named, None) else name):
            if column in results.table and results.has(column):
                return column
    return ""


def _agrees(value: Printed, configuration: Any) -> bool:
    """Whether a configuration is of the data, objective and settings of a printed value."""
    settings = configuration.settings
    return (configuration.data in (value.data, "")) and (
        configuration.objective == value.objective
        and all(
            setting_text(settings.get(name))
            == setting_text(_as_our_kind(settings.get(name), printed))
            for name, printed in value.settings.items()
        )
    )


def _as_our_kind(ours: Any, printed: Any) -> Any:
    """A printed number as the kind of number that ours is, so that 1 and 1.0 agree."""
    return float(printed) if isinstance(ours, float) and isinstance(printed, int) else printed
