"""Resume a training, and load runs and studies again."""

from pathlib import Path
from typing import Any

import torch

from unknot.api.arguments import device_name
from unknot.api.objects import give_classes
from unknot.api.own_net import give_modules, holds_modules
from unknot.api.progress import bar, say
from unknot.api.run import Run
from unknot.api.study import Study
from unknot.core.border import as_path
from unknot.core.errors import ConfigError
from unknot.core.typed import typed
from unknot.runs import verbs
from unknot.runs.folder import RunFolder
from unknot.runs.training import Watcher
from unknot.studies.archive import reading


@typed("progress")
def resume(
    path: str | Path,
    *,
    device: str | torch.device = "auto",
    data: Any = None,
    objective: Any = None,
    net: Any = None,
    watch: Watcher = lambda _: None,
    progress: bool = True,
) -> Run:
    """Resume a run from its last checkpoint; from the start when it has none.

    Of a finished run, damaged weights and curves are written again, from the same checkpoint.

    Args:
        path: The run folder.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        data: The images, if they were given in Python or have moved, as in `load`.
        objective: The class of the objective, if it is your own and its module is not imported.
        net: The class of the net, likewise; or the modules that it was trained with.
        watch: Called after every few steps with the progress.
        progress: Show a bar, in a terminal or a notebook.

    Raises:
        StoreError: There is no run, or its checkpoints cannot be read.

    Example: `run = unknot.resume("runs/first")`
    """
    _give(path, objective, net)
    with bar(None, show=progress, watch=watch) as move:
        trained = verbs.resume(path, device=device_name(device), data=data, watch=move)
    return Run.wrap(trained, say=progress)


def load(
    path: str | Path,
    *,
    device: str | torch.device = "auto",
    data: Any = None,
    step: int | str | None = None,
    objective: Any = None,
    net: Any = None,
) -> Any:
    """Read a finished run or a study, from its folder, an archive (``study.zip``) or the hub.

    A study gives a `Study`, all else a `Run`. An archive is unpacked into a folder
    that goes when the process ends; each file is compared with its checksum. Data that the settings
    name by a path is looked for in the folder that one is in.

    ``hub:user/name`` and ``hub:user/name@REVISION`` are models on the Hugging Face hub, or in its
    cache: text and safetensors are fetched and nothing else. The commit is in the run's record.

    A run whose data is not there is of use all the same: it encodes and decodes, but has no rows.

    Args:
        path: The folder of a run or a study, the zip file of `unknot archive`, or a model on the
            hub, ``hub:user/name``.
        device: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``.
        data: The images, if they were given in Python: the same object, or the dataset made of
            it. Or a path, if the files have moved.
        step: The weights of this step, or ``best``, where they were kept; those of the last step
            when None.
        objective: The class of the objective, if it is your own and its module is not imported:
            no folder causes an import.
        net: The class of the net, likewise; or the modules that it was trained with.

    Raises:
        DataError: The images are not those of the run.
        StoreError: There is no finished run, or its files are damaged.

    Example: `codes = unknot.load("runs/first").encode(images)`
    """
    if isinstance(path, str) and path.startswith("hub:"):
        path = _fetch(path)
    if reading.is_archive(path := as_path("path", path)):
        path = reading.unpack(path)
    if (path / "study.db").exists():
        if any(given is not None for given in (step, objective)):
            raise ConfigError("A study takes no step or objective.")
        return Study.open(path, data=data, net=net)
    _give(path, objective, net)
    return Run.wrap(verbs.load(path, device=device_name(device), data=data, step=step))


def _fetch(address: str) -> Path:
    """The folder of a run from the hub."""
    from unknot.sharing import hub

    fetched = hub.fetch(address)
    say(f"{fetched.name}, revision {fetched.revision}, weights SHA-256 {fetched.sha256}")
    return fetched.path


def _give(path: str | Path, objective: Any, net: Any) -> None:
    """Let a run folder find the classes and modules that it was trained with."""
    if holds_modules(net):
        its = RunFolder(Path(path)).table().get("net", {})
        give_modules(net, [its.get("structure")], "run")
        net = None
    give_classes(path, objective=objective, net=net)
