"""Rebuild: the records of a study from its file and the folders of its populations."""

import contextlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import unknot
from unknot.core import dotted
from unknot.core.errors import DamageError, StoreError, UnknotError
from unknot.core.files import atomic_path, read_whole
from unknot.runs import config, lock, records
from unknot.runs.folder import RunFolder
from unknot.studies.database import FILE, SEAL, TEXT
from unknot.studies.execute.machine import Machine
from unknot.studies.file.study_file import StudyFile
from unknot.studies.needed_files import drop_missing
from unknot.studies.omissions import FACT as OMISSIONS
from unknot.studies.opening import create, open_to_read, seal
from unknot.studies.plan import Plan, configuration_table, key_of, plan, shards
from unknot.studies.results import FACT as RESULTS
from unknot.studies.soundness import KEY
from unknot.studies.store import Store


def why(folder: Path) -> str | None:
    """Why the records of a study have to be rebuilt; None if they have not, or cannot."""
    if not (folder / "populations").is_dir() and not (folder / TEXT).is_file():
        return None
    if not (folder / FILE).exists():
        missing = (folder / TEXT).is_file() and (folder / "populations").is_dir()
        return f"{folder / FILE} is missing." if missing else None
    try:
        with contextlib.closing(open_to_read(folder).db) as db:
            planned = "text" in Store(folder, db).facts()
    except DamageError as error:
        return str(error).partition(" Rebuild it")[0]
    except StoreError:  # of another format, say: whoever opens it will tell
        return None
    return None if planned or not any_population(folder) else f"{folder / FILE} is empty."


def rebuild(folder: Path, machine: Callable[[int], Machine]) -> None:
    """Write the records again; those that were there stay beside them as `study.db.damaged`.

    Populations whose folders say what they hold keep their models and scores; all of them are
    looked at again by the next `unknot study run`, which trains nothing that is there.

    Args:
        folder: Of the study.
        machine: Says how many runs form a population, where none is left to tell.
    """
    refusal = f"Another process is running the study in {folder}; wait for it or stop it first."
    with lock.hold(folder, refusal):
        new = plan(StudyFile.parse(_text(folder)))
        kept = _populations(folder, new)
        # What else was planned is not known; `unknot study run` adds it when files are there.
        trained = {member["id"] for record in kept.values() for member in record["members"]}
        new = drop_missing(new, keep=trained)
        with atomic_path(folder / FILE) as part:
            store = create(folder, part.name)
            try:
                _fill(store, new, kept, machine)
            finally:
                store.close()
            _put_aside(folder)
        seal(folder)


def any_population(folder: Path) -> bool:
    """Whether a study folder has populations."""
    return any((folder / "populations").glob("*/status.json"))


def _text(folder: Path) -> str:
    """The study file; if it is lost, what the damaged records say of it, if they can be read."""
    with contextlib.suppress(OSError, UnicodeDecodeError, UnknotError):
        text = read_whole(folder / TEXT).decode("utf-8-sig")
        StudyFile.parse(text)
        return text
    with contextlib.suppress(sqlite3.Error, StoreError):
        uri = f"{(folder / FILE).absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True)) as db:
            return str(Store(folder, db).facts()["text"])
    raise StoreError(f"{folder} cannot be rebuilt without its {TEXT}; put the study file there.")


def _populations(folder: Path, new: Plan) -> dict[str, dict[str, Any]]:
    """What the status of each population says, by key; without those that cannot be placed."""
    planned = {run.id for run in new.runs}
    kept = {}
    for path in sorted((folder / "populations").glob("*")):
        if not KEY.fullmatch(path.name):
            continue
        with contextlib.suppress(DamageError):
            record = RunFolder(path).record()
            ids = [member["id"] for member in record.get("members", [])]
            known = planned.issuperset(ids) or "settings" in record
            if ids and key_of(ids) == path.name and known:
                kept[path.name] = record
    return kept


def _fill(
    store: Store,
    new: Plan,
    kept: Mapping[str, dict[str, Any]],
    machine: Callable[[int], Machine],
) -> None:
    configurations = [configuration_table(spec) for spec in new.configurations]
    places = {run.id: run.configuration for run in new.runs}
    populations = []
    for key, record in kept.items():
        runs = []
        for i, member in enumerate(record["members"]):
            place = places.get(member["id"])
            if place is None:  # of a run that the file no longer asks for
                table = record["settings"][record["settings_of"][i]]
                table = configuration_table(config.spec({**table, "seeds": [member["seed"]]}))
                place = configurations.index(table) if table in configurations else -1
                if place < 0:
                    configurations.append(table)
                    place = len(configurations) - 1
            runs.append({"id": member["id"], "configuration": place, "seed": member["seed"]})
        populations.append({"key": key, "steps": record["steps"], "runs": runs})
    results: dict[str, dict[str, float]] = {}
    for record in kept.values():
        for i, member in enumerate(record["members"] if "settings" in record else ()):
            table = record["settings"][record["settings_of"][i]]
            paths = [origin["setting"] for origin in table.get("origins", ())]
            if paths:
                results[member["id"]] = {path: dotted.get(table, path) for path in paths}
    ids = {run["id"] for population in populations for run in population["runs"]}
    spread = machine(len(new.runs))
    threads = [str(record["versions"]["threads"]) for record in kept.values()]
    for shard in shards(
        new, members=new.sweep.members or spread.members(len(new.runs)), without=ids
    ):
        steps = new.configurations[shard.runs[0].configuration].updates
        runs = [asdict(run) for run in shard.runs]
        populations.append({"key": shard.key, "steps": steps, "runs": runs})
    store.save_plan(
        configurations=configurations,
        populations=populations,
        run_ids=[run.id for run in new.runs],
        rescore=False,
        facts={
            **new.facts(),
            "text": new.file.text,
            "threads": threads[0] if threads else str(spread.threads or ""),
            "unknot": unknot.__version__,
            OMISSIONS: json.dumps(new.omissions),
            RESULTS: json.dumps(results),
        },
    )
    for key, record in kept.items():
        if record["status"] in ("done", "diverged"):
            store.finish(key, _outcome(store.place(key), record))
    store.reopen(kept)  # scores that do not apply are not in the folders


def _outcome(folder: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    scores: list[records.Record] = []
    with contextlib.suppress(DamageError):  # they are computed again
        scores = records.read(folder)
    facts = {name: record[name] for name in ("step", "seconds", "device", "versions", "members")}
    return {**facts, "scores": [asdict(score) for score in scores]}


def _put_aside(folder: Path) -> None:
    """Keep damaged records under another name, without the journal that belongs to them."""
    with contextlib.suppress(FileNotFoundError):
        (folder / FILE).replace(folder / f"{FILE}.damaged")
    for name in (SEAL, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
        (folder / name).unlink(missing_ok=True)
