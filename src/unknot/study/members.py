"""Runs of different settings trained side by side: one population of a study.

Each member is a `TrainSpec` of one seed. They differ in what members may differ in; the planner
puts no others together.
"""

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

import torch

from unknot.core.errors import StoreError
from unknot.core.likelihood import likelihood_of
from unknot.core.overlap import Overlap
from unknot.engine import checkpoint
from unknot.engine.checkpoint import Checkpoint
from unknot.engine.loop import fit
from unknot.engine.population import Population, Setting, State, populate
from unknot.study import train
from unknot.study.curves import Curves
from unknot.study.folder import versions
from unknot.study.run import Run
from unknot.study.spec import TrainSpec
from unknot.study.train import Training, fits


class Stopped(Exception):  # noqa: N818 - not an error
    """Asked to stop, and did; what is on the disk is enough to go on from."""


@dataclass(frozen=True)
class Members:
    """A population on its way."""

    specs: tuple[TrainSpec, ...]
    setting: Setting
    population: Population
    curves: Curves = field(default_factory=Curves)
    diverged: dict[int, int] = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    """Spent so far, by all processes that trained it."""

    @property
    def ids(self) -> list[str]:
        """Of the runs, in order."""
        return [spec.ids()[0] for spec in self.specs]

    @property
    def over(self) -> bool:
        """Whether nothing is left to train."""
        return self.step >= self.specs[0].updates or len(self.diverged) == len(self.specs)

    def checkpoint(self) -> Checkpoint:
        """All of it, to continue from."""
        facts = {
            "diverged": {str(member): at for member, at in self.diverged.items()},
            "ids": self.ids,
            "curves": [*self.curves.values],
            "threads": torch.get_num_threads(),
            "seconds": self.seconds,
        }
        return Checkpoint(self.step, {**self.population.state(), **self.curves.tensors()}, facts)


def begin(specs: Sequence[TrainSpec], device: str = "auto") -> Members:
    """A fresh population; its first member says what all share.

    Raises:
        ConfigError: The device is not to be had, or the members do not fit together.
        DataError: The dataset cannot be loaded.
    """
    first = train.begin(specs[0], device)
    members = [member for spec in specs for member in spec.members()]
    population = first.population if len(specs) == 1 else populate(first.setting, members)
    return Members(tuple(specs), first.setting, population)


def restore(members: Members, saved: Checkpoint, source: Path) -> Members:
    """The same population, continued from a checkpoint.

    Raises:
        StoreError: The checkpoint is of other runs.
    """
    if saved.facts.get("ids") != members.ids:
        raise StoreError(f"The checkpoint in {source} belongs to other runs than the plan says.")
    # Another number of threads adds in another order, and the bits would part.
    torch.set_num_threads(saved.facts["threads"])
    state = {n: t for n, t in saved.tensors.items() if not n.startswith("curves")}
    fits(members.population.state(), state, source)
    members.population.load(state)
    return replace(
        members,
        curves=Curves.of(saved.tensors, saved.facts["curves"]),
        diverged={int(member): at for member, at in saved.facts["diverged"].items()},
        step=saved.step,
        seconds=saved.facts["seconds"],
    )


def train_to_the_end(
    members: Members,
    folder: Path,
    *,
    tell: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Members:
    """Train from the last checkpoint in a folder, if there is one, with checkpoints on the way.

    Raises:
        Stopped: Asked to stop; a checkpoint of that step is on the disk.
        StoreError: The checkpoints cannot be read.
        WriteError: The disk refused; earlier checkpoints are whole.
    """
    if saved := checkpoint.latest(folder / "checkpoints"):
        members = restore(members, saved, folder / "checkpoints")
    spec, before, began = members.specs[0], members.seconds, time.monotonic()
    _check_kernel(spec)
    kept = members.step // spec.checkpoint_every
    if members.over:
        return members
    for tick in fit(
        members.population,
        start=members.step,
        steps=spec.updates,
        log_every=spec.log_every,
        pause_every=spec.checkpoint_every,
    ):
        members = replace(members, step=tick.step, seconds=before + time.monotonic() - began)
        if tick.values is not None:
            members.curves.append(tick.step, tick.values)
            lost = ~tick.values["loss"].isfinite()
            if "diverged" in tick.values:
                lost |= tick.values["diverged"] > 0
            for member in lost.nonzero().flatten().tolist():
                members.diverged.setdefault(member, tick.step)
        tell(tick.step)
        stopping = stop()
        if stopping or members.over or tick.step // spec.checkpoint_every > kept:
            kept = tick.step // spec.checkpoint_every
            checkpoint.save(folder / "checkpoints", members.checkpoint())
        if members.over:
            break
        if stopping:
            raise Stopped
    return members


def _check_kernel(spec: TrainSpec) -> None:
    likelihood = likelihood_of(spec.objective.settings)
    if isinstance(likelihood, Overlap):
        likelihood.check_file()


@dataclass(frozen=True)
class Trained:
    """A population at its end: weights, members first, and what is known of each."""

    specs: tuple[TrainSpec, ...]
    setting: Setting
    weights: State
    curves: Curves
    facts: dict[str, Any]
    """What population.json holds."""

    def run(self, member: int) -> Run:
        """One member as a run of its own, the very run that it would be alone."""
        spec, at = self.specs[member], self.facts["members"][member]["diverged_at"]
        population = populate(self.setting, spec.members())
        own = {name: stacked[member : member + 1] for name, stacked in self.weights.items()}
        population.load({**population.state(), **own})
        curves = _column(self.curves, member)
        training = Training(spec, self.setting, population, curves, {} if at is None else {0: at})
        return Run(training, self.facts["members"][member]["status"], self.facts["step"])


def export(members: Members, folder: Path) -> Trained:
    """Write the end of a training; `population.json` comes last and says that all is there.

    Raises:
        WriteError: The disk refused; what is missing is written when asked again.
    """
    state = members.population.state()
    weights = {n: t for n, t in state.items() if not n.startswith("adam.")}
    note = {"format": "unknot weights, members first"}
    checkpoint.write_tensors(folder / "weights.safetensors", weights, note)
    checkpoint.write_tensors(folder / "curves.safetensors", members.curves.tensors(), {})
    last = {name: values.tolist() for name, values in members.curves.ends().items()}
    facts = {
        "step": members.step,
        "seconds": round(members.seconds, 3),
        "device": str(members.setting.runtime.device),
        "versions": versions(),
        "curves": [*members.curves.values],
        "members": [
            {
                "id": name,
                "seed": spec.seed_list[0],
                "status": "diverged" if i in members.diverged else "done",
                "diverged_at": members.diverged.get(i),
                "last": {k: v[i] if isfinite(v[i]) else None for k, v in last.items()},
            }
            for i, (name, spec) in enumerate(zip(members.ids, members.specs, strict=True))
        ],
    }
    checkpoint.write_whole(folder / "population.json", json.dumps(facts, indent=1).encode())
    tidy(folder)
    return Trained(members.specs, members.setting, weights, members.curves, facts)


def is_trained(folder: Path) -> bool:
    """Whether a population was trained to its end."""
    return (folder / "population.json").exists()


def load(folder: Path, specs: Sequence[TrainSpec], device: str = "auto") -> Trained:
    """Read what `export` wrote.

    Raises:
        StoreError: A file is missing or damaged, or belongs to other runs.
    """
    facts = _facts(folder)
    if facts["ids"] != [spec.ids()[0] for spec in specs]:
        raise StoreError(f"{folder} holds other runs than the plan says.")
    weights = checkpoint.read_weights(folder / "weights.safetensors")
    curves = checkpoint.read_weights(folder / "curves.safetensors")
    setting = train.begin(specs[0], device, trained=True).setting
    return Trained(tuple(specs), setting, weights, Curves.of(curves, facts["curves"]), facts)


def curves_of(folder: Path, member: int) -> Curves:
    """The curves of one member of a trained population.

    Raises:
        StoreError: A file is missing or damaged.
    """
    tensors = checkpoint.read_weights(folder / "curves.safetensors")
    return _column(Curves.of(tensors, _facts(folder)["curves"]), member)


def _column(curves: Curves, member: int) -> Curves:
    columns = {n: [row[member : member + 1] for row in v] for n, v in curves.values.items()}
    return Curves(curves.steps, columns)


def _facts(folder: Path) -> dict[str, Any]:
    try:
        facts = json.loads((folder / "population.json").read_text(encoding="utf-8"))
        return {**facts, "ids": [member["id"] for member in facts["members"]]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{folder}/population.json cannot be read: {error}.") from error


def tidy(folder: Path) -> None:
    """Remove what only an unfinished training needs, and what killed processes left.

    Only for who holds the folder: another process may be about to rename a file of its own.
    """
    shutil.rmtree(folder / "checkpoints", ignore_errors=True)
    for stale in folder.glob(".*.*"):
        with contextlib.suppress(OSError):
            stale.unlink()
