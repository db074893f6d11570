"""Train a run, resume it, and load it again."""

import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from unknot.core.border import as_path, check_type
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, UnknotError
from unknot.runs import features
from unknot.runs.folder import RunFolder
from unknot.runs.loading import load_training
from unknot.runs.own_data import data_of_run
from unknot.runs.run import Run
from unknot.runs.signals import stop_on_signal
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Progress, Training, Watcher
from unknot.runs.writing import complete

Callback: TypeAlias = Callable[[Run, Mapping[str, Any]], bool | None]
"""Sees the run so far and what was logged; True stops the training."""


def train(
    spec: TrainSpec,
    *,
    out: str | Path | None = None,
    device: str = "auto",
    watch: Watcher = lambda _: None,
    on_start: Callable[[Training], None] = lambda _: None,
    data: FactorDataset | None = None,
    callback: Callback | None = None,
) -> Run:
    """Train a population, in memory or into a run folder; `unknot.train` has the arguments.

    ``on_start`` is told of the training when everything is checked, before the first step; ``data``
    is the dataset if it is loaded already.
    """
    if spec.track and out is None:
        raise ConfigError("track writes into the folder of the run; name one with out=.")
    folder = None if out is None else RunFolder(as_path("out", out))
    if folder:
        folder.check_free()
    training = Training.start([spec], device, data)  # what fails here leaves no folder behind
    made = folder is not None and not folder.path.exists()
    if folder:
        folder.claim(spec)
    on_start(training)
    run = Run(training, folder.path if folder else None)
    enough = threading.Event()

    def report(progress: Progress) -> None:
        watch(progress)
        if callback and progress.values is not None and callback(run, run.named(progress.values)):
            enough.set()

    with stop_on_signal() as stop:

        def ends() -> bool:
            return stop.is_set() or enough.is_set()

        if folder:
            try:
                return _train_in(folder, training, report, ends)
            except Exception as error:
                # Too little memory for the first step, say, or a value to stop by that is never
                # logged: another try may use the folder. Other errors of ours say what to do.
                hopeless = isinstance(error, ConfigError)
                if hopeless or (training.step == 0 and not isinstance(error, UnknotError)):
                    folder.abandon(made=made)
                raise
        training.run(watch=report, stop=ends)
    return run


def resume(
    path: str | Path,
    *,
    device: str = "auto",
    data: Any = None,
    watch: Watcher = lambda _: None,
) -> Run:
    """Resume a run, or write damaged files of a finished one again, as `unknot.resume` says."""
    folder = RunFolder(as_path("path", path))
    spec = folder.spec()
    damage = folder.damage()
    if not damage and folder.is_trained:
        return load(path, device=device, data=data)
    features.provide(folder.path, spec)
    resumes = not damage and any(folder.checkpoints.glob("step-*"))
    training = Training.start([spec], device, data_of_run(data, spec.data), blank=resumes)
    with stop_on_signal() as stop:
        return _train_in(folder, training, watch, stop.is_set, damage)


def load(
    path: str | Path, *, device: str = "auto", data: Any = None, step: int | str | None = None
) -> Run:
    """Read a finished run from its folder, as `unknot.load` says."""
    check_type("device", device, str)
    folder = RunFolder(as_path("path", path))
    dataset = None if data is None else data_of_run(data, folder.spec().data)
    return Run(load_training(folder, device=device, data=dataset, step=step), folder.path)


def _train_in(
    folder: RunFolder,
    training: Training,
    watch: Watcher,
    stop: Callable[[], bool],
    damage: Iterable[str] = (),
) -> Run:
    with folder.lock():
        folder.discard(damage)
        complete(folder, training, watch=watch, stop=stop)
    return Run(training, folder.path)
