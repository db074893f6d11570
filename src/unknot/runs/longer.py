"""Train a finished run for more steps: the run that it would be, had so many been asked for."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from unknot.core.errors import ConfigError, DamageError, StoreError
from unknot.core.files import read_whole, write_whole
from unknot.core.hyper import Schedule, hyper_fields, last_step
from unknot.core.toml import to_toml
from unknot.runs import checkpoints, features, records, status
from unknot.runs.folder import RunFolder
from unknot.runs.spec import TrainSpec
from unknot.runs.training import Training, Watcher
from unknot.runs.writing import complete


def longer_spec(spec: TrainSpec, steps: int, *, keep_schedule: bool = False) -> TrainSpec:
    """The same settings with more steps.

    Args:
        spec: Of the run that there is.
        steps: How many it should have, in all.
        keep_schedule: Let a schedule that ends with the run end where it did; else it is refused.

    Raises:
        ConfigError: There are not more steps, or a schedule follows the length of the run.
    """
    if steps <= spec.steps:
        raise ConfigError(f"The run has {spec.steps:,} steps; ask for more than that, in all.")
    for where, settings in (("objective", spec.objective.settings), ("optim", spec.optim)):
        for name in hyper_fields(settings):
            value = getattr(settings, name)
            ends = isinstance(value, Schedule) and last_step(value) == spec.updates
            if ends and not keep_schedule:
                raise ConfigError(
                    f"{where}.{name} changes until the last step, {spec.updates:,}; a longer run "
                    "would have had another schedule. Train again, or let it end where it did with "
                    "--keep-schedule (in Python, keep_schedule=True)."
                )
    off_log = spec.updates % spec.log_every
    off_validation = spec.validate_every is not None and spec.updates % spec.validate_every
    off_scores = spec.score_every is None or spec.updates % spec.score_every
    rules = [spec.stop, spec.keep_rule if spec.keep else None]
    scores = any(rule is not None and rule.scores for rule in rules)
    if any(rules) and (off_log or off_validation or (scores and off_scores)):
        raise ConfigError(
            "A run that stops early or keeps its best step can be trained for more only if its "
            f"steps, {spec.updates:,}, are a multiple of log_every ({spec.log_every:,}), "
            "validate_every and, where a metric decides, score_every: else a longer run would not "
            "have looked at that step. Train again with more steps."
        )
    return replace(spec, steps=steps)


def extend(training: Training, spec: TrainSpec) -> Training:
    """A training in memory as the beginning of a longer one."""
    old = training.specs[0]
    device, dataset = str(training.context.runtime.device), training.context.dataset
    longer = Training.start([spec], device, dataset, blank=True)
    longer.continues = {"ids": training.ids, "step": training.step}
    checkpoints.restore(longer, checkpoints.pack(training), Path("memory"))
    longer.step_weights = {**training.step_weights, old.updates: training.weights()}
    return longer


def extend_folder(folder: RunFolder, spec: TrainSpec) -> None:
    """Make a finished run folder that of a longer run, to be resumed.

    The weights that there are stay as those of their step, and scores as scores of that step. Only
    for who holds the lock. Killed at any moment, it holds the shorter run or the longer one.
    """
    record = folder.record()
    if not folder.is_trained or not any(folder.checkpoints.glob("step-*")):
        raise StoreError(
            f"{folder.path} cannot be trained for more: it is not finished, or its checkpoints are "
            "gone. Resume it first, or train again with more steps."
        )
    if damage := folder.damage():
        name, what = next(iter(damage.items()))
        raise DamageError(f"{folder.path / name} {what}. {status.way_back(folder.path)}")
    step, names = record["step"], [entry["id"] for entry in record["members"]]
    new_names = dict(zip(names, spec.ids(), strict=True))
    scores = [r for r in records.read(folder.path) if r.id in new_names]
    moved = [replace(r, id=new_names[r.id], step=r.step or step) for r in scores]
    records.append(folder.path, moved)
    write_whole(folder.step_file(step), read_whole(folder.weights_file))
    facts = {k: v for k, v in record.items() if k not in ("files", "sha256", "format")}
    continues = {"ids": names, "step": step}
    status.write(folder.path, {**facts, "status": "stopped", "continues": continues})
    write_whole(folder.spec_file, to_toml(spec.table()).encode())
    folder.weights_file.unlink()


def train_longer(
    folder: RunFolder,
    steps: int,
    *,
    keep_schedule: bool = False,
    device: str = "auto",
    data: Any = None,
    watch: Watcher = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Training:
    """Train the run of a folder for more steps, in its folder.

    Args:
        folder: Of a finished run.
        steps: How many it should have, in all.
        keep_schedule: Let a schedule that ends with the run end where it did.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        data: The dataset, if it is loaded already.
        watch: Called after every few steps with the progress.
        stop: Asked after every few steps.
    """
    spec = longer_spec(folder.spec(), steps, keep_schedule=keep_schedule)
    features.provide(folder.path, spec)
    # What fails here leaves the folder as it is.
    training = Training.start([spec], device, data, blank=True)
    with folder.lock():
        extend_folder(folder, spec)
        complete(folder, training, watch=watch, stop=stop)
    return training
