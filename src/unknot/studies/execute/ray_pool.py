"""The pool of a Ray cluster: each population an actor somewhere on it.

```python
from unknot.studies.execute import ray_pool
from unknot.studies.execute.driver import run

with ray_pool.connected("auto") as cluster:
    run(folder, study, machine=cluster.machine, pool=cluster.pool)
```

Ray decides where and when; a population whose worker or node is lost goes to another and on from
its last checkpoint, which is in the study's folder. If the head of the cluster is lost, the study
stops with one line that says how to resume; Ray itself would end this process a while later.
"""

import collections
import contextlib
import functools
import importlib
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, TypeAlias

import unknot
from unknot.core.errors import ConfigError, UnknotError
from unknot.runs.training import Stopped
from unknot.studies.execute.backends import Backend, check_options
from unknot.studies.execute.events import DeathPolicy, Event, Lost, Place, end_event
from unknot.studies.execute.local import GRACE
from unknot.studies.execute.machine import Machine, device_elsewhere, threads_in
from unknot.studies.execute.run_task import run_remote_task
from unknot.studies.execute.task import Task

Resources: TypeAlias = Mapping[str, float]
"""What a node has: numbers of CPUs, GPUs and so on."""
PAUSE = 0.3
"""Seconds between two looks at who is done and how far the others are."""
ANSWERS = 5.0
"""Seconds that a cluster has to open a connection."""
SILENCE = 30.0
"""Seconds that the head may be silent, such as while it restarts. After 60, Ray would end this
process."""
FAREWELL = 10.0
"""Seconds that workers have to save and leave when the head is lost."""

QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": "."}
"""Ray tells its makers nothing, and does not print what it has to say of a lost node between our
lines: `Lost` says so."""


class ClusterLostError(UnknotError):
    """The cluster went away while a study ran on it."""

    exit_code: ClassVar[int] = 1

    def __init__(self, how: str) -> None:
        super().__init__(
            f"The Ray cluster is gone ({how}). Scores and checkpoints are intact; run the same "
            "command again to resume."
        )


class Performer:
    """An actor: one population on a node. Its methods run side by side."""

    def __init__(self) -> None:
        self.reached: list[Place] = []
        self.halt = threading.Event()

    def perform(self, line: str, version: str) -> dict[str, Any]:
        """Perform a task, and say what came of it."""
        task = Task.from_json(line)
        try:
            return run_remote_task(task, version, tell=self._tell, stop=self.halt.is_set)
        except Stopped:
            return {"event": "stopped"}

    def _tell(self, phase: str, done: int) -> None:
        self.reached = [(phase, done)]

    def place(self) -> list[Place]:
        """How far it is; nothing before it says so."""
        return self.reached

    def stop(self) -> None:
        """Ask it to save and leave."""
        self.halt.set()


class Head:
    """The head of the cluster: which nodes there are, and whether it still answers.

    Asking a head that is lost never returns, so that only a thread of its own asks.
    """

    def __init__(self) -> None:
        self.nodes = alive_nodes()
        self.answered = time.monotonic()
        self._address = str(_ray().get_runtime_context().gcs_address)
        self._end = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while not self._end.wait(PAUSE):
            with contextlib.suppress(Exception):  # no answer, whatever it is called
                _knock(self._address)
                self.nodes = alive_nodes()
                self.answered = time.monotonic()

    @property
    def is_lost(self) -> bool:
        """Whether it has been silent for too long."""
        return time.monotonic() - self.answered > SILENCE

    def close(self) -> None:
        """Ask it no more."""
        self._end.set()


@contextmanager
def connected(address: str | None = None, *, workers: int | None = None) -> Iterator[Backend]:
    """A Ray cluster to run a study on.

    Args:
        address: ``HOST:PORT`` of its head; the environment's ``RAY_ADDRESS``, or the cluster that
            this machine is a node of, when None.
        workers: The most populations at a time; as many as there is room for when None.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        ray = _ray()
    except ImportError as error:
        raise ConfigError("Ray is not installed: pip install 'unknot[ray]'.") from error
    where = address or os.environ.get("RAY_ADDRESS") or "auto"
    try:
        _knock(where)
        ray.init(address=where, log_to_driver=False, logging_level="ERROR")
    except (OSError, RuntimeError, ValueError) as error:
        raise UnknotError(
            f"No Ray cluster answers at '{where}' ({_line(error)}). Start one with `ray start "
            "--head`, or give its address with --backend-option address=HOST:PORT. Nothing was "
            "started."
        ) from error
    try:
        yield Backend(_machine, functools.partial(_pool, workers=workers))
    finally:
        ray.shutdown()


def backend(options: Mapping[str, str], workers: int | None) -> AbstractContextManager[Backend]:
    """What ``--backend ray`` runs a study on."""
    check_options("ray", options, ("address",))
    return connected(options.get("address"), workers=workers)


def _ray() -> Any:
    return importlib.import_module("ray")


def _knock(where: str) -> None:
    """Ray itself would try for minutes."""
    host, colon, port = where.rpartition("://")[2].rpartition(":")
    if colon and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), ANSWERS).close()


def _line(error: Exception) -> str:
    return next((line.strip(" .") for line in str(error).split("\n") if line.strip()), "")


def _machine(
    runs: int,  # noqa: ARG001 - they wait in Ray's queue
    *,
    device: str = "auto",
    workers: int | None = None,
    threads: int | None = None,
) -> Machine:
    """The device and threads of a study's tasks on a cluster, and how many have room at a time."""
    nodes = alive_nodes()
    gpus = _room(nodes, None)
    name = device_elsewhere(device, auto="cuda" if gpus else "cpu")
    if name == "cuda":
        if not gpus:
            raise ConfigError("No node of the Ray cluster has a GPU; use --device cpu.")
        return Machine("cuda", workers or gpus, None)
    worker_threads = threads or 1
    if not (room := _room(nodes, worker_threads)):
        raise ConfigError(
            f"No node of the Ray cluster has {worker_threads} CPUs, which each task asks for."
        )
    return Machine("cpu", workers or room, worker_threads)


def _pool(tasks: Sequence[Task], *, workers: int | None = None) -> Iterator[Event]:
    """Perform tasks on the cluster; closing the iterator stops them with a checkpoint."""
    ray = _ray()
    waiting, deaths = collections.deque(tasks), DeathPolicy()
    running: dict[Any, tuple[Task, Any]] = {}
    """By the promise of an answer, the task and its actor."""
    places_of: dict[str, Any] = {}
    """By key, the promise to say how far it is."""
    started: set[str] = set()
    """Keys of tasks whose actor was given a place."""
    head = Head()
    try:
        while waiting or running:
            if head.is_lost:
                raise ClusterLostError(f"its head has not answered for {SILENCE:.0f} seconds")
            # Nodes come and go; one task waits even where there is none.
            room = workers or max(1, _room(head.nodes, tasks[0].threads))
            while waiting and len(running) < room:
                task = waiting.popleft()
                performer, promise = _start(task, head.nodes)
                running[promise] = task, performer
                places_of[task.key] = performer.place.remote()
            for promise in ray.wait([*running], timeout=PAUSE)[0]:
                task, performer = running.pop(promise)
                started.discard(task.key)
                try:
                    event: Event = end_event(task.key, ray.get(promise))
                except _deaths() as error:
                    event = deaths.died(task.key, how(error))
                    if isinstance(event, Lost):
                        waiting.appendleft(task)
                ray.kill(performer)
                yield event
            for task, performer in [*running.values()]:
                places = _answered(places_of[task.key])
                if places is not None:
                    started.add(task.key)
                    places_of[task.key] = performer.place.remote()
                    for phase, done in places:
                        yield deaths.progress(task.key, phase, done)
    except (
        ray.exceptions.RaySystemError,
        ray.exceptions.LocalRayletDiedError,
        ConnectionError,
    ) as error:
        raise ClusterLostError(_line(error)) from error
    finally:
        head.close()
        with contextlib.suppress(ray.exceptions.RayError, ConnectionError):
            _stop(running, started, FAREWELL if head.is_lost else GRACE)


def alive_nodes() -> list[Resources]:
    """What each node that is there has."""
    return [node["Resources"] for node in _ray().nodes() if node["Alive"]]


def _room(nodes: Sequence[Resources], threads: int | None) -> int:
    """How many tasks of some threads fit the nodes; of one GPU each when None."""
    if threads is None:
        return sum(int(node.get("GPU", 0)) for node in nodes)
    return sum(int(node.get("CPU", 0)) // threads for node in nodes)


def cpus_per_gpu(nodes: Sequence[Resources]) -> int:
    """A GPU's share of its node's CPUs, the least of all nodes: they score what it has trained.

    Example:
        >>> cpus_per_gpu([{"CPU": 16.0, "GPU": 2.0}, {"CPU": 4.0}, {"CPU": 12.0, "GPU": 2.0}])
        6
    """
    shares = [int(n.get("CPU", 0)) // int(n["GPU"]) for n in nodes if n.get("GPU", 0) >= 1]
    return max(1, min(shares, default=1))


def _start(task: Task, nodes: Sequence[Resources]) -> tuple[Any, Any]:
    """An actor, and its promise to answer."""
    gpu = task.device != "cpu"
    performer = (
        _ray()
        .remote(Performer)
        .options(
            num_cpus=cpus_per_gpu(nodes) if gpu else task.threads or 1,
            num_gpus=1 if gpu else 0,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=3,
            runtime_env={"env_vars": threads_in(task.threads)},
        )
        .remote()
    )
    return performer, performer.perform.remote(task.json(), unknot.__version__)


def _answered(promise: Any) -> list[Place] | None:
    """What was promised, if it is there; who died is found out by its answer."""
    ray = _ray()
    if not ray.wait([promise], timeout=0)[0]:
        return None
    try:
        places: list[Place] = ray.get(promise)
    except _deaths():
        return None
    return places


def _deaths() -> tuple[type[Exception], ...]:
    """What Ray raises of an actor that is gone; one killed for memory is no `RayActorError`."""
    errors = _ray().exceptions
    return (
        errors.RayActorError,
        errors.OutOfMemoryError,
        errors.WorkerCrashedError,
        errors.NodeDiedError,
    )


def how(error: Exception) -> str:
    r"""How an actor ended, in a few of Ray's many words.

    Example:
        >>> how(RuntimeError("The actor died.\n\tpid: 7\nIts node has died. Node Id: 5f"))
        'Its node has died'
    """
    if type(error).__name__ == "OutOfMemoryError":  # a page of text
        return "its node is low on memory"
    lines = [line.strip() for line in str(error).split("\n") if line.strip()]
    if any("creation task" in line for line in lines):  # such as a package that is missing there
        return lines[-1]
    messages = [line for line in lines[1:] if not line.partition(" ")[0].endswith(":")]
    return (messages or lines or ["no word"])[0].partition(". ")[0]


def _stop(running: Mapping[Any, tuple[Task, Any]], started: set[str], grace: float) -> None:
    """Ask those at work to save and leave; end those that take too long or never began."""
    ray = _ray()
    promises = []
    for promise, (task, performer) in running.items():
        if task.key in started:
            performer.stop.remote()
            promises.append(promise)
    try:
        if promises:
            ray.wait(promises, num_returns=len(promises), timeout=grace)
    finally:
        for _, performer in running.values():
            ray.kill(performer)
