"""Reference levels of a study's scores: what codes score that nobody trained.

The factors themselves are the ceiling of a table; principal and independent components, pixels and
the network before its first step are its floor. They are measured once and kept in the cache.
"""

from collections.abc import Callable
from typing import Any

import unknot
from unknot.analysis import Results
from unknot.core.errors import UnknotError
from unknot.metrics.parts.chance import has_chance_level
from unknot.metrics.parts.facts import facts, protocols_for
from unknot.report.study.baselines import Baseline
from unknot.report.study.chance import a_run, remember, same_factors
from unknot.studies.study import Study

NAMES = {
    "factors": "the factors themselves",
    "pca": "PCA",
    "ica": "ICA",
    "pixels": "pixels",
    "untrained": "untrained network",
}
DEAR = 1.0
"""Cost, in seconds, from which a metric is too slow to be measured without being asked for."""


def reference_levels(
    study: Study, results: Results, say: Callable[[str], None] = lambda _: None
) -> dict[str, list[Baseline]]:
    """Reference levels by dataset; of data without factors, or that are not here, none.

    Args:
        study: Of which the results are.
        results: Their scores of codes and factors are measured, but for slow ones.
        say: Told what is being measured.
    """
    from unknot.engine.device import threads

    with threads(1):
        return _levels(study, results, say)


def _levels(
    study: Study, results: Results, say: Callable[[str], None]
) -> dict[str, list[Baseline]]:
    by_data: dict[str, list[Baseline]] = {}
    for data, rows in same_factors(results.table):
        run = None if data in by_data else a_run(study, results.table, rows)
        if run is None or run.dataset.space.stands_in:
            continue
        settings = {
            name: str(column[rows[0]])
            for name, column in results.table.items()
            if name.partition(".")[0] in ("data", "net")
        }
        levels = []
        for name, words in NAMES.items():
            values: dict[str, float] = {}
            for protocol, scores in _by_protocol(study, results).items():
                values |= _measure(run, name, protocol, scores, settings, say)
            if values:
                levels.append(Baseline(words, values))
        by_data[data] = levels
    return by_data


def _by_protocol(study: Study, results: Results) -> dict[str, list[str]]:
    """Scores that can be measured of any codes, by their protocol."""
    from unknot.runs.baselines import baseline_metrics

    usual, known = study.store.facts()["protocol"], baseline_metrics()
    grouped: dict[str, list[str]] = {}
    for score in results.scores:
        name, _, protocol = score.partition("@")
        metric = name.partition(".")[0]
        if (
            metric in known
            and has_chance_level(name)
            and (facts(metric).cost or 0) < DEAR
            and (protocol or usual) in protocols_for(metric)
        ):
            grouped.setdefault(protocol or usual, []).append(score)
    return grouped


def _measure(
    run: Any,
    name: str,
    protocol: str,
    scores: list[str],
    settings: dict[str, str],
    say: Callable[[str], None],
) -> dict[str, float]:
    """What one kind of codes scores, by the names of the table."""
    from unknot.runs.baselines import score_baselines

    metrics = sorted({score.partition("@")[0].partition(".")[0] for score in scores})
    kinds = [(metric, protocols_for(metric)[protocol]) for metric in metrics]

    def find() -> dict[str, float]:
        say(f"measuring {NAMES[name]}")
        try:
            found = score_baselines(
                run.dataset,
                run.training.context.net,
                names=[name],
                metrics=metrics,
                protocol=protocol,
                seed=0,
            )
        except UnknotError:  # such as fewer images than components
            return {}
        return {k: float(v) for values in found.values.values() for k, v in values.items()}

    space = run.dataset.space
    key = (name, kinds, [*space.names, *space.sizes, *space.kinds], settings, unknot.__version__)
    values = remember("reference", repr(key), find)
    return {s: values[s.partition("@")[0]] for s in scores if s.partition("@")[0] in values}
