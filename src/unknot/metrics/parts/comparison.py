"""Scores side by side: of the same codes under several protocols, or of several codes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import fill
from typing import Any

from unknot.core.border import check_names
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.metrics.parts.evaluation import Table, code_metrics, evaluate
from unknot.metrics.parts.given import GivenCodes, GivenFactors
from unknot.metrics.parts.score import Score

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
        for metric in self.metrics:
            settings = self.differences(metric).items()
            if texts := [f"{name} {' / '.join(map(_text, v))}" for name, v in settings]:
                lines.append(fill(f"{metric} differs in {'; '.join(texts)}", 100))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return f"<pre>{escape(repr(self))}</pre>"


def compare(
    codes: GivenCodes,
    factors: GivenFactors = None,
    *,
    protocols: Sequence[str],
    metrics: Sequence[str] | None = None,
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
    wanted = None if metrics is None else check_names("metrics", metrics)
    for name in wanted or ():
        if name not in (known := code_metrics()):
            raise ConfigError(f"There is no metric '{name}' of codes{nearest(str(name), known)}")
    tables = {}
    for protocol in check_names("protocols", protocols):
        options: dict[str, Any] = {"logvar": logvar, "seed": seed, "test": test}
        table = evaluate(codes, factors, protocol=protocol, interval=interval, **options)
        if wanted is not None:
            kept = {name: table.scores[name] for name in wanted if name in table.scores}
            table = Table(kept, {k: v for k, v in table.skipped.items() if k in wanted})
        tables[protocol] = table
    return Comparison(tables)


def _cell(score: Score | None) -> str:
    if score is None:
        return "–"
    if score.interval is None:
        return f"{score:.4f}"
    return "{:.3f} [{:.3f}, {:.3f}]".format(score, *score.interval)


def _text(value: Any) -> str:
    return "–" if value is None else str(value)
