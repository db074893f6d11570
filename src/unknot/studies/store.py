"""Store: the records of a study in one SQLite file, written by one process, read by any.

Scores are never overwritten. A score computed with other settings, another seed or by another
version of the code is another measure, and adds rows.
"""

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unknot.core.border import parse_json
from unknot.core.files import inside
from unknot.studies.database import explained
from unknot.studies.insertions import add_results, note_facts, number_rows
from unknot.studies.store_records import Measure, RunRecord, StudyPopulation, StudyRun

PENDING, RUNNING, DONE, FAILED = "pending", "running", "done", "failed"
RUNS = """
    SELECT plan.run, seed, configuration, spec, population, member, current,
        populations.status, error, runs.status, seconds, last
    FROM plan
    JOIN configurations ON configurations.number = plan.configuration
    JOIN populations ON populations.key = plan.population
    LEFT JOIN runs ON runs.run = plan.run
"""


def _suffix(protocol: str, own: str, part: str | None) -> str:
    """What the name of a score has behind it: another protocol than the study's, and a part."""
    return ("" if protocol == own else f"@{protocol}") + (f"@{part}" if part else "")


def run_status(ended: str | None, population: str) -> str:
    """``waiting``, ``running`` or ``failed`` like its population, ``done`` or ``diverged``."""
    return ended or (population if population in (RUNNING, FAILED) else "waiting")


@dataclass(frozen=True)
class Store:
    """An open study.db."""

    folder: Path
    db: sqlite3.Connection

    def place(self, population: str) -> Path:
        """The folder of a population."""
        return inside(self.folder, "populations", population)

    def facts(self) -> dict[str, str]:
        """What is known of the study as a whole."""
        return dict(self._rows("SELECT name, value FROM facts"))

    def settings(self) -> dict[int, Any]:
        """The settings of each configuration by its number."""
        rows = self._rows("SELECT number, spec FROM configurations")
        return {number: parse_json(spec) for number, spec in rows}

    def runs(self) -> list[StudyRun]:
        """All runs that were ever planned, current ones first and in the order of the plan."""
        return self._runs("ORDER BY current DESC, plan.position")

    def members(self, population: str) -> list[StudyRun]:
        """The runs of a population."""
        return self._runs("WHERE population = ? ORDER BY member", population)

    def run(self, name: str) -> StudyRun:
        """The run of an id."""
        (run,) = self._runs("WHERE plan.run = ?", name)
        return run

    def _runs(self, which: str, *values: str) -> list[StudyRun]:
        return [StudyRun(*row) for row in self._rows(RUNS + which, values)]

    def run_ids(self) -> list[str]:
        """Ids of all runs that were ever planned, sorted."""
        return [run for (run,) in self._rows("SELECT run FROM plan ORDER BY run")]

    def populations(self) -> list[StudyPopulation]:
        """The populations of current runs, in the order of the plan."""
        query = """
            SELECT key, members, steps, status, phase, done, error FROM populations
            WHERE key IN (SELECT population FROM plan WHERE current = 1) ORDER BY position
        """
        return [StudyPopulation(*row) for row in self._rows(query)]

    def population_steps(self) -> dict[str, int]:
        """Steps of all populations that were ever planned, by key."""
        return dict(self._rows("SELECT key, steps FROM populations"))

    def unfinished(self) -> list[str]:
        """Keys of the populations that are left to do, in the order of the plan."""
        return [population.key for population in self.populations() if population.status != DONE]

    def counts(self) -> dict[str, Any]:
        """How far the study is: what `Study.status` says of runs, populations, steps and scores."""
        query = """
            SELECT runs.status, populations.status, count(*) FROM plan
            JOIN populations ON populations.key = plan.population
            LEFT JOIN runs ON runs.run = plan.run
            WHERE current = 1 GROUP BY runs.status, populations.status
        """
        runs: Counter[str] = Counter()
        for ended, population, count in self._rows(query):
            runs[run_status(ended, population)] += count
        populations = self.populations()
        failures = Counter(entry.error for entry in populations if entry.status == FAILED)
        done = (e.members * (e.done if e.phase == "train" else e.steps) for e in populations)
        return {
            "runs": {"all": runs.total(), **runs},
            "populations": {"all": len(populations), **Counter(e.status for e in populations)},
            "steps": {"done": sum(done), "all": sum(e.members * e.steps for e in populations)},
            "scores": self._rows("SELECT count(*) FROM scores")[0][0],
            "failures": [{"error": error, "populations": n} for error, n in failures.items()],
        }

    def scores(self, step: int | None = None) -> dict[str, dict[str, float | None]]:
        """Scores by run and name; under another protocol than the study's by ``name@protocol``.

        Those of a part of the data have it behind that, ``name@test`` or ``name@protocol@test``.

        Args:
            step: Of the weights of this step; of the last when None.
        """
        facts = self.facts()
        measures = {
            number: (
                _suffix(protocol, facts["protocol"], parse_json(options).get("part")),
                parse_json(options).get("seed") in (None, int(facts["score_seed"])),
            )
            for number, protocol, options in self._rows(
                "SELECT number, protocol, options FROM measures"
            )
            if parse_json(options).get("step") == step
        }
        rows = self._rows("SELECT run, measure, name, value FROM scores ORDER BY measure")
        rows = [row for row in rows if row[1] in measures]
        # Of a name the last to be put down stays: what was drawn with the seed that the study has
        # now, and of those the newest, as measures are numbered as they come.
        rows.sort(key=lambda row: measures[row[1]][1])
        scores: dict[str, dict[str, float | None]] = {}
        for run, measure, name, value in rows:
            scores.setdefault(run, {})[name + measures[measure][0]] = value
        return scores

    def remarks(self) -> dict[str, dict[str, tuple[int, int]]]:
        """What is remarked on scores, by name: how many runs, and how many of them lack a value."""
        own = self.facts()["protocol"]
        query = """
            SELECT protocol, json_extract(options, '$.part') AS place, name, remark,
                count(DISTINCT run), sum(value IS NULL)
            FROM scores JOIN measures ON measures.number = scores.measure
            WHERE remark != '' GROUP BY protocol, place, name, remark
        """
        remarks: dict[str, dict[str, tuple[int, int]]] = {}
        for protocol, part, name, remark, runs, missing in self._rows(query):
            column = name + _suffix(protocol, own, part)
            remarks.setdefault(column, {})[remark] = runs, missing
        return remarks

    def measures(self) -> list[Measure]:
        """How the scores of the last step were computed, the newest last."""
        rows = self._rows("SELECT metric, protocol, options, code FROM measures ORDER BY number")
        measures = [
            Measure(metric, protocol, parse_json(text), code)
            for metric, protocol, text, code in rows
        ]
        return [m for m in measures if not {"step", "part"} & {*m.options}]

    def scored_steps(self) -> list[int]:
        """Steps before the last that have scores."""
        options = self._rows("SELECT DISTINCT options FROM measures")
        steps = {parse_json(text).get("step") for (text,) in options}
        return sorted(step for step in steps if step is not None)

    def records(self) -> dict[str, RunRecord]:
        """What came of each run that has ended, by id."""
        rows = self._rows("SELECT * FROM runs ORDER BY run")
        records = {row[0]: RunRecord(row, {}) for row in rows}
        query = """
            SELECT run, metric, protocol, options, code, name, value, remark FROM scores
            JOIN measures ON measures.number = scores.measure ORDER BY measure, name
        """
        for run, *measure, value, remark in self._rows(query):
            records[run].scores[tuple(measure)] = value, remark
        return records

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with explained(self.folder, "read"):
            return self.db.execute(query, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: all of it is on the disk at its end, or nothing."""
        with explained(self.folder, "write"), self.db:
            yield self.db

    def close(self) -> None:
        """Leave one plain file behind, unless someone is reading it."""
        with contextlib.suppress(sqlite3.Error):
            self.db.execute("PRAGMA busy_timeout = 0")
            self.db.execute("PRAGMA journal_mode = DELETE")
        self.db.close()

    def save_plan(
        self,
        *,
        configurations: Sequence[Mapping[str, Any]],
        populations: Sequence[Mapping[str, Any]],
        run_ids: Sequence[str],
        rescore: bool,
        facts: Mapping[str, str],
    ) -> None:
        """Write a plan: new runs are added, those that it no longer has keep their records.

        Args:
            configurations: Settings of all runs that are new.
            populations: Of the new runs: ``key``, ``steps``, and ``runs``, each an ``id``, a
                ``configuration`` as a place among them, and a ``seed``.
            run_ids: Of all runs of the plan, in order.
            rescore: Whether populations that are done have to be scored again.
            facts: Of the study.
        """
        with self.writing() as db:
            numbers = number_rows(
                db, "configurations", "spec", [(json.dumps(c),) for c in configurations]
            )
            first = db.execute("SELECT count(*) FROM populations").fetchone()[0]
            db.executemany(
                "INSERT INTO populations VALUES (?, ?, ?, ?, ?, 'train', 0, NULL)",
                (
                    (p["key"], first + i, len(p["runs"]), p["steps"], PENDING)
                    for i, p in enumerate(populations)
                ),
            )
            db.executemany(
                "INSERT INTO plan VALUES (?, 0, ?, ?, ?, ?, 1)",
                (
                    (run["id"], numbers[run["configuration"]], run["seed"], p["key"], member)
                    for p in populations
                    for member, run in enumerate(p["runs"])
                ),
            )
            db.execute("UPDATE plan SET current = 0")
            db.executemany(
                "UPDATE plan SET current = 1, position = ? WHERE run = ?", enumerate(run_ids)
            )
            if rescore:
                db.execute("UPDATE populations SET status = ? WHERE status = ?", (PENDING, DONE))
            note_facts(db, facts)

    def rewrite(self, settings: Mapping[int, Any], text: str) -> None:
        """Give a copy of a study other settings and another file, without messages of errors.

        Raises:
            sqlite3.IntegrityError: Two configurations have the same settings now.
        """
        specs = [(json.dumps(table), number) for number, table in settings.items()]
        with self.db as db:
            db.executemany("UPDATE configurations SET spec = ? WHERE number = ?", specs)
            db.execute("UPDATE facts SET value = ? WHERE name = 'text'", [text])
            db.execute("UPDATE populations SET error = 'it failed' WHERE error IS NOT NULL")
        self.db.execute("VACUUM")  # or old values stay in free pages

    def progress(self, progress_by_key: Mapping[str, tuple[str, int]]) -> None:
        """How far populations are: what is being done, and how many steps or scores of it."""
        with self.writing() as db:
            db.executemany(
                "UPDATE populations SET status = ?, phase = ?, done = ? WHERE key = ?",
                ((RUNNING, phase, done, key) for key, (phase, done) in progress_by_key.items()),
            )

    def release(self) -> None:
        """Nothing is running: the process that said so is gone."""
        with self.writing() as db:
            db.execute("UPDATE populations SET status = ? WHERE status = ?", (PENDING, RUNNING))

    def reopen(self, keys: Iterable[str]) -> None:
        """Populations that are to be looked at again: what they have is not done twice."""
        with self.writing() as db:
            db.executemany(
                "UPDATE populations SET status = ? WHERE key = ?", ((PENDING, key) for key in keys)
            )

    def note(self, facts: Mapping[str, str]) -> None:
        """Write down facts of the study."""
        with self.writing() as db:
            note_facts(db, facts)

    def divide(self, key: str, parts: Mapping[str, Sequence[str]]) -> None:
        """Put the runs of a population that has not begun into several.

        Args:
            key: Of the population.
            parts: Ids of runs by the key of their population; all runs of the old one.
        """
        with self.writing() as db:
            for name, runs in parts.items():
                db.execute(
                    "INSERT INTO populations SELECT ?, position, ?, steps, ?, 'train', 0, NULL "
                    "FROM populations WHERE key = ?",
                    (name, len(runs), PENDING, key),
                )
                db.executemany(
                    "UPDATE plan SET population = ?, member = ? WHERE run = ?",
                    ((name, member, run) for member, run in enumerate(runs)),
                )
            db.execute("DELETE FROM populations WHERE key = ?", (key,))

    def fail(self, key: str, error: str) -> None:
        """A population could not be trained or scored."""
        with self.writing() as db:
            db.execute(
                "UPDATE populations SET status = ?, error = ? WHERE key = ?", (FAILED, error, key)
            )

    def adopt(self, records: Mapping[str, RunRecord], done: Iterable[str]) -> None:
        """Take over records of runs that are planned here, and which populations are done."""
        with self.writing() as db:
            db.executemany(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (record.result for record in records.values()),
            )
            rows = [(run, *entry) for run, r in records.items() for entry in r.scores.items()]
            columns = "metric, protocol, options, code"
            numbers = number_rows(db, "measures", columns, [measure[:-1] for _, measure, _ in rows])
            db.executemany(
                "INSERT INTO scores VALUES (?, ?, ?, ?, ?)",
                (
                    (run, number, measure[-1], *score)
                    for (run, measure, score), number in zip(rows, numbers, strict=True)
                ),
            )
            db.executemany(
                "UPDATE populations SET status = ?, done = steps WHERE key = ?",
                ((DONE, key) for key in done),
            )

    def finish(self, key: str, outcome: Mapping[str, Any]) -> None:
        """Record what came of a population; records that are there stay as they are.

        Args:
            key: Of the population.
            outcome: The fields of a `task.Outcome`, records of scores as in their file.
        """
        with self.writing() as db:
            add_results(db, outcome, len(outcome["members"]))
            db.execute(
                "UPDATE populations SET status = ?, error = NULL, done = steps, phase = 'train' "
                "WHERE key = ?",
                (DONE, key),
            )

    def add_models(self, outcome: Mapping[str, Any], size: int) -> None:
        """Record what came of some models of a population at work.

        Args:
            outcome: The fields of a `task.Outcome` that has these models.
            size: Models of the population.
        """
        with self.writing() as db:
            add_results(db, outcome, size)
