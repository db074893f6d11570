"""Checkpoints: safetensors and JSON in a folder that appears whole or not at all."""

import hashlib
import json
import shutil
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as pack_tensors
from torch import Tensor

from unknot.core.border import parse_json
from unknot.core.errors import StoreError, WriteError
from unknot.core.files import atomic_path, read_whole, write_whole

FORMAT = 3
KEEP = 2
"""Checkpoints kept; one before the last, in case a disk loses the last."""


@dataclass(frozen=True)
class Checkpoint:
    """Everything needed to continue from a step."""

    step: int
    tensors: dict[str, Tensor]
    facts: dict[str, Any]


def save(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint and drop all but the last few.

    It is written under a hidden name and renamed when it is on the disk, so that a process killed
    at any moment leaves the earlier ones as they were.
    """
    data = pack_tensors({k: t.contiguous() for k, t in checkpoint.tensors.items()})
    facts = {"format": FORMAT, "step": checkpoint.step, **checkpoint.facts}
    facts["sha256"] = _checksum(data, facts)
    name = f"the checkpoint of step {checkpoint.step} to {folder}"
    try:
        with atomic_path(folder / f"step-{checkpoint.step:09d}", name) as part:
            part.mkdir()
            (part / "state.safetensors").write_bytes(data)
            (part / "state.json").write_bytes(json.dumps(facts, indent=1).encode())
    except WriteError as error:
        raise WriteError(
            f"{error} Earlier checkpoints are intact; free some space and resume."
        ) from error
    # One process writes here, so every partial checkpoint was left by one that was killed.
    for old in (*_folders(folder)[:-KEEP], *folder.glob(".step-*.part")):
        shutil.rmtree(old, ignore_errors=True)


def latest(folder: Path) -> Checkpoint | None:
    """The newest whole checkpoint; None when there is none.

    Warns where newer ones cannot be read.
    """
    folders = _folders(folder)
    problems = []
    for path in reversed(folders):
        try:
            checkpoint = load(path)
        except StoreError as error:
            problems.append(str(error))
            continue
        if problems:
            warnings.warn(f"{problems[0]} Resuming from {path.name}.", UserWarning, stacklevel=2)
        return checkpoint
    if problems:
        raise StoreError(problems[0])
    return None


def load(path: Path) -> Checkpoint:
    """Read one checkpoint and check that it is what was written."""
    try:
        facts = parse_json(read_whole(path / "state.json"))
        data = read_whole(path / "state.safetensors")
        checksum = facts.pop("sha256")
        altered = checksum != _checksum(data, facts)
        number, step = facts.pop("format"), facts.pop("step")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{path} is not a checkpoint that can be read: {error}.") from error
    if number != FORMAT:
        raise StoreError(f"{path} has format {number}; this version reads format {FORMAT}.")
    if altered:
        raise StoreError(f"{path} is truncated or altered.")
    return Checkpoint(step, read_tensors(data), facts)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], facts: Mapping[str, str]) -> None:
    """Write a safetensors file that appears whole or not at all."""
    packed = pack_tensors({k: t.contiguous() for k, t in tensors.items()}, dict(facts))
    write_whole(path, packed)


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file."""
    try:
        data = read_whole(path)
    except OSError as error:
        raise StoreError(f"{path} is not a safetensors file that can be read: {error}.") from error
    return unpack_tensors(data, path)


def unpack_tensors(data: bytes, path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file, given its content."""
    try:
        return read_tensors(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} is not a safetensors file that can be read: {error}.") from error


def _checksum(data: bytes, facts: Mapping[str, Any]) -> str:
    """Of the tensors and of all that is said about them."""
    return hashlib.sha256(data + json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _folders(folder: Path) -> list[Path]:
    return sorted(folder.glob("step-*"))
