"""The pool of workers of one machine: tasks in, events out."""

import collections
import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

from unknot.core.errors import UnknotError
from unknot.study import answer
from unknot.study.cores import threads_in
from unknot.study.deaths import DEATHS, Deaths
from unknot.study.events import Event, Lost, Warned
from unknot.study.task import Task

GRACE = 20.0
"""Seconds that workers have to save and leave when asked to stop; then they are killed, which costs
no more than the steps since their last checkpoint."""


@dataclass(frozen=True, eq=False)
class Worker:
    """A process that takes tasks."""

    process: "subprocess.Popen[str]"
    errors: IO[bytes]

    @property
    def death(self) -> str:
        """How it ended, and the last that it said."""
        code = self.process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{how}: {last}" if last else how


Said: TypeAlias = "queue.SimpleQueue[tuple[Worker, dict[str, Any]]]"


def local(tasks: Sequence[Task], *, workers: int, threads: int | None = None) -> Iterator[Event]:
    """Perform tasks in processes of their own; closing the iterator stops them with a checkpoint.

    Args:
        tasks: Each for one worker at a time.
        workers: The most processes.
        threads: Of each; as many as PyTorch likes when None.

    Raises:
        UnknotError: Workers die before they can begin.
    """
    waiting, left, stillborn = collections.deque(tasks), len(tasks), 0
    deaths, warned = Deaths(), set[str]()
    said: Said = queue.SimpleQueue()
    alive: dict[Worker, Task | None] = {}
    ready: set[Worker] = set()
    try:
        while left:
            while len(alive) < min(workers, left):
                alive[_start(said, threads)] = None
            for worker in ready & {w for w, task in alive.items() if task is None}:
                if waiting:
                    alive[worker] = waiting.popleft()
                    _send(worker, alive[worker])
            worker, fact = said.get()
            task = alive[worker]
            if fact["event"] == "ready":
                ready.add(worker)
                stillborn = 0
            elif fact["event"] == "dead":
                del alive[worker]
                how = worker.death
                _close(worker)
                if task is None:
                    stillborn += worker not in ready
                    if stillborn > DEATHS:
                        raise UnknotError(f"Workers cannot start ({how}).")
                    continue
                event = deaths.died(task.key, how)
                if isinstance(event, Lost):
                    waiting.appendleft(task)
                else:
                    left -= 1
                yield event
            elif task is None:
                continue
            elif fact["event"] == "warning":
                if fact["text"] not in warned:
                    warned.add(fact["text"])
                    yield Warned(task.key, fact["text"])
            elif fact["event"] == "progress":
                yield deaths.progress(task.key, fact["phase"], fact["done"])
            else:
                alive[worker] = None
                left -= 1
                yield answer.event(task.key, fact)
    finally:
        _stop([*alive])


def _start(said: Said, threads: int | None) -> Worker:
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
    process = subprocess.Popen(
        [sys.executable, "-m", "unknot.study.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        encoding="utf-8",
        env={**os.environ, **threads_in(threads)},
        start_new_session=True,  # Ctrl-C reaches the driver, which asks its workers to save
    )
    worker = Worker(process, errors)
    threading.Thread(target=_read, args=(worker, said), daemon=True).start()
    return worker


def _read(worker: Worker, said: Said) -> None:
    if worker.process.stdout:
        with worker.process.stdout as lines:
            for line in lines:
                with contextlib.suppress(ValueError):  # half a line of a killed process
                    said.put((worker, json.loads(line)))
    worker.process.wait()
    said.put((worker, {"event": "dead"}))


def _send(worker: Worker, task: Task | None) -> None:
    if task and worker.process.stdin:
        with contextlib.suppress(OSError):  # it died: its reader will say so
            worker.process.stdin.write(task.json() + "\n")
            worker.process.stdin.flush()


def _stop(workers: Sequence[Worker]) -> None:
    """Ask workers to save and leave; kill those that take too long, or all at a second Ctrl-C."""
    until = time.monotonic() + GRACE
    try:
        for worker in workers:
            worker.process.terminate()
        for worker in workers:
            worker.process.wait(max(0.0, until - time.monotonic()))
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        for worker in workers:
            worker.process.kill()
    finally:
        for worker in workers:
            worker.process.wait()
            _close(worker)


def _close(worker: Worker) -> None:
    for pipe in (worker.process.stdin, worker.errors):
        with contextlib.suppress(OSError):  # it did not read all
            if pipe:
                pipe.close()
