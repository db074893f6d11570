"""Runs of different settings trained side by side: one population of a study, at its end.

Each member is a `TrainSpec` of one seed. They differ in what members may differ in; the planner
puts no others together.
"""

import contextlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from unknot.core.errors import StoreError
from unknot.core.files import write_whole
from unknot.engine import checkpoint
from unknot.engine.population import Population, Setting, State, populate
from unknot.study.curves import Curves
from unknot.study.folder import versions
from unknot.study.run import Run
from unknot.study.spec import TrainSpec
from unknot.study.train import Training, begin


class Stopped(Exception):  # noqa: N818 - not an error
    """Asked to stop, and did; what is on the disk is enough to go on from."""


@dataclass(frozen=True)
class Trained:
    """A population at its end: weights, members first, and what is known of each."""

    specs: tuple[TrainSpec, ...]
    setting: Setting
    weights: State
    curves: Curves
    facts: dict[str, Any]
    """What population.json holds."""

    def training(self) -> Training:
        """All members side by side, as they were trained."""
        population = self._population(self.specs, self.weights)
        ends = enumerate(member["diverged_at"] for member in self.facts["members"])
        diverged = {i: at for i, at in ends if at is not None}
        step = self.facts["step"]
        return Training(self.specs, self.setting, population, self.curves, diverged, step)

    def run(self, member: int) -> Run:
        """One member as a run of its own, the very run that it would be alone."""
        spec, known = self.specs[member], self.facts["members"][member]
        own = {name: stacked[member : member + 1] for name, stacked in self.weights.items()}
        population = self._population([spec], own)
        training = Training(
            (spec,),
            self.setting,
            population,
            _column(self.curves, member),
            {} if known["diverged_at"] is None else {0: known["diverged_at"]},
            self.facts["step"],
        )
        return Run(training, known["status"])

    def _population(self, specs: Sequence[TrainSpec], weights: State) -> Population:
        setting = replace(self.setting, blank=True)
        population = populate(setting, [member for spec in specs for member in spec.members()])
        population.load({**population.state(), **weights})
        return population


def export(training: Training, folder: Path) -> Trained:
    """Write the end of a training; `population.json` comes last and says that all is there.

    Raises:
        WriteError: The disk refused; what is missing is written when asked again.
    """
    weights = training.weights()
    note = {"format": "unknot weights, members first"}
    checkpoint.write_tensors(folder / "weights.safetensors", weights, note)
    checkpoint.write_tensors(folder / "curves.safetensors", training.curves.tensors(), {})
    last = {name: values.tolist() for name, values in training.curves.ends().items()}
    facts = {
        "step": training.step,
        "seconds": round(training.seconds, 3),
        "device": str(training.setting.runtime.device),
        "versions": versions(),
        "curves": [*training.curves.values],
        "members": [
            {
                "id": name,
                "seed": spec.seed_list[0],
                "status": "diverged" if i in training.diverged else "done",
                "diverged_at": training.diverged.get(i),
                "last": {k: v[i] if isfinite(v[i]) else None for k, v in last.items()},
            }
            for i, (name, spec) in enumerate(zip(training.ids, training.specs, strict=True))
        ],
    }
    write_whole(folder / "population.json", json.dumps(facts, indent=1).encode())
    tidy(folder)
    return Trained(training.specs, training.setting, weights, training.curves, facts)


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
    setting = begin(specs[:1], device, trained=True).setting
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
