"""Repair of a study folder: what is damaged in it, and what of it can be made whole again."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from unknot.core.errors import DamageError, StoreError
from unknot.core.files import read_whole, write_whole
from unknot.runs import repair as run_repair
from unknot.runs.folder import RunFolder
from unknot.runs.repair import Fault
from unknot.studies.database import FILE, TEXT
from unknot.studies.execute import rebuild
from unknot.studies.execute.driver import driver
from unknot.studies.execute.machine import machine
from unknot.studies.file.study_file import StudyFile
from unknot.studies.opening import open_to_read
from unknot.studies.store import DONE, Store


def find_faults(
    folder: Path, on_population: Callable[[int, int], None] = lambda _, __: None
) -> list[Fault]:
    """What is damaged in a study folder; every file of it is read.

    Args:
        folder: Of the study.
        on_population: Told how many populations were looked at, of how many.
    """
    if reason := rebuild.why(folder):
        what = reason.removeprefix(f"{folder / FILE} ").rstrip(".")
        fault = Fault(folder / FILE, what, f"rebuilt from {TEXT} and populations")
        paths = sorted(path for path in (folder / "populations").glob("*") if path.is_dir())
        return [fault, *_of_populations(paths, on_population)]
    with closing(open_to_read(folder).db) as db:
        store = Store(folder, db)
        stored = store.facts().get("text", "")
        ended = [store.place(p.key) for p in store.populations() if p.status == DONE]
        begun = [store.place(p.key) for p in store.populations() if p.status != DONE]
    paths = [path for path in (*ended, *begun) if path.is_dir()]
    return [*_of_text(folder, stored), *_of_populations(paths, on_population)]


def absent_populations(folder: Path) -> list[str]:
    """Populations that the records call trained and whose folders are not there.

    That is no damage: who copies a study may leave its models behind.
    """
    if rebuild.why(folder):
        return []
    store = open_to_read(folder)
    with closing(store.db):
        done = [p.key for p in store.populations() if p.status == DONE]
        return sorted(key for key in done if not store.place(key).is_dir())


def repair(folder: Path, faults: list[Fault]) -> str:
    """Mend what can be mended without training; says what is left to do, or nothing.

    Args:
        folder: Of a study.
        faults: What `find_faults` gives.
    """
    damaged = {fault.path: fault for fault in faults}
    if folder / FILE in damaged:
        rebuild.rebuild(folder, machine)
    with driver(folder) as store:
        if folder / TEXT in damaged:
            write_whole(folder / TEXT, store.facts()["text"])
        keys = []
        for population in store.populations():
            path = store.place(population.key)
            if any(path in fault.path.parents for fault in faults):
                run_repair.clean(RunFolder(path))
                keys.append(population.key)
        store.reopen(keys)
        left = store.unfinished()
    return f"Train and score what is left with: unknot study run {folder}" if left else ""


def _of_text(folder: Path, stored: str) -> Iterator[Fault]:
    """An edited study file is no damage: `unknot study run` says what it would change."""
    file = folder / TEXT
    remedy = f"written again from {FILE}"
    try:
        text = read_whole(file).decode("utf-8-sig")
        if text != stored:
            StudyFile.parse(text)
    except FileNotFoundError:
        yield Fault(file, "is missing", remedy)
    except (OSError, UnicodeDecodeError, StoreError, DamageError) as error:
        yield Fault(file, f"cannot be read: {error}", remedy)


def _of_populations(
    paths: list[Path], on_population: Callable[[int, int], None]
) -> Iterator[Fault]:
    for i, path in enumerate(paths):
        yield from run_repair.find_faults(RunFolder(path))
        on_population(i + 1, len(paths))
