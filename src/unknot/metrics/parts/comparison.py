"""Scores side by side: of the same codes under several protocols, or of several codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import Any

from unknot.core.border import check_names
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.metrics.parts.evaluation import NO_INTERVAL, Table, code_metrics, score_table
from unknot.metrics.parts.given import GivenCodes, GivenFactors
from unknot.metrics.parts.inputs import Inputs
from unknot.metrics.parts.score import Score
from unknot.metrics.parts.scoring import Base

MEASURED = ("name", "rows", "test_rows", "factors", "seed", "level", "interval")
"""Entries of a record that are no settings of a metric."""


@dataclass(frozen=True, repr=False, eq=False)
class Comparison:
    """Scores by protocol, or by what was scored; each is a `Table`."""

    tables: Mapping[str, Table]

    def __getitem__(self, name: str) -> Table:
        return self.tables[name]

    @property
    def metrics(self) -> list[str]:
        """Metrics that have a score under any of the protocols."""
        return [*dict.fromkeys(name for table in self.tables.values() for name in table)]

    @property
    def values(self) -> dict[str, dict[str, float]]:
        """Every number of every score by its full name, for each of the tables."""
        return {name: table.values for name, table in self.tables.items()}

    def score(self, metric: str, protocol: str) -> Score | None:
        """A score; None where the metric does not apply or lacks the protocol."""
        return self.tables[protocol].scores.get(metric)

    def differences(self, metric: str) -> dict[str, list[Any]]:
        """Settings of a metric that are not the same under all protocols, one value for each.

        None where a protocol lacks the metric or the setting.
        """
        scores = [self.score(metric, protocol) for protocol in self.tables]
        records = [dict(score.protocol) if score is not None else {} for score in scores]
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: [record.get(name) for record in records] for name in names}
        present = [i for i, record in enumerate(records) if record]
        return {
            name: values
            for name, values in columns.items()
            if name not in MEASURED and len({repr(values[i]) for i in present}) > 1
        }

    def __repr__(self) -> str:
        cells = [[_cell(self.score(m, name)) for name in self.tables] for m in self.metrics]
        rows = [
            ["metric", *self.tables],
            *([m, *row] for m, row in zip(self.metrics, cells, strict=True)),
        ]
        widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
        lines = [
            row[0].ljust(widths[0])
            + "".join(f"  {cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))
            for row in rows
        ]
        return "\n".join([*lines, *(fill(note, 100) for note in self._notes())])

    def _notes(self) -> list[str]:
        """What differs between the scores of a metric, and which have no interval."""
        notes = []
        scores = [(m, self.score(m, name)) for m in self.metrics for name in self.tables]
        present = [(metric, score) for metric, score in scores if score is not None]
        plain = dict.fromkeys(metric for metric, score in present if score.interval is None)
        if plain and len(plain) < len(self.metrics):
            notes.append(f"{', '.join(plain)}: {NO_INTERVAL}")
        for metric in self.metrics:
            settings = self.differences(metric).items()
            if texts := [f"{name} {' / '.join(map(_text, v))}" for name, v in settings]:
                notes.append(f"{metric} differs in {'; '.join(texts)}")
        return notes

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in ("metric", *self.tables))
        rows = "".join(
            f"<tr><td>{escape(m)}</td>"
            + "".join(f"<td>{_cell(self.score(m, name))}</td>" for name in self.tables)
            + "</tr>"
            for m in self.metrics
        )
        notes = "<br>".join(map(escape, self._notes()))
        return f"<table><tr>{head}</tr>{rows}</table><small>{notes}</small>"


def compare(
    codes: GivenCodes,
    factors: GivenFactors = None,
    *,
    protocols: Sequence[str],
    metrics: Sequence[str | Base[Any]] | None = None,
    logvar: GivenCodes = None,
    seed: int = 0,
    test: tuple[GivenCodes, GivenFactors] | None = None,
    interval: float | None = None,
) -> Comparison:
    """Score codes under several protocols, side by side, with the settings that differ.

    Arguments are those of `evaluate`; a metric that lacks one of the protocols is left out there.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T.repeat(20, axis=0)
        >>> compare(factors + 0.0, factors, protocols=["unknot", "carbonneau"], metrics=["irs"])
        metric  unknot  carbonneau
        irs     1.0000      1.0000
        irs differs in quantile 0.99 / 1.0; reference quantile / largest; weights equal / deviation;
        factor_bins – / 10
    """
    known = code_metrics()
    wanted = known if metrics is None else [_name(m) for m in check_names("metrics", metrics)]
    if unknown := [name for name in wanted if name not in known]:
        raise ConfigError(f"There is no metric '{unknown[0]}' of codes{nearest(unknown[0], known)}")
    inputs = Inputs(codes, factors, seed, logvar, test)
    tables = {
        protocol: score_table(inputs, wanted, protocol, interval, strict=False)
        for protocol in check_names("protocols", protocols)
    }
    return Comparison(tables)


def _name(metric: Any) -> str:
    return metric.facts.name if isinstance(metric, Base) else str(metric)


def _cell(score: Score | None) -> str:
    if score is None:
        return "–"
    if score.interval is None:
        return f"{score:.4f}"
    return "{:.3f} [{:.3f}, {:.3f}]".format(score, *score.interval)


def _text(value: Any) -> str:
    return "–" if value is None else str(value)
