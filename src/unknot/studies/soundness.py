"""Soundness: whether the records of a study are what `studies/store.py` wrote.

A file from somewhere else may hold anything: views that never end, names that lead out of the
folder, values that nobody can read. So it is looked through before any of it is used.
"""

import json
import re
import sqlite3
from collections.abc import Callable
from typing import Any

from unknot.core.border import parse_json
from unknot.studies.omissions import FACT as OMISSIONS
from unknot.studies.results import FACT as RESULTS

KEY = re.compile(r"[0-9a-f]{12}")
"""What names of runs and populations look like."""
STATUSES = ("pending", "running", "done", "failed")
NAMES = ("name", "metrics", "protocol", "score_seed", "threads", "text", "unknot")
"""Facts of a planned study."""
DANGLING = (
    (
        "plan names a configuration",
        "SELECT count(*) FROM plan WHERE configuration NOT IN (SELECT number FROM configurations)",
    ),
    (
        "plan names a population",
        "SELECT count(*) FROM plan WHERE population NOT IN (SELECT key FROM populations)",
    ),
    (
        "table of runs names a run",
        "SELECT count(*) FROM runs WHERE run NOT IN (SELECT run FROM plan)",
    ),
    (
        "table of scores names a run",
        "SELECT count(*) FROM scores WHERE run NOT IN (SELECT run FROM plan)",
    ),
    (
        "table of scores names a measure",
        "SELECT count(*) FROM scores WHERE measure NOT IN (SELECT number FROM measures)",
    ),
)


def find_fault(db: sqlite3.Connection, schema: str) -> str | None:
    """What is wrong with the records, as the end of a sentence; None if nothing is.

    Args:
        db: The records, of which nothing else has been read.
        schema: The statements that make them.
    """
    with sqlite3.connect(":memory:") as model:
        model.executescript(schema)
        expected = _tables(model)
    model.close()
    if (tables := _tables(db)) != expected:
        names = sorted(name for name, _ in tables ^ expected)
        return f"its table '{names[0]}' is not one of a study"
    facts = dict(db.execute("SELECT name, value FROM facts"))
    plan = db.execute("SELECT run, population, member, seed, current, position FROM plan")
    runs = plan.fetchall()
    return (
        _fault_of_facts(facts)
        or _fault_of_plan(runs, planned="text" in facts)
        or _fault_of_populations(db, runs)
        or _fault_of_values(db)
        or next((f"its {what} that it has not" for what, q in DANGLING if _any(db, q)), None)
    )


def _tables(db: sqlite3.Connection) -> set[tuple[str, str]]:
    """Names and definitions of all that a database has, whatever the spaces in them."""
    rows = db.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(str(name), f"{kind} {' '.join(str(sql).split())}") for kind, name, sql in rows}


def _fault_of_facts(facts: dict[str, Any]) -> str | None:
    if "text" not in facts:
        return None
    for name in NAMES:
        if not isinstance(facts.get(name), str):
            return f"it does not say the study's {name}"
    if not (metrics := _json(facts["metrics"], list | None)):
        return f"its list of metrics is {facts['metrics'][:40]!r}"
    if not all(isinstance(metric, str) for metric in metrics[0] or []):
        return f"its list of metrics is {facts['metrics'][:40]!r}"
    for name in ("score_seed", "threads"):
        if not re.fullmatch(r"\d{1,19}" if name == "score_seed" else r"\d{0,6}", facts[name]):
            return f"its {name} is {facts[name][:40]!r}"
    counts = _json(facts.get(OMISSIONS, "{}"), dict)  # older records have none
    if not counts or not all(type(n) is int and n > 0 for n in counts[0].values()):
        return f"what it leaves out is {str(facts[OMISSIONS])[:40]!r}"
    results = _json(facts.get(RESULTS, "{}"), dict)
    if not results or not all(_is_numbers(json.dumps(of_run)) for of_run in results[0].values()):
        return f"what its runs took from others is {str(facts[RESULTS])[:40]!r}"
    return None


def _fault_of_plan(runs: list[tuple[Any, ...]], *, planned: bool) -> str | None:
    for run, population, *numbers in runs:
        if not all(isinstance(name, str) and KEY.fullmatch(name) for name in (run, population)):
            return f"its plan has the name {(run, population)!r:.60}, which is none of a run"
        if not all(isinstance(number, int) for number in numbers):
            return f"its plan has no whole numbers for run {run}"
    if planned and not any(run[4] for run in runs):
        return "its plan is empty"
    if runs and not planned:
        return "it does not say the study's text"
    return None


def _fault_of_populations(db: sqlite3.Connection, runs: list[tuple[Any, ...]]) -> str | None:
    members: dict[str, list[int]] = {}
    for _, population, member, *_ in runs:
        members.setdefault(population, []).append(member)
    query = "SELECT key, status, phase, error, position, members, steps, done FROM populations"
    for key, status, phase, error, *numbers in db.execute(query):
        if not isinstance(key, str) or not KEY.fullmatch(key):
            return f"it has a population called {key!r:.60}"
        if status not in STATUSES or phase not in ("train", "score"):
            return f"its population {key} has the status {status!r:.20} in {phase!r:.20}"
        if not all(isinstance(n, int) for n in numbers) or not isinstance(error, str | None):
            return f"its population {key} has values of other types"
        there = members.get(key, [])
        if len(there) != numbers[1] or sorted(there) != [*range(len(there))]:
            return f"its population {key} has other members than the plan"
    return None


def _fault_of_values(db: sqlite3.Connection) -> str | None:
    checks: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
        ("settings", "SELECT spec FROM configurations", _is_configuration),
        ("versions of runs", "SELECT DISTINCT versions FROM runs", lambda v: bool(_json(v, dict))),
        ("last values of runs", "SELECT last FROM runs", _is_numbers),
        ("statuses of runs", "SELECT DISTINCT status FROM runs", ("done", "diverged").__contains__),
        ("seconds of runs", "SELECT seconds FROM runs", lambda v: isinstance(v, int | float)),
        ("settings of measures", "SELECT options FROM measures", lambda v: bool(_json(v, dict))),
        (
            "kinds of scores",
            "SELECT DISTINCT typeof(value) FROM scores",
            ("real", "null").__contains__,
        ),
        (
            "names of metrics",
            "SELECT DISTINCT name FROM scores UNION SELECT metric FROM measures "
            "UNION SELECT protocol FROM measures",
            lambda v: isinstance(v, str) and bool(v),
        ),
    )
    for what, query, is_sound in checks:
        for (value,) in db.execute(query):
            if not is_sound(value):
                return f"the {what} in it cannot be {value!r:.40}"
    return None


def _is_configuration(text: Any) -> bool:
    """Whether it is a table, which may say where some of its settings come from."""
    for table in _json(text, dict):
        origins = table.get("origins", [None])
        if not isinstance(origins, list) or not origins:
            return False
        return "origins" not in table or all(map(_is_origin, origins))
    return False


def _is_origin(value: Any) -> bool:
    names = ("setting", "formula", "source")
    texts = isinstance(value, dict) and all(isinstance(value.get(name), str) for name in names)
    return texts and KEY.fullmatch(value["source"]) is not None


def _is_numbers(text: Any) -> bool:
    values = [value for table in _json(text, dict) for value in table.values()]
    return bool(_json(text, dict)) and all(isinstance(v, int | float | None) for v in values)


def _json(text: Any, kind: Any) -> tuple[Any, ...]:
    """A value of a kind in a tuple, or nothing if the text is not JSON of it."""
    try:
        value = parse_json(text)
    except (TypeError, ValueError):
        return ()
    return (value,) if isinstance(value, kind) else ()


def _any(db: sqlite3.Connection, query: str) -> bool:
    return bool(db.execute(query).fetchone()[0])
