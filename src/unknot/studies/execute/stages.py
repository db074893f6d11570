"""Stages: what runs take from the results of others, when those have ended."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from unknot.core import dotted
from unknot.core.border import parse_json
from unknot.core.errors import ConfigError
from unknot.core.registry import nearest
from unknot.runs import config
from unknot.studies.execute.events import Divided, Event, Failed
from unknot.studies.file.formula import compute
from unknot.studies.plan import key_of
from unknot.studies.results import FACT, read_values, takes_results, with_values
from unknot.studies.store import FAILED, Store
from unknot.studies.store_records import StudyRun


def later_populations(store: Store) -> set[str]:
    """Keys of the populations whose runs take settings from others."""
    return {run.population for run in store.runs() if takes_results(run)}


def settle(store: Store) -> Iterator[Event]:
    """Compute the settings of runs whose sources have ended, and write them down for good.

    Runs whose source diverged, failed or has no such result are marked as failed, with the reason;
    those that were planned beside them are trained without them.
    """
    values = read_values(store.facts())
    runs = {run.id: run for run in store.runs()}
    scores = store.scores()
    later = later_populations(store)
    reasons: dict[str, str] = {}
    keys = [key for key in store.unfinished() if key in later]
    for run in (run for key in keys for run in store.members(key) if run.id not in values):
        try:
            values[run.id] = _values(run, runs, scores)
        except ConfigError as error:
            reasons[run.id] = str(error)
    store.note({FACT: json.dumps(values)})
    for key in keys:
        ids = [run.id for run in store.members(key)]
        lost = [name for name in ids if name in reasons]
        left = [name for name in ids if name not in reasons]
        parts = {key_of(part): part for part in (left, *([name] for name in lost)) if part}
        if lost and [*parts] != [key]:
            store.divide(key, parts)
            yield Divided(key, {name: len(part) for name, part in parts.items()})
        for name in lost:
            store.fail(key_of([name]), reasons[name])
            yield Failed(key_of([name]), reasons[name])


def _values(
    run: StudyRun, runs: Mapping[str, StudyRun], scores: Mapping[str, Mapping[str, float | None]]
) -> dict[str, float]:
    """What a run takes from others, by path; checked as if its file had said so."""
    table = parse_json(run.spec)
    values: dict[str, float] = {}
    for origin in table["origins"]:
        path = origin["setting"]
        source = runs.get(origin["source"])
        begin = f"{path} of seed {run.seed} is taken from run {origin['source']}"
        if source is None:
            raise ConfigError(f"{begin}, which the study does not have.")
        if source.ended is None and source.population_status == FAILED:
            raise ConfigError(f"{begin}, which failed: {source.error}")
        if source.ended is None:
            raise ConfigError(f"{begin}, which has not ended.")
        if source.ended != "done":
            raise ConfigError(f"{begin}, which {source.ended}.")
        results = {**parse_json(source.last or "{}"), **scores.get(source.id, {})}

        def result(name: str, results: Any = results, begin: str = begin) -> float:
            if name not in results:
                hint = nearest(name, sorted(results))
                raise ConfigError(f"{begin}, which has no result '{name}'{hint}")
            if results[name] is None or not math.isfinite(results[name]):
                raise ConfigError(f"{begin}, whose {name} is no finite number.")
            return float(results[name])

        def lookup(name: str) -> object:
            return dotted.get(table, name)

        values[path] = compute(origin["formula"], lookup, result)
    try:
        config.spec({**with_values(table, values), "seeds": run.seed})
    except ConfigError as error:
        raise ConfigError(f"A result does not fit: {error}") from error
    return values
