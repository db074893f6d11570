"""Merging: several studies as one, where machines without a common disk shared the work.

Their files may differ in seeds, in grids or in one axis of ``[across]``, which are put together.
Runs are known by their ids, so it does not matter who trained them, nor in which population.
"""

import json
import shutil
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import unknot
from unknot.core import dotted
from unknot.core.border import parse_json
from unknot.core.errors import ConfigError, DamageError, StoreError
from unknot.core.files import atomic_path, check_folder, is_special, write_whole
from unknot.runs import lock, records, status
from unknot.runs.folder import RunFolder
from unknot.runs.selection import write_members
from unknot.studies.database import TEXT
from unknot.studies.execute.machine import machine
from unknot.studies.file.study_file import StudyFile
from unknot.studies.file.sweep import expand
from unknot.studies.omissions import FACT as OMISSIONS
from unknot.studies.opening import create, open_to_read, seal
from unknot.studies.plan import Plan, Planned, configuration_table, key_of, plan, shards
from unknot.studies.results import FACT as RESULTS
from unknot.studies.results import read_values
from unknot.studies.store import DONE, Store
from unknot.studies.store_records import RunRecord, StudyRun

OWN = ("name", "members", "train.data.path")
"""What each machine may say in its own way; what the first says stays."""
NO_RESULTS = (4, 5, 6)
"""Seconds, device and versions in a run's row: where it was trained, not what came of it."""


def merge(folders: Sequence[Path], out: Path) -> None:
    """Write several studies as one; the others stay as they are.

    Args:
        folders: Of two studies or more. What only one of them can say, such as the name, is that
            of the first.
        out: A folder that is not there yet, or is empty.

    Raises:
        ConfigError: Their files differ in more than can be put together.
        StoreError: A run has other results in one than in another.
    """
    if len(folders) < 2:
        raise ConfigError(f"A merge needs two studies or more; got {len(folders)}.")
    check_folder(out)
    if out.is_dir() and any(out.iterdir()):
        raise StoreError(f"{out} is not an empty folder; choose another with --out.")
    if inner := [str(f) for f in folders if out.resolve().is_relative_to(f.resolve())]:
        raise StoreError(
            f"{out} is inside {inner[0]}, which a merge leaves as it is; choose another."
        )
    out = out.resolve() if out.is_dir() else out  # a link to a folder stays one
    with ExitStack() as stack:
        stores = [_open(folder, stack) for folder in folders]
        file = _one_file(stores)
        results = _results(stores)
        new, omissions = _plan(file, stores)
        with atomic_path(out, new=True) as part:
            part.mkdir()
            _write(part, stores, new, omissions, results)


def _open(folder: Path, stack: ExitStack) -> Store:
    store = open_to_read(folder)
    stack.enter_context(closing(store.db))
    if "text" not in store.facts():
        raise StoreError(f"The study in {folder} was never planned; there is nothing to merge.")
    if lock.is_held(folder):
        raise StoreError(f"Another process is running the study in {folder}; wait for it first.")
    return store


def _one_file(stores: Sequence[Store]) -> StudyFile:
    """The study file that asks for the runs of all."""
    first = StudyFile.parse(stores[0].facts()["text"], str(stores[0].folder / TEXT))
    table = dict(first.table)
    for store in stores[1:]:
        other = StudyFile.parse(store.facts()["text"], str(store.folder / TEXT)).table
        table = _united(table, other, f"{stores[0].folder} and {store.folder}")
    return StudyFile(table, first.text)


def _united(table: Mapping[str, Any], other: Mapping[str, Any], which: str) -> dict[str, Any]:
    """Two files as one that asks for the runs of both.

    Example:
        >>> _united({"seeds": "0..1"}, {"seeds": [2, 5]}, "a and b")
        {'seeds': [0, 1, 2, 5]}
    """
    ours, theirs = dict(dotted.leaves(dict(table))), dict(dotted.leaves(dict(other)))
    paths = [*ours, *(path for path in theirs if path not in ours)]
    differ = [p for p in paths if ours.get(p) != theirs.get(p) and p not in OWN]
    seeds = expand({"seeds": table.get("seeds", 0)}).seeds
    more = expand({"seeds": other.get("seeds", 0)}).seeds
    if {*seeds} == {*more}:
        differ = [path for path in differ if path != "seeds"]
    if not differ:
        return dict(table)
    can = differ[0] in ("seeds", "grid") or differ[0].startswith("across.")
    if len(differ) > 1 or not can or differ[0] not in {*ours} & {*theirs} | {"seeds"}:
        raise ConfigError(
            f"The studies in {which} differ in {', '.join(differ)}; only studies that differ in "
            "seeds, in grids or in one axis of [across] can be merged."
        )
    (path,) = differ
    result: dict[str, Any] = json.loads(json.dumps(table))
    if path == "seeds":
        result["seeds"] = sorted({*seeds, *more})
        return result
    mine, yours = (v if isinstance(v, list) else [v] for v in (ours[path], theirs[path]))
    dotted.put(result, path, [*mine, *(value for value in yours if value not in mine)])
    return result


def _results(stores: Sequence[Store]) -> dict[str, RunRecord]:
    """Records of all runs; the same run may be in several, with the same results."""
    results: dict[str, RunRecord] = {}
    where: dict[str, Path] = {}
    for store in stores:
        for run, record in store.records().items():
            known = results.setdefault(run, record)
            if what := _difference(known, record):
                raise StoreError(
                    f"Run {run} has another {what} in {where[run]} than in {store.folder}; "
                    "leave it out of one of them."
                )
            where.setdefault(run, store.folder)
            results[run] = RunRecord(known.result, {**record.scores, **known.scores})
    return results


def _difference(one: RunRecord, other: RunRecord) -> str:
    """What came of the same run in two ways; empty if nothing."""
    names = "id", "status", "step at which it diverged", "last step", "", "", "", "last values"
    for i, (a, b) in enumerate(zip(one.result, other.result, strict=True)):
        if i not in NO_RESULTS and a != b:
            return f"{names[i]} ({a} and {b})" if i < max(NO_RESULTS) else names[i]
    for measure, score in one.scores.items():
        if other.scores.get(measure, score)[0] != score[0]:
            return f"score {measure[-1]} ({score[0]} and {other.scores[measure][0]})"
    return ""


def _plan(file: StudyFile, stores: Sequence[Store]) -> tuple[Plan, dict[str, int]]:
    """The plan of the merged file, and how many runs of it no study has, by dataset."""
    new = plan(file)
    stored = {run.id for store in stores for run in store.runs() if run.current}
    if strangers := stored - {run.id for run in new.runs}:
        raise StoreError(
            f"Run {min(strangers)} is not what this version of unknot calls it; finish and merge "
            "the studies with the version that planned them."
        )
    left_out = [run for run in new.runs if run.id not in stored]
    names = (new.configurations[run.configuration].data.name for run in left_out)
    return new, dict(Counter(names))


def _write(
    folder: Path,
    stores: Sequence[Store],
    new: Plan,
    omissions: Mapping[str, int],
    results: Mapping[str, RunRecord],
) -> None:
    tables = [configuration_table(spec) for spec in new.configurations]
    planned = {run.id: run for run in new.runs}
    asked = {run.id for store in stores for run in store.runs() if run.current}
    populations: list[dict[str, Any]] = []
    done: list[str] = []
    taken: set[str] = set()

    def place(run: StudyRun) -> dict[str, Any]:
        if run.id in planned:
            return asdict(planned[run.id])
        table = parse_json(run.spec)  # of a run that the file no longer asks for
        if table not in tables:
            tables.append(table)
        return asdict(Planned(run.id, tables.index(table), run.seed))

    for finished in (True, False):  # what is done is not done again
        for store in stores:
            for members in _populations(store, done=finished):
                left = [run for run in members if run.id not in taken]
                whole = len(left) == len(members)
                if not left or not (whole or finished):
                    continue
                key = key_of(run.id for run in left)
                _copy(store, members, left, folder / "populations" / key)
                taken.update(run.id for run in left)
                steps = _steps(store, members[0].population)
                populations.append({"key": key, "steps": steps, "runs": [*map(place, left)]})
                done += [key] * finished
    here = machine(1)
    rest = shards(
        new,
        members=new.sweep.members or here.members(len(new.runs)),
        without=taken | ({*planned} - asked),
    )
    for shard in rest:  # begun in two populations
        steps = new.configurations[shard.runs[0].configuration].updates
        runs = [asdict(run) for run in shard.runs]
        populations.append({"key": shard.key, "steps": steps, "runs": runs})
    values = {k: v for s in reversed(stores) for k, v in read_values(s.facts()).items()}
    threads = [store.facts()["threads"] for store in stores]
    if len({*threads}) > 1:
        warnings.warn(
            f"The studies used other numbers of threads ({', '.join(threads)}), which gives other "
            f"bits; what is left to train uses {threads[0]}.",
            stacklevel=3,
        )
    merged = create(folder)
    try:
        merged.save_plan(
            configurations=tables,
            populations=populations,
            run_ids=[run.id for run in new.runs if run.id in asked],
            rescore=False,
            facts={
                **new.facts(),
                "text": new.file.text,
                "threads": threads[0],
                "unknot": unknot.__version__,
                OMISSIONS: json.dumps(omissions),
                RESULTS: json.dumps(values),
            },
        )
        merged.adopt({run: record for run, record in results.items() if run in taken}, done)
        _add_scores(merged, stores)
    finally:
        merged.close()
    seal(folder)
    write_whole(folder / TEXT, new.file.text)


def _populations(store: Store, *, done: bool) -> list[list[StudyRun]]:
    """Runs by population, of those that are done or of the others."""
    by_key: dict[str, list[StudyRun]] = {}
    for run in store.runs():
        if (run.population_status == DONE) == done:
            by_key.setdefault(run.population, []).append(run)
    return [sorted(runs, key=lambda run: run.member) for runs in by_key.values()]


def _steps(store: Store, population: str) -> int:
    return store.population_steps()[population]


def _copy(store: Store, members: list[StudyRun], left: list[StudyRun], out: Path) -> None:
    """Copy a population, or those members of it that are left."""
    source = store.place(members[0].population)
    if not source.is_dir():  # its weights were left behind, or it has not begun
        return
    folder = RunFolder(source)
    if damage := folder.damage():
        name, what = next(iter(damage.items()))
        raise DamageError(
            f"{source / name} {what}. Repair it with `unknot check {store.folder} --repair`, then "
            "merge again."
        )
    if members[0].population_status == DONE and not folder.has_results:
        raise DamageError(
            f"{source} is called trained by its study and lacks a file, such as {status.FILE}; see "
            f"`unknot check {store.folder}`."
        )
    models = [model.get("id") for model in folder.record().get("members", [])]
    if models and models != [run.id for run in members]:
        raise DamageError(
            f"{source} holds other models than the records of its study say; see `unknot check "
            f"{store.folder}`."
        )
    if len(left) < len(members):
        if folder.is_without_weights:
            raise StoreError(
                f"{source} shares runs with another study and comes from an archive without "
                "weights, so that it cannot be divided; merge archives with weights."
            )
        out.mkdir(parents=True)
        write_members(folder, [run.member for run in left], out)
    else:
        shutil.copytree(source, out, ignore=_ignore)


def _ignore(folder: str, names: list[str]) -> list[str]:
    """Links, pipes, locks and what killed processes left."""
    paths = [Path(folder) / name for name in names]
    return [p.name for p in paths if p.name.startswith(".") or p.is_symlink() or is_special(p)]


def _add_scores(merged: Store, stores: Sequence[Store]) -> None:
    """Scores of runs that were in several studies, and of which another has more."""
    place = {run.id: merged.place(run.population) for run in merged.runs()}
    for store in stores:
        for members in _populations(store, done=True):
            source = store.place(members[0].population)
            for score in records.read(source) if source.is_dir() else []:
                if score.id in place and place[score.id].is_dir():
                    records.append(place[score.id], [score])
