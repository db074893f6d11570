"""Answer: a task as a worker is told it, and what it says in the end; plain data both."""

import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import unknot
from unknot.core.errors import StoreError, UnknotError
from unknot.study import lock, store
from unknot.study.events import Done, Failed
from unknot.study.task import Outcome, Task, Tell, perform
from unknot.study.training import Stopped

PATIENCE = 300.0
"""Seconds that a task waits for whoever else is in its folder: a worker that its cluster believes
dead may be alive, and a file server frees the locks of a dead machine after a minute or two."""


def answer(line: str, *, tell: Tell, stop: Callable[[], bool]) -> dict[str, Any]:
    """Perform a task; whatever it does, others go on.

    Raises:
        Stopped: Asked to stop; what is on the disk is enough to go on from.
    """
    try:
        outcome = perform(Task.from_json(line), tell=tell, stop=stop)
    except Stopped:
        raise
    except UnknotError as error:
        return {"event": "failed", "error": str(error)}
    except Exception as error:
        return {"event": "failed", "error": f"{type(error).__name__}: {error}"}
    return {"event": "done", "outcome": outcome.json()}


def answer_elsewhere(
    line: str, version: str, *, tell: Tell, stop: Callable[[], bool]
) -> dict[str, Any]:
    """Perform a task on a node of a cluster, which may not be what the driver takes it for.

    Args:
        line: The task.
        version: Of the driver.
        tell: Told how far it is.
        stop: Asked whether to stop.

    Raises:
        Stopped: Asked to stop; what is on the disk is enough to go on from.
    """
    folder = Path(Task.from_json(line).folder)
    try:
        _check(folder.parent.parent, version)
    except UnknotError as error:
        return {"event": "failed", "error": str(error)}
    until = time.monotonic() + PATIENCE
    while lock.is_held(folder) and time.monotonic() < until:
        if stop():
            raise Stopped
        time.sleep(0.5)
    return answer(line, tell=tell, stop=stop)


def _check(study: Path, version: str) -> None:
    node = socket.gethostname()
    if unknot.__version__ != version:
        raise UnknotError(
            f"Node {node} has unknot {unknot.__version__} and the driver {version}; "
            "install the same version on both."
        )
    if not (study / store.FILE).exists():  # or it would train into a folder that nobody reads
        raise StoreError(
            f"Node {node} does not see {study}; "
            "keep the study in a folder that all nodes have under the same path."
        )


def event(key: str, fact: Mapping[str, Any]) -> Done | Failed:
    """An answer as the driver's event."""
    if fact["event"] == "done":
        return Done(key, Outcome.from_json(fact["outcome"]))
    return Failed(key, fact["error"])
