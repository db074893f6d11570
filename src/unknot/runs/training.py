"""Training: a population from its first step to its last, with its curves."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.engine.context import Context, State
from unknot.engine.device import threads
from unknot.engine.loop import fit
from unknot.engine.population import Population, populate
from unknot.runs.context import training_context
from unknot.runs.curves import Curves
from unknot.runs.looks import look, validation_rows
from unknot.runs.spec import TrainSpec
from unknot.runs.states import check_tensors, finished_state
from unknot.runs.stopping import Best

Status: TypeAlias = Literal["running", "done", "stopped", "diverged"]


class Stopped(Exception):  # noqa: N818 - not an error
    """Asked to stop, and did; the folder holds what is needed to resume."""


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after every few steps."""

    step: int
    steps: int
    values: Mapping[str, Float[Tensor, " p"]] | None
    diverged: Mapping[int, int]


Watcher: TypeAlias = Callable[[Progress], None]


@dataclass(eq=False)
class Training:
    """A population and how far it is: models, what they logged, who diverged at which step.

    `start` makes a fresh one and `from_weights` a finished one; `checkpoints.restore` sets a fresh
    one to a checkpoint, and `run` trains it to its end.
    """

    specs: tuple[TrainSpec, ...]
    """One of many seeds, or one for each member; the first has what all members share."""
    context: Context
    population: Population
    curves: Curves = field(default_factory=Curves)
    validation: Curves = field(default_factory=Curves)
    """What was seen on validation rows; names begin with ``validation.``."""
    diverged: dict[int, int] = field(default_factory=dict)
    stopped_early: dict[int, int] = field(default_factory=dict)
    """Members that stopped before the last step, and when."""
    best: Best | None = None
    """Of each member, where the weights of its best step are kept."""
    best_weights: State = field(default_factory=dict)
    step_weights: dict[int, State] = field(default_factory=dict)
    """Weights by step, where they are kept in memory."""
    step: int = 0
    seconds: float = 0.0
    """Spent so far, by all processes that trained it."""
    threads: int = field(default_factory=torch.get_num_threads)
    """Of the CPU, from the first step to the last: another number adds in another order."""
    stopped: bool = False
    patience: Best | None = None
    """Of each member, where members may stop early."""
    continues: dict[str, Any] = field(default_factory=dict)
    """Where this is a shorter run trained for more steps: its ``ids`` and its last ``step``."""
    weight_steps: dict[int, int] = field(default_factory=dict)
    """The step of each member's weights, where they are not those of the end."""

    @classmethod
    def start(
        cls,
        specs: Sequence[TrainSpec],
        device: str = "auto",
        data: FactorDataset | None = None,
        *,
        blank: bool = False,
    ) -> "Training":
        """A fresh population.

        Args:
            specs: What to train: one spec of all seeds, or one for each member.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
            data: The dataset, if it is loaded already.
            blank: Draw no weights, for who restores a checkpoint.
        """
        context, spec = training_context(specs[0], device, data=data), specs[0]
        context = replace(context, blank=blank)
        training = cls(tuple(specs), context, _populate(context, specs))
        training.best = Best(spec.keep_rule) if spec.keep else None
        training.patience = Best(spec.stop) if spec.stop else None
        return training

    @classmethod
    def from_weights(
        cls, specs: Sequence[TrainSpec], context: Context, weights: State, source: str | Path
    ) -> "Training":
        """A trained population, whose initial weights are not drawn first."""
        context = replace(context, blank=True)
        training = cls(tuple(specs), context, _populate(context, specs))
        state = training.population.state()
        check_tensors(finished_state(state), weights, source)
        averages = {f"ema.{name}": w for name, w in weights.items() if f"ema.{name}" in state}
        training.population.load({**state, **weights, **averages})
        return training

    @property
    def ids(self) -> list[str]:
        """Of the members, in order."""
        return [name for spec in self.specs for name in spec.ids()]

    @property
    def seeds(self) -> list[int]:
        """Of the members, in order."""
        return [seed for spec in self.specs for seed in spec.seed_list]

    @property
    def status(self) -> Status:
        """How far it is; running as long as there is something left to train."""
        if len(self.diverged) == self.population.members:
            return "diverged"
        ended = {*self.diverged, *self.stopped_early}
        if self.step >= self.specs[0].updates or len(ended) == self.population.members:
            return "done"
        return "stopped" if self.stopped else "running"

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.status in ("done", "diverged")

    def weights(self) -> State:
        """What a finished training leaves: weights, or their averages, and carried tensors."""
        return finished_state(self.population.state())

    def record(self) -> dict[str, Any]:
        """How far it is and what became of each member, as plain values."""
        ends = {
            name: values.tolist()
            for curves in (self.curves, self.validation)
            for name, values in curves.ends().items()
        }
        return {
            "status": self.status,
            "step": self.step,
            "steps": self.specs[0].updates,
            "seconds": round(self.seconds, 3),
            "device": str(self.context.runtime.device),
            "weights": "average" if self.context.ema is not None else "last",
            "curves": [*self.curves.values],
            **({"validation": [*self.validation.values]} if self.validation.steps else {}),
            **({"continues": self.continues} if self.continues else {}),
            "members": [
                {
                    "id": name,
                    "seed": seed,
                    "status": self._member_status(i),
                    "diverged_at": self.diverged.get(i),
                    **({"stopped_at": step} if (step := self.stopped_early.get(i)) else {}),
                    **({"best_at": self.best.steps.get(i)} if self.best else {}),
                    "last": {k: v[i] if isfinite(v[i]) else None for k, v in ends.items()},
                }
                for i, (name, seed) in enumerate(zip(self.ids, self.seeds, strict=True))
            ],
        }

    def _member_status(self, member: int) -> Status:
        if member in self.diverged:
            return "diverged"
        return "done" if member in self.stopped_early else self.status

    def ended_before_weights(self, member: int) -> bool:
        """Whether a member stopped before the step of these weights, and had none of its own."""
        stopped = self.stopped_early.get(member)
        return stopped is not None and stopped <= self.weight_steps.get(member, 0)

    def member(self, index: int) -> "Training":
        """One member as a training of its own, the very one that it would be alone."""
        weights = {name: stacked[index : index + 1] for name, stacked in self.weights().items()}
        spec = member_specs(self.specs)[index]
        alone = Training.from_weights([spec], self.context, weights, spec.ids()[0])
        alone.curves, alone.validation = self.curves.member(index), self.validation.member(index)
        alone.step = self.stopped_early.get(index, self.step)
        if index in self.weight_steps:
            alone.weight_steps = {0: self.weight_steps[index]}
        if index in self.stopped_early:
            alone.stopped_early = {0: self.stopped_early[index]}
        if index in self.diverged:
            alone.diverged = {0: self.diverged[index]}
        return alone

    def run(
        self,
        *,
        watch: Watcher = lambda _: None,
        save: Callable[["Training"], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
        keep: Callable[["Training"], None] | None = None,
    ) -> None:
        """Train until the last step is done, all members have ended or someone asks to stop.

        Args:
            watch: Told after every few steps.
            save: Called every ``checkpoint_every`` steps and at the end; what happened since is all
                that a killed process loses.
            stop: Asked after every few steps.
            keep: Called at steps whose weights are kept; they are held in memory when None.
        """
        if self.finished:
            return
        spec, began = self.specs[0], time.monotonic() - self.seconds
        rows = validation_rows(self)
        with threads(self.threads):
            for tick in fit(
                self.population,
                start=self.step,
                steps=spec.updates,
                log_every=spec.log_every,
                pause_every=[n for n in (spec.checkpoint_every, spec.validate_every) if n],
                pause_at=spec.kept_steps,
            ):
                self.step, self.seconds = tick.step, time.monotonic() - began
                values = look(self, tick.values, rows)
                if tick.step in spec.kept_steps and keep is not None:
                    keep(self)
                elif tick.step in spec.kept_steps:
                    self.step_weights[tick.step] = self.weights()
                watch(Progress(tick.step, spec.updates, values, self.diverged))
                self.stopped = stop()
                if self.stopped or self.finished or tick.step % spec.checkpoint_every == 0:
                    save(self)
                if self.stopped or self.finished:
                    break


def member_specs(specs: Sequence[TrainSpec]) -> list[TrainSpec]:
    """Each member as a run of its own."""
    return [replace(spec, seeds=seed) for spec in specs for seed in spec.seed_list]


def _populate(context: Context, specs: Sequence[TrainSpec]) -> Population:
    return populate(context, [member for spec in specs for member in spec.members()])
