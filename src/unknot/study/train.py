"""From a TrainSpec to trained weights, with checkpoints, curves and a clean stop."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError, StoreError
from unknot.core.likelihood import likelihood_of, of_pixels
from unknot.core.overlap import Overlap
from unknot.engine import checkpoint
from unknot.engine.checkpoint import Checkpoint
from unknot.engine.device import runtime, to_read
from unknot.engine.loop import fit
from unknot.engine.population import Population, Setting, State, populate
from unknot.study.curves import Curves
from unknot.study.folder import Folder
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

    spec: TrainSpec
    setting: Setting
    population: Population
    curves: Curves = field(default_factory=Curves)
    diverged: dict[int, int] = field(default_factory=dict)
    seconds_before: float = 0.0
    """Spent by the processes that this one continues."""

    def checkpoint(self, step: int, seconds: float) -> Checkpoint:
        """All of it, to continue from."""
        diverged = {str(member): at for member, at in self.diverged.items()}
        tensors = {**self.population.state(), **self.curves.tensors()}
        facts = {
            "diverged": diverged,
            "ids": self.spec.ids(),
            "curves": [*self.curves.values],
            "threads": torch.get_num_threads(),
            "seconds": self.seconds_before + seconds,
        }
        return Checkpoint(step, tensors, facts)

    def note(self, step: int, values: Mapping[str, Float[Tensor, " p"]]) -> None:
        """Write down a log step; a loss that is not finite is a fact, not an error.

        An objective that knows better when a run is lost has a note ``diverged``, 0 or 1.
        """
        self.curves.append(step, values)
        lost = ~values["loss"].isfinite()
        if "diverged" in values:
            lost |= values["diverged"] > 0
        for member in lost.nonzero().flatten().tolist():
            self.diverged.setdefault(member, step)


def begin(spec: TrainSpec, device: str = "auto", *, trained: bool = False) -> Training:
    """A fresh population for a spec.

    Args:
        spec: What to train.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        trained: Whether it is there to take the weights of a finished run.

    Raises:
        ConfigError: The device or precision is not to be had, or the draw not from this data.
        DataError: The dataset cannot be loaded.
    """
    chosen = (to_read if trained else runtime)(device, spec.precision)
    dataset = spec.data.settings.load().to(chosen.device)
    likelihood = likelihood_of(spec.objective.settings)
    if isinstance(likelihood, Overlap):
        likelihood.check(dataset.shape)
    if dataset.mean and of_pixels(likelihood) != "gaussian":
        raise ConfigError(
            "Standardised images leave [0, 1], where the likelihood "
            f"{of_pixels(likelihood)} is at home. Add --set objective.likelihood=gaussian."
        )
    draw = spec.draw.settings if spec.draw else None
    setting = Setting(dataset, spec.net.settings, spec.batch, chosen, draw)
    return Training(spec, setting, populate(setting, spec.members()))


def restore(training: Training, saved: Checkpoint, source: Path) -> Training:
    """The same training, continued from a checkpoint.

    Raises:
        StoreError: The checkpoint is of another net or run.
    """
    if saved.facts.get("ids") != training.spec.ids():
        raise StoreError(f"The checkpoint in {source} belongs to another run than its run.toml.")
    # Another number of threads adds in another order, and the bits would part.
    torch.set_num_threads(saved.facts.get("threads", torch.get_num_threads()))
    state = {n: t for n, t in saved.tensors.items() if not n.startswith("curves")}
    fits(training.population.state(), state, source)
    training.population.load(state)
    diverged = {int(member): at for member, at in saved.facts["diverged"].items()}
    curves = Curves.of(saved.tensors, saved.facts["curves"])
    seconds = saved.facts.get("seconds", 0.0)
    return replace(training, curves=curves, diverged=diverged, seconds_before=seconds)


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


def run(
    training: Training, start: int = 0, folder: Folder | None = None, watch: Watcher | None = None
) -> tuple[Status, int]:
    """Train to the end, or until all members diverged or someone asks to stop.

    With a folder, a checkpoint is written every ``checkpoint_every`` steps and at a stop; what
    happened since the last one is all that a killed process loses.

    Returns:
        How it ended, and at which step.

    Raises:
        ConfigError: The file of a learnt kernel is missing or another one by now.
        WriteError: The disk refused; earlier checkpoints are whole.
        KeyboardInterrupt: Asked to stop, without a folder to continue from.
    """
    likelihood = likelihood_of(training.spec.objective.settings)
    if isinstance(likelihood, Overlap):
        likelihood.check_file()
    spec, saved, began = training.spec, start // training.spec.checkpoint_every, time.monotonic()
    step, status = start, _status(training, start, False)
    with stop_on_signal() as stop:
        if folder:
            write_status(folder, training, step, status)
        for tick in fit(
            training.population,
            start=start,
            steps=spec.updates if status == "running" else start,
            log_every=spec.log_every,
            pause_every=spec.checkpoint_every,
        ):
            step = tick.step
            if tick.values is not None:
                training.note(step, tick.values)
            if watch:
                watch(Progress(step, spec.updates, tick.values, training.diverged))
            status = _status(training, step, stop.is_set())
            if folder and (step // spec.checkpoint_every > saved or status != "running"):
                saved = step // spec.checkpoint_every
                seconds = time.monotonic() - began
                checkpoint.save(folder.checkpoints, training.checkpoint(step, seconds))
                write_status(folder, training, step, status, seconds)
            if status != "running":
                break
    if status == "stopped" and not folder:
        raise KeyboardInterrupt
    return status, step


def _status(training: Training, step: int, asked_to_stop: bool) -> Status:
    if len(training.diverged) == len(training.spec.seed_list):
        return "diverged"
    if step == training.spec.updates:
        return "done"
    return "stopped" if asked_to_stop else "running"


def write_status(
    folder: Folder, training: Training, step: int, status: Status, seconds: float = 0.0
) -> None:
    """Write down how far a training is."""
    members = [
        {"id": name, "seed": seed, "diverged_at": training.diverged.get(i)}
        for i, (name, seed) in enumerate(
            zip(training.spec.ids(), training.spec.seed_list, strict=True)
        )
    ]
    folder.write_status(
        {
            "status": status,
            "step": step,
            "steps": training.spec.updates,
            "seconds": round(training.seconds_before + seconds, 1),
            "device": str(training.setting.runtime.device),
            "members": members,
        }
    )


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or termination into a request; the second acts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's signature
        stop.set()
        for s, handler in before.items():
            signal.signal(s, handler)

    for s in before:
        signal.signal(s, ask)
    try:
        yield stop
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
