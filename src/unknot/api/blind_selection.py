"""Choosing models of a study without labels, beside the best by labels, as a table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.analysis.blind import Among
from unknot.core.errors import ConfigError

if TYPE_CHECKING:
    from pandas import DataFrame

UDR, RANKS = "udr", "udr_ranks"
"""Agreement of the models of other seeds, by a lasso and by ranks."""


def blind_table(
    path: Path,
    metrics: Sequence[str],
    criteria: Sequence[str] | None,
    among: Among,
) -> "DataFrame":
    """What each criterion would choose in a study, and how much of each score is lost by that.

    Raises:
        ConfigError: There is no such column, or no criterion or score at all.
    """
    import pandas as pd

    from unknot.engine.device import threads
    from unknot.report.study.blind import criteria_of, supervised
    from unknot.report.study.source import read
    from unknot.report.study.without_labels import measure_unlabelled

    source = read(path)
    rows: list[dict[str, Any]] = []
    for data, results in source.results.by_data.items():
        asked = list(criteria or [])
        if source.study and (criteria is None or {UDR, RANKS} & {*asked}):
            with threads(1):
                measured = measure_unlabelled(source.study, results, labelled=True)
            by_run = {
                name: pair
                for entry in measured
                for name, *pair in zip(entry.ids, entry.udr, entry.ranks, strict=False)
            }
            pairs = [by_run.get(str(name), [None, None]) for name in results.table["id"]]
            columns = zip(*pairs, strict=True)
            results = results.marked(**dict(zip((UDR, RANKS), map(list, columns), strict=True)))
        there = [n for n in (UDR, RANKS) if n in results.table and results.has(n)]
        free = asked or [*criteria_of(results), *there]
        scores = list(metrics) or supervised(results)
        if not (free and scores):
            raise ConfigError(
                "Selecting without labels needs a score that takes labels, such as mig, and a "
                "criterion that does not, such as elbo, recon or two seeds for udr; this study has "
                f"{', '.join(results.scores) or 'no scores'}."
            )
        choices = results.blind_selection(free, scores, among=among)
        rows += [{"data": data, **choice.row()} for choice in choices]
    return pd.DataFrame(rows)
