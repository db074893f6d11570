"""Backends: where the tasks of a study are performed, by name.

``local``, ``ray`` and ``slurm`` are ours. Other packages add theirs through entry points of the
group ``unknot.backends``: a function like `local` below.
"""

import importlib
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import TypeAlias

from unknot.core.errors import ConfigError
from unknot.studies.execute.events import Pool
from unknot.studies.execute.machine import Machine, machine


@dataclass(frozen=True)
class Backend:
    """Who performs the tasks of a study."""

    machine: Callable[..., Machine]
    """Like `unknot.studies.execute.machine.machine`, for tasks that run there."""
    pool: Pool | None
    """None: processes of this machine."""


Connect: TypeAlias = Callable[[Mapping[str, str], int | None], AbstractContextManager[Backend]]
"""Takes the user's options as text, and the most workers if the user says."""
OURS = {
    "local": "unknot.studies.execute.backends:local",
    "ray": "unknot.studies.execute.ray_pool:backend",
    "slurm": "unknot.studies.execute.slurm_pool:backend",
}


def connect(
    name: str, options: Mapping[str, str], workers: int | None
) -> AbstractContextManager[Backend]:
    """The backend of a name, to be used within a ``with``."""
    others = {entry.name: entry for entry in entry_points(group="unknot.backends")}
    if name in OURS:
        module, _, function = OURS[name].partition(":")
        connect: Connect = getattr(importlib.import_module(module), function)
    elif name in others:
        connect = others[name].load()
    else:
        *most, last = OURS | others
        raise ConfigError(f"--backend takes {', '.join(most)} or {last}, got '{name}'.")
    return connect(options, workers)


def local(
    options: Mapping[str, str],
    workers: int | None,  # noqa: ARG001 - the driver starts them
) -> AbstractContextManager[Backend]:
    """Processes of this machine."""
    check_options("local", options, ())
    return nullcontext(Backend(machine, None))


def check_options(name: str, options: Collection[str], names: Collection[str]) -> None:
    """Check that a backend has the options that were given."""
    if unknown := [option for option in options if option not in names]:
        raise ConfigError(f"--backend {name} has no option '{unknown[0]}'; see --help.")
