"""`status.json`: how far a run is and, at its end, a checksum of every file that it left."""

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import unknot
from unknot.core.border import check_fit, parse_json
from unknot.core.checksums import bytes_sum, facts_sum, file_sum
from unknot.core.errors import DamageError, StoreError
from unknot.core.files import inside, read_whole, write_whole

FORMAT = 2
FILE = "status.json"
FEATURES = "features.safetensors"
"""The frozen module of a feature loss, in the folder of a run that has one."""
FORM = {
    "status": ("running", "stopped", "done", "diverged"),
    "step": int,
    "steps": int,
    "seconds": int | float,
    "device": str,
    "weights": str,
    "curves": [str],
    "validation": [str],
    "members": [
        {
            "id": str,
            "seed": int,
            "status": str,
            "diverged_at": int | None,
            "stopped_at": int,
            "best_at": int | None,
            "last": {str: int | float | None},
        }
    ],
    "versions": dict,
    "files": {str: {"sha256": str, "bytes": int}},
    "data": {"place": str, "name": str, "fingerprint": [int | float]},
    "settings": [dict],
    "settings_of": [int],
    "lone": bool,
    "archived": {"weights": ("half", "full", "none")},
    "continues": {"ids": [str], "step": int},
    "hub": {"name": str, "revision": str},
}
"""What each fact is; those that are not named may be anything."""


def read(folder: Path) -> dict[str, Any]:
    """What the status of a run folder says; empty where there is none."""
    file = folder / FILE
    if not file.exists():
        return {}
    try:
        facts = parse_json(read_whole(file))
        _ = [(member["id"], member["diverged_at"]) for member in facts["members"]]
        number, checksum = facts.get("format", 1), facts.pop("sha256", None)
        files = facts.get("files", {})
        _ = [(files[name]["sha256"], files[name]["bytes"]) for name in files]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = str(error) if isinstance(error, OSError | ValueError) else "it is no status"
        raise DamageError(f"{file} is damaged: {reason}. {way_back(folder)}") from error
    if number != FORMAT:
        raise StoreError(f"{file} has format {number}; this version reads format {FORMAT}.")
    try:
        check_fit(facts, FORM)
    except ValueError as error:
        raise DamageError(f"{file} is damaged: {error}. {way_back(folder)}") from error
    if checksum is not None and checksum != facts_sum(facts):
        raise DamageError(f"{file} is damaged: its checksum is another. {way_back(folder)}")
    return dict(facts)


def write(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the status, with a checksum of its own."""
    write_whole(folder / FILE, text(facts))


def text(facts: Mapping[str, Any]) -> bytes:
    """The content of a status file, with a checksum of its own."""
    # As JSON gives it back: keys are words there, and tuples are lists.
    plain = json.loads(json.dumps({"format": FORMAT, **facts}))
    return json.dumps({**plain, "sha256": facts_sum(plain)}, indent=1).encode()


def final_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Checksums and sizes of the files that a finished run has."""
    patterns = ("weights*.safetensors", FEATURES, "curves.safetensors", "curves.csv")
    files = sorted(file for pattern in patterns for file in folder.glob(pattern))
    return {file.name: {"sha256": file_sum(file), "bytes": file.stat().st_size} for file in files}


def read_file(folder: Path, name: str, record: Mapping[str, Any]) -> bytes:
    """The content of a final file, if it is what was written.

    Args:
        folder: Of the run.
        name: Of the file.
        record: What the status says; one written before there were checksums says nothing of them.
    """
    try:
        data = read_whole(inside(folder, name))
    except OSError as error:
        raise DamageError(f"{folder / name} cannot be read. {way_back(folder)}") from error
    listed = record.get("files", {}).get(name)
    if listed is not None and bytes_sum(data) != listed["sha256"]:
        raise DamageError(
            f"{folder / name} is damaged: it is not what was written. {way_back(folder)}"
        )
    return data


def lacks(folder: Path, record: Mapping[str, Any]) -> str | None:
    """The first final file that is missing or has another size; None if there is none."""
    for name, listed in record.get("files", {}).items():
        file = inside(folder, name)
        if not file.is_file() or file.stat().st_size != listed["bytes"]:
            return str(name)
    return None


def damage(folder: Path, record: Mapping[str, Any]) -> dict[str, str]:
    """What is wrong with final files, by name; all of them are read."""
    faults = {}
    for name, listed in record.get("files", {}).items():
        try:
            if file_sum(inside(folder, name)) != listed["sha256"]:
                faults[str(name)] = "is not what was written"
        except FileNotFoundError:
            faults[str(name)] = "is missing"
        except OSError as error:
            faults[str(name)] = f"cannot be read: {error}"
    return faults


def way_back(folder: Path) -> str:
    """What to do about damage in a run folder, or in a population of a study."""
    place = folder.parent.parent if folder.parent.name == "populations" else folder
    return f"Repair it with `unknot check {place} --repair`."


def versions(threads: int | None = None) -> dict[str, Any]:
    """What a number may depend on besides the settings."""
    return {
        "unknot": unknot.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": threads or torch.get_num_threads(),
    }
