"""Trackers that follow a training while it runs."""

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from unknot.core.errors import ConfigError
from unknot.core.files import inside, os_reason
from unknot.runs.training import Progress, Training, Watcher

FOLDER = "tensorboard"
"""Of events, in a run's folder; it has a folder for each model."""


def open_tracker(extra: str, module: str) -> Any:
    """The client of a tracker, which is an optional package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(f"{extra} is not installed: pip install 'unknot[{extra}]'.") from error


@contextmanager
def follow(training: Training, folder: Path) -> Iterator[Watcher]:
    """Write what a training logs as events of TensorBoard, if it asks for them.

    A resumed training hides what was written after its checkpoint. Events that cannot be written
    end with a warning, not with the training.
    """
    if "tensorboard" not in training.specs[0].track:
        yield lambda _: None
        return
    board = open_tracker("tensorboard", "torch.utils.tensorboard")
    with ExitStack() as stack:
        add = [
            stack.enter_context(_writer(board, inside(folder, FOLDER, name), training.step))
            for name in training.ids
        ]

        def watch(progress: Progress) -> None:
            for name, values in (progress.values or {}).items():
                for member, value in enumerate(values.tolist()):
                    if member not in progress.diverged:
                        add[member](name, value, progress.step)

        yield watch


@contextmanager
def _writer(board: Any, folder: Path, step: int) -> Iterator[Callable[[str, float, int], None]]:
    writer = None

    def give_up(error: OSError) -> None:
        nonlocal writer
        writer = None
        warnings.warn(
            f"Events cannot be written to {folder}: {os_reason(error)}. The training "
            "continues without them.",
            stacklevel=2,
        )

    def add(name: str, value: float, at: int) -> None:
        if writer is None:
            return
        try:
            writer.add_scalar(name, value, at)
        except OSError as error:
            give_up(error)

    try:
        writer = board.SummaryWriter(str(folder), purge_step=step + 1 if step else None)
    except OSError as error:
        give_up(error)
    yield add
    if writer is not None:
        try:
            writer.close()
        except OSError as error:
            give_up(error)
