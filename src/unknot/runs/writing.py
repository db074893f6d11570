"""A training in its folder: trained to its end with checkpoints, then weights, curves, status."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from unknot.core.errors import DamageError, StoreError
from unknot.core.files import write_whole
from unknot.engine import checkpoint
from unknot.engine.checkpoint import write_tensors
from unknot.runs import checkpoints, features, status
from unknot.runs.decoding import members_with_contrasts
from unknot.runs.description import describe
from unknot.runs.folder import NOTE, RunFolder
from unknot.runs.spec import TrainSpec
from unknot.runs.tracking import follow
from unknot.runs.training import Progress, Training, Watcher, member_specs


def complete(
    folder: RunFolder, training: Training, *, watch: Watcher, stop: Callable[[], bool]
) -> None:
    """Train to the end, from the newest checkpoint if there is one; a stop leaves another.

    Only for who holds the lock.

    Args:
        folder: Where.
        training: A fresh one.
        watch: Told after every few steps.
        stop: Asked after every few steps.
    """
    features.keep(folder.path, training.specs[0])
    try:
        saved = checkpoint.latest(folder.checkpoints)
    except StoreError as error:
        raise DamageError(f"{error} {status.way_back(folder.path)}") from error
    if (continues := folder.record().get("continues")) and continues["ids"] != training.ids:
        training.continues = continues
    if saved is not None:
        checkpoints.restore(training, saved, folder.checkpoints)
    if not training.finished:
        _save_status(folder, training)
        with follow(training, folder.path) as track:

            def see(progress: Progress) -> None:
                track(progress)
                watch(progress)

            training.run(
                watch=see,
                save=partial(save_checkpoint, folder),
                stop=stop,
                keep=partial(_keep_weights, folder),
            )
    if training.finished:
        save(folder, training)


def save(folder: RunFolder, training: Training) -> None:
    """Write weights and curves; the status comes last and says that all of it is there."""
    features.keep(folder.path, training.specs[0])
    write_tensors(folder.weights_file, training.weights(), NOTE)
    for step, weights in training.step_weights.items():
        write_tensors(folder.step_file(step), weights, NOTE)
    if training.best_weights:
        write_tensors(folder.step_file("best"), training.best_weights, NOTE)
    curves, seen = training.curves, training.validation
    write_tensors(folder.curves_file, {**curves.tensors(), **seen.tensors("seen")}, {})
    if folder.spec_file.exists():
        write_whole(folder.curves_table, curves.csv(training.seeds, seen).encode())
    specs = member_specs(training.specs)
    tables = [{k: v for k, v in spec.table().items() if k != "seeds"} for spec in specs]
    settings = [table for i, table in enumerate(tables) if table not in tables[:i]]
    _save_status(
        folder,
        training,
        files=status.final_files(folder.path),
        data={
            **describe(training.context.dataset, specs[0]),
            **_place(specs[0], folder.path),
        },
        settings=settings,
        settings_of=[settings.index(table) for table in tables],
        lone=training.specs[0].lone,
        members=members_with_contrasts(training),
    )


def _keep_weights(folder: RunFolder, training: Training) -> None:
    write_tensors(folder.step_file(training.step), training.weights(), NOTE)


def save_checkpoint(folder: RunFolder, training: Training) -> None:
    """Write what a training needs to be resumed."""
    features.keep(folder.path, training.specs[0])
    for step, weights in training.step_weights.items():  # of one that was in memory until now
        write_tensors(folder.step_file(step), weights, NOTE)
    checkpoint.save(folder.checkpoints, checkpoints.pack(training))
    if not training.finished:  # or `save` says so, when all of it is there
        _save_status(folder, training)


def _save_status(folder: RunFolder, training: Training, **final: Any) -> None:
    facts = {**training.record(), "versions": status.versions(training.threads), **final}
    status.write(folder.path, facts)


def _place(spec: TrainSpec, folder: Path) -> dict[str, str]:
    """Where the file or folder of the data lies, as seen from the run; nothing without one."""
    path = getattr(spec.data.settings, "path", None)
    try:
        return {"place": Path(os.path.relpath(path, folder.absolute())).as_posix()} if path else {}
    except ValueError:  # on another drive of Windows
        return {}
