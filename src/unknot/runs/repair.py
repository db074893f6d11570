"""Repair: what is damaged in a run folder, and what of it can be made whole again."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unknot.core.errors import StoreError, UnknotError
from unknot.core.files import write_whole
from unknot.core.toml import to_toml
from unknot.engine import checkpoint
from unknot.runs import config, records
from unknot.runs.folder import RunFolder
from unknot.runs.verbs import resume


@dataclass(frozen=True)
class Fault:
    """One damaged file."""

    path: Path
    what: str
    """The end of a sentence that begins with the file."""
    remedy: str = ""
    """What `repair` does about it; empty where nothing can be done."""


def find_faults(folder: RunFolder) -> list[Fault]:
    """What is damaged in a run folder, or in a population of a study; every file is read."""
    return [*_faults(folder)]


def _faults(folder: RunFolder) -> Iterator[Fault]:
    damage = folder.damage()
    record = {} if folder.status_file.name in damage else folder.record()
    if folder.path.parent.name != "populations":
        yield from _spec_faults(folder, record)
    rebuilt = "written again from the last checkpoint, or trained again if there is none"
    for name, what in damage.items():
        yield Fault(folder.path / name, "is damaged" if name in what else what, rebuilt)
    ended = record.get("status") in ("done", "diverged")
    bare = record.get("archived", {}).get("weights") == "none"
    if ended and not (damage or bare or folder.is_trained):  # of a time before checksums
        yield Fault(folder.weights_file, "is missing", rebuilt)
    if not record and folder.weights_file.exists() and not damage:
        yield Fault(folder.status_file, "is missing", rebuilt)
    try:
        records.read(folder.path)
    except StoreError:
        yield Fault(folder.path / records.FILE, "has damaged lines", "kept without those lines")
    for path in _damaged_checkpoints(folder):
        yield Fault(path, "is not a whole checkpoint", "removed; an earlier one takes its place")
    for path in folder.leftovers():
        yield Fault(path, "was left by a process that was killed", "removed")


def repair(folder: RunFolder, device: str = "auto") -> str:
    """Mend what can be mended without training; says what is left to do, or nothing.

    Args:
        folder: Of a run.
        device: To write final files on.
    """
    clean(folder)
    try:
        spec = folder.spec()
    except UnknotError as error:
        return f"{folder.spec_file} cannot be mended: {error}"
    if folder.is_trained:
        return ""
    saved = checkpoint.latest(folder.checkpoints)
    ended = saved is not None and (
        saved.step >= spec.updates or len(saved.facts["diverged"]) == len(spec.seed_list)
    )
    if not ended:
        return f"Train the rest with: unknot resume {folder.path}"
    resume(folder.path, device=device)
    return ""


def clean(folder: RunFolder) -> None:
    """Remove what is damaged in a run folder, and put back what can be known without training."""
    faults = find_faults(folder)
    with folder.lock():  # which removes what killed writers left
        damage = folder.damage()
        record = {} if folder.status_file.name in damage else folder.record()
        if any(fault.path == folder.spec_file and fault.remedy for fault in faults):
            write_whole(folder.spec_file, spec_text(record))
        folder.discard(damage)
        if damage:  # or it would say that all of it is there
            folder.status_file.unlink(missing_ok=True)
        for path in _damaged_checkpoints(folder):
            shutil.rmtree(path, ignore_errors=True)
        if any(fault.path.name == records.FILE for fault in faults):
            records.keep_whole(folder.path)


def spec_text(record: dict[str, Any]) -> str:
    """The `run.toml` of a finished run, from its status."""
    seeds = [member["seed"] for member in record["members"]]
    table = {**record["settings"][0], "seeds": seeds[0] if record["lone"] else seeds}
    return to_toml(config.spec(table).table())


def _spec_faults(folder: RunFolder, record: dict[str, Any]) -> Iterator[Fault]:
    remedy = "written again from status.json" if "settings" in record else ""
    try:
        ids = folder.spec().ids()
    except UnknotError as error:
        what = "is missing" if not folder.spec_file.exists() else f"cannot be read: {error}"
        yield Fault(folder.spec_file, what, remedy)
        return
    if "files" in record and ids != [member["id"] for member in record["members"]]:
        yield Fault(folder.spec_file, "has changed since the run was trained", remedy)


def _damaged_checkpoints(folder: RunFolder) -> Iterator[Path]:
    for path in sorted(folder.checkpoints.glob("step-*")):
        try:
            checkpoint.load(path)
        except StoreError:
            yield path
