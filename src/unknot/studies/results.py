"""Results of runs that become settings of others in the same study: their values in the records."""

import copy
from collections import Counter
from collections.abc import Mapping
from typing import Any

from unknot.core import dotted
from unknot.core.border import parse_json
from unknot.core.text import counted
from unknot.studies.file.formula import source_of
from unknot.studies.store import FAILED, Store
from unknot.studies.store_records import StudyRun

FACT = "results"
"""What the records call them."""


def read_values(facts: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Settings that runs took from others, by run and path."""
    return dict(parse_json(facts.get(FACT, "{}")))


def with_values(table: Mapping[str, Any], values: Mapping[str, float]) -> dict[str, Any]:
    """Settings of a run with values in place of formulas."""
    result = copy.deepcopy(dict(table))
    for path, value in values.items():
        dotted.put(result, path, value)
    return result


def takes_results(run: StudyRun) -> bool:
    """Whether a run takes settings from results of others."""
    return '"origins"' in run.spec and "origins" in parse_json(run.spec)


def count_waits(store: Store) -> dict[str, int]:
    """Runs of a study that wait for results, by the source that they name."""
    settled = read_values(store.facts())
    waits: Counter[str] = Counter()
    for run in store.runs():
        over = run.id in settled or run.population_status == FAILED
        if run.current and takes_results(run) and not over:
            waits[str(source_of(parse_json(run.spec)["origins"][0]["formula"]))] += 1
    return dict(waits)


def describe_waits(waits: Mapping[str, int]) -> list[str]:
    """Who waits for whom, a line for each source.

    Example:
        >>> describe_waits({"l_vae": 5})
        ['stage 2: 5 runs wait for l_vae']
        >>> describe_waits({"l_vae": 1})
        ['stage 2: 1 run waits for l_vae']
    """
    return [
        f"stage 2: {counted(n, 'run')} wait{'s' * (n == 1)} for {name}" for name, n in waits.items()
    ]
