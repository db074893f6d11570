"""Insertions: rows of study.db that are written in several places of the store."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def add_results(db: sqlite3.Connection, outcome: Mapping[str, Any], size: int) -> None:
    """Add runs and scores of a population of so many models; what is there stays as it is."""
    scores = outcome["scores"]
    share = outcome["seconds"] / size
    shared = outcome["step"], share, outcome["device"], json.dumps(outcome["versions"])
    db.executemany(
        "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run) DO NOTHING",
        (
            (m["id"], m["status"], m["diverged_at"], *shared, json.dumps(m["last"]))
            for m in outcome["members"]
        ),
    )
    measures = [(s["metric"], s["protocol"]["name"], options_text(s), s["unknot"]) for s in scores]
    columns = "metric, protocol, options, code"
    places = number_rows(db, "measures", columns, measures)
    db.executemany(
        "INSERT INTO scores VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            (s["id"], number, name, value, "; ".join(s["remarks"]))
            for s, number in zip(scores, places, strict=True)
            # A score that does not apply is a row too: it says why there is no number.
            for name, value in (s["values"] or {s["metric"]: None}).items()
        ),
    )


def note_facts(db: sqlite3.Connection, facts: Mapping[str, str]) -> None:
    """Write down facts of the study; those of the same names are replaced."""
    db.executemany(
        "INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        facts.items(),
    )


def options_text(score: Mapping[str, Any]) -> str:
    """A protocol's settings without its name, and the step or part that a score is of."""
    settings = {k: v for k, v in score["protocol"].items() if k != "name"}
    place = {k: score[k] for k in ("part", "step") if score.get(k) is not None}
    return json.dumps({**settings, **place}, sort_keys=True)


def number_rows(
    db: sqlite3.Connection, table: str, columns: str, rows: Sequence[tuple[str, ...]]
) -> list[int]:
    """Numbers of rows in a table of things that are written once; new ones are added."""
    find = f"SELECT {columns}, number FROM {table}"  # noqa: S608 - names of our own
    marks = ", ".join("?" * len(columns.split(",")))
    numbers = {tuple(row): number for *row, number in db.execute(find)}
    new = [row for row in dict.fromkeys(rows) if row not in numbers]
    add = f"INSERT INTO {table} ({columns}, number) VALUES ({marks}, ?)"  # noqa: S608
    numbered: Iterable[tuple[Any, ...]] = (
        (*row, len(numbers) + i) for i, row in enumerate(new, start=1)
    )
    db.executemany(add, numbered)
    numbers |= {row: len(numbers) + i for i, row in enumerate(new, start=1)}
    return [numbers[row] for row in rows]
