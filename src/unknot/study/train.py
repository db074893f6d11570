"""Training: a population from its first step to its last, with curves and checkpoints."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, StoreError
from unknot.engine import checkpoint
from unknot.engine.checkpoint import Checkpoint
from unknot.engine.device import runtime, to_read
from unknot.engine.loop import fit
from unknot.engine.population import Population, Setting, State, populate
from unknot.losses.likelihood import likelihood_of, of_pixels
from unknot.losses.overlap import Overlap
from unknot.study.curves import Curves
from unknot.study.spec import TrainSpec

Status: TypeAlias = Literal["running", "done", "stopped", "diverged"]


@dataclass(frozen=True)
class Progress:
    """What a watcher is told after every few steps."""

    step: int
    steps: int
    values: Mapping[str, Float[Tensor, " p"]] | None
    diverged: Mapping[int, int]


Watcher: TypeAlias = Callable[[Progress], None]


@dataclass(frozen=True)
class Training:
    """A population on its way: models, what they logged, who diverged at which step."""

    specs: tuple[TrainSpec, ...]
    """One of many seeds, or one for each member; what all members share, the first one says."""
    setting: Setting
    population: Population
    curves: Curves = field(default_factory=Curves)
    diverged: dict[int, int] = field(default_factory=dict)
    step: int = 0
    seconds: float = 0.0
    """Spent so far, by all processes that trained it."""

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
        return "done" if self.step >= self.specs[0].updates else "running"

    def weights(self) -> State:
        """What a finished training leaves: all but the optimiser's moments, members first."""
        return without_moments(self.population.state())

    def save(self, checkpoints: Path) -> None:
        """Write a checkpoint: all of it, to continue from.

        Raises:
            WriteError: The disk refused; earlier checkpoints are whole.
        """
        tensors = {**self.population.state(), **self.curves.tensors()}
        facts = {
            "diverged": {str(member): at for member, at in self.diverged.items()},
            "ids": self.ids,
            "curves": [*self.curves.values],
            "threads": torch.get_num_threads(),
            "seconds": self.seconds,
            "images": self.setting.dataset.signature(),
        }
        checkpoint.save(checkpoints, Checkpoint(self.step, tensors, facts))

    def note(self, values: Mapping[str, Float[Tensor, " p"]]) -> None:
        """Write down a log step; a loss that is not finite is a fact, not an error.

        An objective that knows better when a run is lost has a note ``diverged``, 0 or 1.
        """
        self.curves.append(self.step, values)
        lost = ~values["loss"].isfinite()
        if "diverged" in values:
            lost |= values["diverged"] > 0
        for member in lost.nonzero().flatten().tolist():
            self.diverged.setdefault(member, self.step)


def begin(specs: Sequence[TrainSpec], device: str = "auto", *, trained: bool = False) -> Training:
    """A fresh population.

    Args:
        specs: What to train: one spec of all seeds, or one for each member.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        trained: Whether it is there to take the weights of a finished run.

    Raises:
        ConfigError: The device or precision is not to be had, the sampler does not fit the data,
            the file of a learnt kernel has changed, or the members do not fit together.
        DataError: The dataset cannot be loaded.
    """
    spec = specs[0]
    chosen = (to_read if trained else runtime)(device, spec.precision)
    dataset = spec.data.settings.load().to(chosen.device)
    likelihood = likelihood_of(spec.objective.settings)
    if isinstance(likelihood, Overlap):
        likelihood.check(dataset.shape)
        if not trained:
            likelihood.check_file()
    if dataset.mean and of_pixels(likelihood) != "gaussian":
        raise ConfigError(
            "Standardised images leave [0, 1], where the likelihood "
            f"{of_pixels(likelihood)} is at home. Add --set objective.likelihood=gaussian."
        )
    sampler = spec.draw.settings if spec.draw else None
    setting = Setting(dataset, spec.net.settings, spec.batch, chosen, sampler, blank=trained)
    members = [member for each in specs for member in each.members()]
    return Training(tuple(specs), setting, populate(setting, members))


def restore(training: Training, checkpoints: Path, *, other: str) -> Training:
    """The same training, continued from its last checkpoint, if there is one.

    Args:
        training: As `begin` gives it.
        checkpoints: The folder that it was saved to.
        other: What to call the owner of a checkpoint that is not of this training.

    Raises:
        StoreError: The checkpoints cannot be read, or are of another net, run or dataset.
    """
    saved = checkpoint.latest(checkpoints)
    if saved is None:
        return training
    if saved.facts.get("ids") != training.ids:
        raise StoreError(f"The checkpoint in {checkpoints} belongs to {other}.")
    _same_images(training.setting.dataset, saved.facts.get("images"), checkpoints)
    # Another number of threads adds in another order, and the bits would part.
    torch.set_num_threads(saved.facts.get("threads", torch.get_num_threads()))
    state = {n: t for n, t in saved.tensors.items() if not n.startswith("curves")}
    fits(training.population.state(), state, checkpoints)
    training.population.load(state)
    return replace(
        training,
        curves=Curves.of(saved.tensors, saved.facts["curves"]),
        diverged={int(member): at for member, at in saved.facts["diverged"].items()},
        step=saved.step,
        seconds=saved.facts.get("seconds", 0.0),
    )


def _same_images(dataset: FactorDataset, seen: list[float] | None, source: Path) -> None:
    if seen is None:  # checkpoints from before they were written down
        return
    here = dataset.signature()
    if len(seen) != len(here) or max(abs(a - b) for a, b in zip(seen, here, strict=True)) > 1e-5:
        raise StoreError(
            f"The images of {dataset.name} are no longer those that were trained on until the "
            f"checkpoint in {source}; put those back, or train anew in another folder."
        )


def without_moments(state: State) -> State:
    """A state without those of the optimiser."""
    return {name: tensor for name, tensor in state.items() if not name.startswith("adam.")}


def fits(expected: State, given: State, source: Path) -> None:
    """Check that tensors are those of the net.

    Raises:
        StoreError: They are not; the message names the first that differs.
    """
    for name in sorted({*expected, *given}):
        want, have = expected.get(name), given.get(name)
        if want is None or have is None or want.shape != have.shape:
            shapes = [None if t is None else tuple(t.shape) for t in (want, have)]
            raise StoreError(
                f"{source} is of another net: {name} should be {shapes[0]} and is {shapes[1]}."
            )


def train_to_the_end(
    training: Training,
    *,
    watch: Watcher,
    save: Callable[[Training], None],
    stop: Callable[[], bool],
) -> Training:
    """Train until the last step is done, all members diverged or someone asks to stop.

    Args:
        training: Where to start.
        watch: Told after every few steps.
        save: Called every ``checkpoint_every`` steps and at the end; what happened since is all
            that a killed process loses.
        stop: Asked after every few steps.

    Returns:
        The training where it ended; it is still running where it was asked to stop.
    """
    if training.status != "running":
        return training
    spec, before, began = training.specs[0], training.seconds, time.monotonic()
    for tick in fit(
        training.population,
        start=training.step,
        steps=spec.updates,
        log_every=spec.log_every,
        pause_every=spec.checkpoint_every,
    ):
        training = replace(training, step=tick.step, seconds=before + time.monotonic() - began)
        if tick.values is not None:
            training.note(tick.values)
        watch(Progress(tick.step, spec.updates, tick.values, training.diverged))
        ends = stop() or training.status != "running"
        if ends or tick.step % spec.checkpoint_every == 0:
            save(training)
        if ends:
            break
    return training
