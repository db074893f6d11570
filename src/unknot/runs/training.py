"""Training: a population from its first step to its last, with its curves."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, StoreError
from unknot.engine.checkpoint import Checkpoint
from unknot.engine.device import runtime, threads, to_read
from unknot.engine.loop import fit
from unknot.engine.population import Context, Population, State, populate
from unknot.engine.updates import is_moment
from unknot.losses.likelihood import likelihood_of, pixel_likelihood
from unknot.losses.overlap import Overlap
from unknot.runs.curves import Curves
from unknot.runs.description import check_images
from unknot.runs.spec import TrainSpec
from unknot.samplers.parts.split import check_part, rows_in_part

REALS = {torch.float32, torch.float64}
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

    `start` makes a fresh one and `from_weights` a finished one; `restore` sets a fresh one to a
    checkpoint, and `run` trains it to its end.
    """

    specs: tuple[TrainSpec, ...]
    """One of many seeds, or one for each member; the first has what all members share."""
    context: Context
    population: Population
    curves: Curves = field(default_factory=Curves)
    diverged: dict[int, int] = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    """Spent so far, by all processes that trained it."""
    threads: int = field(default_factory=torch.get_num_threads)
    """Of the CPU, from the first step to the last: another number adds in another order."""
    stopped: bool = False
    scored_step: int | None = None
    """The step of its weights, where they are not those of the end."""

    @classmethod
    def start(
        cls, specs: Sequence[TrainSpec], device: str = "auto", data: FactorDataset | None = None
    ) -> "Training":
        """A fresh population.

        Args:
            specs: What to train: one spec of all seeds, or one for each member.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
            data: The dataset, if it is loaded already.
        """
        context = training_context(specs[0], device, data=data)
        return cls(tuple(specs), context, _populate(context, specs))

    @classmethod
    def from_weights(
        cls, specs: Sequence[TrainSpec], context: Context, weights: State, source: str | Path
    ) -> "Training":
        """A trained population, whose initial weights are not drawn first."""
        context = replace(context, blank=True)
        training = cls(tuple(specs), context, _populate(context, specs))
        state = training.population.state()
        _check_tensors(_finished(state), weights, source)
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
        if self.step >= self.specs[0].updates:
            return "done"
        return "stopped" if self.stopped else "running"

    @property
    def finished(self) -> bool:
        """Whether there is nothing left to train."""
        return self.status in ("done", "diverged")

    def weights(self) -> State:
        """What a finished training leaves: weights, or their averages, and carried tensors."""
        return _finished(self.population.state())

    def record(self) -> dict[str, Any]:
        """How far it is and what became of each member, as plain values."""
        ends = {name: values.tolist() for name, values in self.curves.ends().items()}
        return {
            "status": self.status,
            "step": self.step,
            "steps": self.specs[0].updates,
            "seconds": round(self.seconds, 3),
            "device": str(self.context.runtime.device),
            "weights": "average" if self.context.ema is not None else "last",
            "curves": [*self.curves.values],
            "members": [
                {
                    "id": name,
                    "seed": seed,
                    "status": "diverged" if i in self.diverged else self.status,
                    "diverged_at": self.diverged.get(i),
                    "last": {k: v[i] if isfinite(v[i]) else None for k, v in ends.items()},
                }
                for i, (name, seed) in enumerate(zip(self.ids, self.seeds, strict=True))
            ],
        }

    def member(self, index: int) -> "Training":
        """One member as a training of its own, the very one that it would be alone."""
        weights = {name: stacked[index : index + 1] for name, stacked in self.weights().items()}
        spec = member_specs(self.specs)[index]
        alone = Training.from_weights([spec], self.context, weights, spec.ids()[0])
        alone.curves, alone.step = self.curves.member(index), self.step
        if index in self.diverged:
            alone.diverged = {0: self.diverged[index]}
        return alone

    def checkpoint(self) -> Checkpoint:
        """All of it, to resume from."""
        tensors = {**self.population.state(), **self.curves.tensors()}
        facts = {
            "diverged": {str(member): step for member, step in self.diverged.items()},
            "ids": self.ids,
            "curves": [*self.curves.values],
            "threads": self.threads,
            "seconds": self.seconds,
            "images": self.context.dataset.signature(),
        }
        return Checkpoint(self.step, tensors, facts)

    def restore(self, saved: Checkpoint, source: Path) -> None:
        """Continue from a checkpoint."""
        if saved.facts.get("ids") != self.ids:
            raise StoreError(f"The checkpoint in {source} belongs to another run.")
        seen = saved.facts.get("images")
        check_images(self.context.dataset, seen, f"the checkpoint in {source}")
        state = {n: t for n, t in saved.tensors.items() if not n.startswith("curves")}
        _check_tensors(self.population.state(), state, source)
        self.population.load(state)
        self.curves = Curves.from_tensors(saved.tensors, saved.facts["curves"])
        self.diverged = {int(member): step for member, step in saved.facts["diverged"].items()}
        self.step = saved.step
        self.seconds = saved.facts.get("seconds", 0.0)
        self.threads = saved.facts.get("threads", self.threads)

    def run(
        self,
        *,
        watch: Watcher = lambda _: None,
        save: Callable[["Training"], None] = lambda _: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Train until the last step is done, all members diverged or someone asks to stop.

        Args:
            watch: Told after every few steps.
            save: Called every ``checkpoint_every`` steps and at the end; what happened since is all
                that a killed process loses.
            stop: Asked after every few steps.
        """
        if self.finished:
            return
        spec, began = self.specs[0], time.monotonic() - self.seconds
        with threads(self.threads):
            for tick in fit(
                self.population,
                start=self.step,
                steps=spec.updates,
                log_every=spec.log_every,
                pause_every=spec.checkpoint_every,
            ):
                self.step, self.seconds = tick.step, time.monotonic() - began
                if tick.values is not None:
                    self._log(tick.values)
                watch(Progress(tick.step, spec.updates, tick.values, self.diverged))
                self.stopped = stop()
                if self.stopped or self.finished or tick.step % spec.checkpoint_every == 0:
                    save(self)
                if self.stopped or self.finished:
                    break

    def _log(self, values: Mapping[str, Float[Tensor, " p"]]) -> None:
        """Keep the values of a log step; a loss that is not finite is a fact, not an error.

        An objective that knows better when a run is lost has a note ``diverged``, 0 or 1.
        """
        self.curves.append(self.step, values)
        lost = ~values["loss"].isfinite()
        if "diverged" in values:
            lost |= values["diverged"] > 0
        for member in lost.nonzero().flatten().tolist():
            self.diverged.setdefault(member, self.step)


def training_context(
    spec: TrainSpec,
    device: str = "auto",
    *,
    trained: bool = False,
    data: FactorDataset | None = None,
) -> Context:
    """Dataset, net, batch and device of a population; `trained` only to use its weights.

    The dataset is loaded unless it comes along, as one does that exists in memory only.
    """
    where = (to_read if trained else runtime)(device, spec.precision)
    dataset = (spec.data.settings.load() if data is None else data).to(where.device)
    likelihood = likelihood_of(spec.objective.settings)
    if isinstance(likelihood, Overlap):
        likelihood.check(dataset.shape)
        if not trained:
            likelihood.check_file()
    if dataset.mean and pixel_likelihood(likelihood) != "gaussian":
        raise ConfigError(
            "Standardised images are outside [0, 1], which the likelihood "
            f"{pixel_likelihood(likelihood)} does not allow. "
            "Add --set objective.likelihood=gaussian."
        )
    sampler = spec.sampler.settings if spec.sampler else None
    return Context(
        dataset, spec.net.settings, spec.batch, where, sampler, ema=spec.ema, split=spec.split
    )


def part_rows(training: Training, part: str) -> Int[Tensor, " n"]:
    """Row numbers of a part of a training's split, in order."""
    split, space = training.context.split, training.context.dataset.space
    name = check_part(split, part)
    return torch.arange(space.size) if split is None else rows_in_part(split, space, name)


def member_specs(specs: Sequence[TrainSpec]) -> list[TrainSpec]:
    """Each member as a run of its own."""
    return [replace(spec, seeds=seed) for spec in specs for seed in spec.seed_list]


def _populate(context: Context, specs: Sequence[TrainSpec]) -> Population:
    return populate(context, [member for spec in specs for member in spec.members()])


def _finished(state: State) -> State:
    """A state without the optimiser's moments, with averages of weights in their place."""
    kept = {name: tensor for name, tensor in state.items() if not is_moment(name)}
    averages = {name: kept.pop(name) for name in [*kept] if name.startswith("ema.")}
    return {**kept, **{name.removeprefix("ema."): tensor for name, tensor in averages.items()}}


def _check_tensors(expected: State, state: State, source: str | Path) -> None:
    """Refuse tensors of another net; the message names the first that differs."""
    for name in sorted({*expected, *state}):
        want, have = expected.get(name), state.get(name)
        if want is None or have is None or want.shape != have.shape:
            shapes = [None if t is None else tuple(t.shape) for t in (want, have)]
            raise StoreError(
                f"{source} is of another net: {name} should be {shapes[0]} and is {shapes[1]}."
            )
        # Trained in double precision, read in single: no other kind of number is meant so.
        if have.dtype != want.dtype and not {have.dtype, want.dtype} <= REALS:
            raise StoreError(
                f"{source} holds no weights of ours: {name} should be {want.dtype} and is "
                f"{have.dtype}."
            )
