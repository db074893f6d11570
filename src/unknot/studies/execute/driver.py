"""Execution: from a plan to records. The driver alone writes them; workers do the work."""

import functools
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import unknot
from unknot.core.errors import ConfigError, DamageError, StoreError
from unknot.core.files import check_folder, read_whole, write_whole
from unknot.losses.features import is_of_modules, known_module
from unknot.nets.parts import given_modules
from unknot.runs import config, lock
from unknot.runs.folder import RunFolder
from unknot.runs.training import Stopped
from unknot.studies.database import FILE, SEAL
from unknot.studies.execute import rebuild, stages, task
from unknot.studies.execute.events import Done, Event, Failed, Finished, Pool, Progress
from unknot.studies.execute.finished_models import Lookout
from unknot.studies.execute.halving import halve
from unknot.studies.execute.local import LocalPool, local
from unknot.studies.execute.machine import Machine
from unknot.studies.execute.machine import machine as this_machine
from unknot.studies.execute.overlap import OverlapPool
from unknot.studies.execute.score_models import scoring_processes
from unknot.studies.file.study_file import StudyFile
from unknot.studies.needed_files import drop_missing, require_files
from unknot.studies.omissions import FACT as OMISSIONS
from unknot.studies.omissions import read_omissions
from unknot.studies.opening import create, open_to_read, seal
from unknot.studies.plan import Plan, configuration_table, plan, shards
from unknot.studies.store import DONE, Store
from unknot.studies.study import Study

OURS = {".lock", FILE, SEAL}
"""All that a study killed at its birth leaves behind."""
WRITE_EVERY = 2.0
"""Seconds between two notes of progress in the records."""


@contextmanager
def driver(folder: Path) -> Iterator[Store]:
    """Hold a study's folder to write its records."""
    refusal = f"Another process is running the study in {folder}; wait for it or stop it first."
    with lock.hold(folder, refusal):
        store = create(folder)
        try:
            store.release()
            yield store
        finally:
            store.close()
            seal(folder)


def save_plan(store: Store, new: Plan, machine: Machine, *, update: bool = False) -> None:
    """Write a plan into the records: the first time, or what is new in it.

    Args:
        store: The records.
        new: The plan.
        machine: Where it will run.
        update: Allow another plan than the one that is there.
    """
    facts = store.facts()
    stored = {run.id: bool(run.current) for run in store.runs()}
    wish = new.facts()
    ids = [run.id for run in new.runs]
    if stored and not update and (changes := _difference(facts, wish, stored, ids)):
        raise ConfigError(
            f"The study file has changed since {store.folder} was planned ({changes}). "
            "Use --update (in Python, update=True) to apply it, or choose another folder with "
            "--out; results are kept."
        )
    threads = facts.get("threads", str(machine.threads or ""))
    size = new.sweep.members or machine.members(len(ids))
    added = shards(new, members=size, without=stored)
    store.save_plan(
        configurations=[configuration_table(spec) for spec in new.configurations],
        populations=[
            {
                "key": shard.key,
                "steps": new.configurations[shard.runs[0].configuration].updates,
                "runs": [asdict(run) for run in shard.runs],
            }
            for shard in added
        ],
        run_ids=ids,
        rescore=any(facts.get(name) != value for name, value in wish.items() if name != "name"),
        facts={
            **wish,
            "text": new.file.text,
            "threads": threads,
            "unknot": unknot.__version__,
            OMISSIONS: json.dumps(new.omissions),
        },
    )
    write_whole(store.folder / "study.toml", new.file.text)


def _difference(
    facts: Mapping[str, str], wish: Mapping[str, str], stored: Mapping[str, bool], ids: list[str]
) -> str:
    """What another plan would change, in words; empty if nothing."""
    current = {run for run, still in stored.items() if still}
    counts = {"adds": len({*ids} - current), "drops": len(current - {*ids})}
    changes = [f"{verb} {n:,} run{'s' * (n != 1)}" for verb, n in counts.items() if n]
    changes += [
        f"{name} was {facts[name]} and is {wish[name]}"
        for name in ("metrics", "protocol", "score_seed")
        if facts[name] != wish[name]
    ]
    return ", ".join(changes)


def run(
    folder: Path,
    study: StudyFile | None = None,
    *,
    device: str = "auto",
    workers: int | None = None,
    update: bool = False,
    skip_missing: bool = False,
    machine: Callable[..., Machine] = this_machine,
    pool: Pool | None = None,
    on_start: Callable[[Store, Machine], None] = lambda _, __: None,
    watch: Callable[[Event], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Study:
    """Run a study into a folder, or resume the one that is there.

    Args:
        folder: Of the study.
        study: What to run; the study file of the folder when None.
        device: ``auto``, ``cpu``, ``cuda`` for all GPUs, ``cuda:1`` or ``cuda:0,1``.
        workers: Processes; one for each core, or one for each GPU, or what a cluster has room for,
            when None.
        update: Resume even where the file asks for something else than what is there.
        skip_missing: Plan without the runs whose files are missing; those that are planned already
            stay. Else all files have to be there.
        machine: Says how the study is spread; a `Backend` has its own.
        pool: Who performs the tasks; processes of this machine unless given.
        on_start: Told when the plan is written down and work begins.
        watch: Told of every event.
        stop: Asked several times a second; then raises `Stopped`, with all workers gone.
    """
    if reason := rebuild.why(folder):
        warnings.warn(f"{reason} It is rebuilt from study.toml and populations.", stacklevel=2)
        rebuild.rebuild(folder, functools.partial(machine, device=device, workers=workers))
    stored = _facts(folder) if study else Study.open(folder).store.facts()
    if study is None:
        study = StudyFile.parse(_folder_text(folder, stored["text"]))
    elif not stored:
        check_folder(folder)
        if folder.is_dir() and not {*map(_name, folder.iterdir())} <= OURS:
            raise StoreError(f"{folder} is not an empty folder; choose another with --out.")
    # A bad file must be refused before anything is written.
    same = study.text == stored.get("text")
    new = None if same and not read_omissions(stored) else plan(study)
    if new is not None:
        if skip_missing:
            new = drop_missing(new, keep=_run_ids(folder) if stored else ())
        else:
            require_files(new)
        _require_objects(
            {"net": spec.net.table(), "data": spec.data.table()} for spec in new.configurations
        )
    local_machine = machine(len(new.runs) if new else 1, device=device, workers=workers)
    with driver(folder) as store:
        facts = store.facts()
        changed = facts.get("text") != study.text
        if changed or new is not None:
            # Of the same file there are the same runs or, with more files, more of them.
            save_plan(store, new or plan(study), local_machine, update=update or not changed)
        elif not (folder / "study.toml").exists():
            write_whole(folder / "study.toml", study.text)
        threads = int(store.facts()["threads"] or 0) or None
        local_machine = machine(1, device=device, workers=workers, threads=threads)
        store.reopen(_lost(store))
        on_start(store, local_machine)
        execute(store, local_machine, pool=pool, watch=watch, stop=stop)
    return Study.open(folder)


def _lost(store: Store) -> list[str]:
    """Populations that are said to be done and whose folder does not say so.

    One that is not there at all was left behind on purpose, when a study was copied.
    """
    keys = []
    for population in store.populations():
        folder = store.place(population.key)
        if population.status == DONE and folder.is_dir():
            try:
                lost = not RunFolder(folder).record()
            except DamageError:
                lost = True
            keys += [population.key] * lost
    return keys


def _facts(folder: Path) -> dict[str, str]:
    """What is known of the study in a folder; nothing where there is none."""
    try:
        store = open_to_read(folder)
    except StoreError:  # whoever writes to it next will say what is wrong
        return {}
    with closing(store.db):
        return store.facts()


def _run_ids(folder: Path) -> set[str]:
    """Runs that a study asks for by its records."""
    with closing((store := open_to_read(folder)).db):
        return {run.id for run in store.runs() if run.current}


def _name(file: Path) -> str:
    return file.name.removesuffix("-wal").removesuffix("-shm").removesuffix("-journal")


def _folder_text(folder: Path, stored: str) -> str:
    """The study file of a folder, which its owner may have changed."""
    try:
        return read_whole(folder / "study.toml").decode("utf-8-sig")
    except FileNotFoundError:
        return stored
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"Could not read {folder / 'study.toml'}: {error}.") from error


def execute(
    store: Store,
    machine: Machine,
    *,
    pool: Pool | None = None,
    watch: Callable[[Event], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Do what is left of a study; what a task gives is recorded when it is on the disk.

    Runs that take settings from the results of others come when all those have ended.

    Args:
        store: The records, opened by `driver`.
        machine: Where it runs.
        pool: Who performs the tasks; processes of this machine unless given.
        watch: Told of every event.
        stop: Asked now and then.
    """
    later = stages.later_populations(store)
    first = [key for key in store.unfinished() if key not in later]
    _perform(store, first, machine, pool, watch, stop)
    if not later:
        return
    unfit: set[str] = set()
    for event in stages.settle(store):
        if isinstance(event, Failed):
            unfit.add(event.key)
        watch(event)
    later = stages.later_populations(store)
    second = [key for key in store.unfinished() if key in later and key not in unfit]
    _perform(store, second, machine, pool, watch, stop)


def _require_objects(configurations: Iterable[Mapping[str, Any]]) -> None:
    """What was given in Python is in that process alone: elsewhere no run is tried."""
    for table in configurations:
        if table["net"].get("name") == "modules":
            given_modules.find(table["net"]["structure"])
        if is_of_modules(likelihood := table.get("objective", {}).get("likelihood")):
            known_module(str(likelihood.get("sha256")))
        if table["data"].get("name") == "memory":
            config.data(table["data"]).settings.load()


def _perform(
    store: Store,
    keys: Sequence[str],
    machine: Machine,
    pool: Pool | None,
    watch: Callable[[Event], None],
    stop: Callable[[], bool],
) -> None:
    """Do populations, and then the halves of those that there is too little memory for."""
    while keys:
        keys = _perform_all(store, keys, machine, pool, watch, stop)


def _perform_all(
    store: Store,
    keys: Sequence[str],
    machine: Machine,
    pool: Pool | None,
    watch: Callable[[Event], None],
    stop: Callable[[], bool],
) -> list[str]:
    """Do populations once; gives the keys of halves that are left to do."""
    here_on_gpus = machine.gpu and pool is None
    overlap = here_on_gpus and len(keys) > machine.workers and store.facts()["metrics"] != "[]"
    # Workers that share this machine's GPU share its cores, too, when they score; who trains
    # meanwhile has one for itself.
    share = max(1, scoring_processes() // machine.workers - overlap) if here_on_gpus else None
    tasks = [
        task.from_store(store, key, device=machine.device, threads=machine.threads, processes=share)
        for key in keys
    ]
    _require_objects(table for each in tasks for table in each.configurations)
    here_alone = functools.partial(
        local,
        workers=machine.workers,
        threads=machine.threads,
        devices=machine.devices,
        stop=stop,
        pool=OverlapPool if overlap else LocalPool,
    )
    events = (pool or here_alone)(tasks)
    task_of, lookout = {each.key: each for each in tasks}, Lookout(time.monotonic)
    progress: dict[str, tuple[str, int]] = {}
    halves: list[str] = []
    last_write = 0.0
    try:
        for event in events:
            if isinstance(event, Progress):
                progress[event.key] = event.phase, event.done
            else:
                progress.pop(event.key, None)
            if isinstance(event, Done):
                store.finish(event.key, asdict(event.outcome))
            elif isinstance(event, Failed):
                if division := halve(store, event):
                    event, halves = division, [*halves, *division.parts]
                else:
                    store.fail(event.key, event.error)
            else:
                if time.monotonic() - last_write >= WRITE_EVERY:
                    last_write = time.monotonic()
                    store.progress(progress)
                if isinstance(event, Progress) and event.phase == "score":
                    whole = task_of[event.key]
                    if outcome := lookout.look(whole):
                        store.add_models(asdict(outcome), len(whole.members))
                        watch(Finished(event.key, len(outcome.members)))
            watch(event)
            if stop():  # pools of other machines are not asked
                raise Stopped
    finally:
        getattr(events, "close", lambda: None)()  # stops workers; a generator has it
        store.release()
    return halves
