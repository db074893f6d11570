"""Chance levels of a study's scores: measured once per metric, protocol, factors and latents."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import unknot
from unknot.analysis import Results
from unknot.analysis.configurations import Columns
from unknot.analysis.health import AT_CHANCE
from unknot.analysis.plain_table import numbers
from unknot.core.border import parse_json
from unknot.core.errors import UnknotError, WriteError
from unknot.core.factor_table import FactorTable, Space
from unknot.core.files import read_whole, write_whole
from unknot.data.parts import cache
from unknot.metrics.parts.chance import Chance, has_chance_level, measure_chance
from unknot.metrics.parts.facts import protocols_for
from unknot.runs.run import Run
from unknot.studies.study import Study


def with_chance(
    study: Study, results: Results, say: Callable[[str], None] = lambda _: None
) -> tuple[Results, dict[str, dict[str, float]]]:
    """Results with a mark of scores at chance, and chance levels by dataset."""
    from unknot.engine.device import threads

    with threads(1):
        marks, chance = chance_levels(study, results, say)
    return results.marked(**{AT_CHANCE: marks}), chance


def chance_levels(
    study: Study, results: Results, say: Callable[[str], None] = lambda _: None
) -> tuple[list[str], dict[str, dict[str, float]]]:
    """Scores of each run that are at chance, and the chance levels of scores by dataset.

    The first is the column `unknot.analysis.health.AT_CHANCE`.

    Args:
        study: Of which the results are.
        results: Their scores that have a chance level are marked.
        say: Told what is being measured.
    """
    protocol = study.store.facts()["protocol"]
    scores = [s for s in results.scores if has_chance_level(s.partition("@")[0])]
    marks: list[list[str]] = [[] for _ in results.table["objective"]]
    by_data: dict[str, dict[str, float]] = {}
    for data, rows in same_factors(results.table):
        run = a_run(study, results.table, rows)
        if run is None or run.dataset.space.stands_in:
            continue
        space, latents = run.dataset.space, run.training.context.net.latents
        for score in scores:
            values = numbers(results.table, score)[rows]
            chance = chance_level(score, protocol, space, latents, say)
            if chance is None or np.isnan(values).all():
                continue
            by_data.setdefault(data, {}).setdefault(score, chance.level)
            for row, value in zip(rows, values, strict=True):
                if value <= chance.limit:
                    marks[row].append(score)
    return [" ".join(names) for names in marks], by_data


def same_factors(table: Columns) -> Iterator[tuple[str, list[int]]]:
    """Rows of the runs whose data and number of latents are the same, and the dataset's name."""
    names = [n for n in table if n.partition(".")[0] == "data" or n in ("net", "net.latents")]
    groups: dict[str, list[int]] = {}
    for row in range(len(table["objective"])):
        groups.setdefault(json.dumps([str(table[n][row]) for n in names]), []).append(row)
    for rows in groups.values():
        yield str(table.get("data", [""])[rows[0]]), rows


def a_run(study: Study, table: Columns, rows: list[int]) -> Run | None:
    """A finished run among these rows; None where none can be read."""
    for row in rows:
        if table["status"][row] == "done":
            try:
                return study.run(table["id"][row], device="cpu")
            except UnknotError:  # the page lists what is damaged
                continue
    return None


def chance_level(
    score: str,
    protocol: str,
    space: Space,
    latents: int,
    say: Callable[[str], None] = lambda _: None,
) -> Chance | None:
    """The chance level of a score, from the cache where it is there; None where it has none.

    Args:
        score: Its name, as ``dci`` or ``dci.completeness@study2019``.
        protocol: That of scores that name none.
        space: The factors.
        latents: How many codes each row has.
        say: Told what is being measured.
    """
    name, _, other = score.partition("@")
    metric, protocol = name.partition(".")[0], other or protocol
    settings = protocols_for(metric).get(protocol)
    if settings is None:
        return None
    factors: list[Any] = [*space.names, *space.sizes, *space.kinds]
    if isinstance(space, FactorTable):
        factors.append(hashlib.sha256(space.values.numpy().tobytes()).hexdigest())
    key = repr((metric, protocol, settings, factors, latents, unknot.__version__))

    def find() -> dict[str, Any]:
        say(f"measuring the chance level of {metric}")
        levels = measure_chance(metric, protocol, space, latents)
        return {name: asdict(level) for name, level in levels.items()}

    level = remember("chance", key, find).get(name)
    return None if level is None else Chance(**level)


def remember(kind: str, key: str, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What was measured once under this key, from the cache where it is there.

    Args:
        kind: Start of the name of its file.
        key: All that decides it.
        find: Measures it.
    """
    try:
        file = cache.folder() / f"{kind}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.json"
    except RuntimeError:  # a user without a home
        return find()
    record = _read(file)
    if record is None:
        record = find()
        _write(file, record)
    return record


def _read(file: Path) -> dict[str, Any] | None:
    try:
        record = parse_json(read_whole(file))
    except (OSError, ValueError, UnknotError):
        return None
    return record if isinstance(record, dict) else None


def _write(file: Path, record: Mapping[str, Any]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps(record).encode())
    except (OSError, WriteError):  # it is measured again next time
        return
