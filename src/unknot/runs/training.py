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
from unknot.data.parts.counts import as_counts
from unknot.engine.checkpoint import Checkpoint
from unknot.engine.device import runtime, threads, to_read
from unknot.engine.loop import fit
from unknot.engine.population import Context, Population, State, populate
from unknot.engine.updates import is_moment
from unknot.losses.likelihood import is_of_counts, likelihood_of, pixel_likelihood
from unknot.losses.overlap import Overlap
from unknot.runs.curves import Curves
from unknot.runs.description import check_images
from unknot.runs.spec import TrainSpec
from unknot.runs.stopping import Best, hide
from unknot.samplers.parts.split import check_part, rows_in_part

BESIDE = ("curves", "seen", "best.")
"""How tensors of a checkpoint begin that are not the population's."""
MOST_VALIDATED = 2_048
"""Images that a look at the validation part is a mean over, at most."""
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
    validation: Curves = field(default_factory=Curves)
    """What was seen on validation rows; names begin with ``validation.``."""
    diverged: dict[int, int] = field(default_factory=dict)
    stopped_early: dict[int, int] = field(default_factory=dict)
    """Members that stopped before the last step, and when."""
    best: Best | None = None
    """Of each member, where the weights of its best step are kept."""
    best_weights: State = field(default_factory=dict)
    kept: dict[int, State] = field(default_factory=dict)
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
        cls, specs: Sequence[TrainSpec], device: str = "auto", data: FactorDataset | None = None
    ) -> "Training":
        """A fresh population.

        Args:
            specs: What to train: one spec of all seeds, or one for each member.
            device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
            data: The dataset, if it is loaded already.
        """
        context, spec = training_context(specs[0], device, data=data), specs[0]
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
        return _finished(self.population.state())

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

    def checkpoint(self) -> Checkpoint:
        """All of it, to resume from."""
        tensors = {
            **self.population.state(),
            **self.curves.tensors(),
            **self.validation.tensors("seen"),
            **{f"best.{name}": value for name, value in self.best_weights.items()},
        }
        looks = {"best": self.best, "patience": self.patience}
        facts = {
            **{name: look.facts() for name, look in looks.items() if look is not None},
            "validation": [*self.validation.values],
            "stopped": {str(member): step for member, step in self.stopped_early.items()},
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
        if saved.facts.get("ids") not in (self.ids, self.continues.get("ids")):
            raise StoreError(f"The checkpoint in {source} belongs to another run.")
        seen = saved.facts.get("images")
        check_images(self.context.dataset, seen, f"the checkpoint in {source}")
        state = {n: t for n, t in saved.tensors.items() if not n.startswith(BESIDE)}
        _check_tensors(self.population.state(), state, source)
        self.population.load(state)
        stopped = {int(member): step for member, step in saved.facts.get("stopped", {}).items()}
        names = saved.facts["curves"], saved.facts.get("validation", [])
        self.curves = Curves.from_tensors(saved.tensors, names[0], ended=stopped)
        self.validation = Curves.from_tensors(saved.tensors, names[1], "seen", stopped)
        if saved.facts["ids"] != self.ids:  # the last step of the shorter run was out of turn
            spec = self.specs[0]
            self.curves = self.curves.each(spec.log_every, first=True)
            self.validation = self.validation.each(spec.validate_every or 1)
        self.stopped_early = stopped
        self.population.freeze(stopped)
        for name, look in (("best", self.best), ("patience", self.patience)):
            if look is not None and name in saved.facts:
                look.restore(saved.facts[name])
        best = {n: t for n, t in saved.tensors.items() if n.startswith("best.")}
        self.best_weights = {n.removeprefix("best."): t for n, t in best.items()}
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
        rows = self._validation_rows()
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
                values = self._look(tick.values, rows)
                if tick.step in spec.kept_steps:
                    (keep or _hold)(self)
                watch(Progress(tick.step, spec.updates, values, self.diverged))
                self.stopped = stop()
                if self.stopped or self.finished or tick.step % spec.checkpoint_every == 0:
                    save(self)
                if self.stopped or self.finished:
                    break

    def _validation_rows(self) -> Int[Tensor, "batches n"] | None:
        spec = self.specs[0]
        if spec.validate_every is None:
            return None
        return self.context.validation_rows(spec.objective.settings, MOST_VALIDATED)

    def _look(
        self, values: Mapping[str, Tensor] | None, rows: Tensor | None
    ) -> Mapping[str, Tensor] | None:
        """Log what there is at this step, and see who is at their best and who should stop."""
        seen: Mapping[str, Tensor] = {}
        if values is not None:
            self._log(seen := hide(values, self.stopped_early))
        if rows is not None and self._validates():
            terms = self.population.validate(rows, self.step)
            loss = {k: v for k, v in terms.items() if not k.endswith(".weight")}
            named = {f"validation.{name}": value for name, value in loss.items()}
            named = hide(named, self.stopped_early)
            self.validation.append(self.step, named)
            seen = {**seen, **named}
        if seen and (self.best or self.patience):
            self._judge(seen)
        return seen or None

    def _validates(self) -> bool:
        every, last = self.specs[0].validate_every, self.specs[0].updates
        return every is not None and (self.step % every == 0 or self.step == last)

    def _judge(self, seen: Mapping[str, Tensor]) -> None:
        """Keep the weights of members that are at their best, and freeze those that should stop."""
        ended = {*self.stopped_early, *self.diverged}
        for look in (self.best, self.patience):
            if look is not None and not look.rule.metric.startswith("validation."):
                look.check_name(self.curves.values)
            elif look is not None and self.validation.steps:
                look.check_name(self.validation.values)
        if self.best and (members := self.best.look(self.step, seen, ended)):
            weights = self.weights()
            for name, value in weights.items():
                self.best_weights.setdefault(name, value.clone())[members] = value[members]
        if self.patience:
            self.patience.look(self.step, seen, ended)
            stopped = {m: self.step for m in self.patience.patient if m not in ended}
            self.stopped_early.update(stopped)
            for curves in (self.curves, self.validation):
                curves.ended.update(stopped)
            self.population.freeze(stopped)

    def _log(self, values: Mapping[str, Float[Tensor, " p"]]) -> None:
        """Keep the values of a log step; a loss that is not finite is a fact, not an error.

        An objective that knows better when a run is lost has a note ``diverged``, 0 or 1.
        """
        self.curves.append(self.step, values)
        lost = ~values["loss"].isfinite()
        if "diverged" in values:
            lost |= values["diverged"] > 0
        for member in lost.nonzero().flatten().tolist():
            if member not in self.stopped_early:
                self.diverged.setdefault(member, self.step)


def _hold(training: Training) -> None:
    """Keep the weights of this step in memory."""
    training.kept[training.step] = training.weights()


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
    if is_of_counts(likelihood):
        dataset = as_counts(dataset, likelihood)
    elif dataset.mean and pixel_likelihood(likelihood) != "gaussian":
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
