"""Workers of this machine: tasks in, events out.

One pool serves the driver of a study, whose workers train and score populations, and whoever has
trained models, whose workers score their codes.
"""

import collections
import contextlib
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, TypeAlias

from unknot.core.errors import UnknotError
from unknot.runs.training import Stopped
from unknot.studies.execute.events import DEATHS, DeathPolicy, Event, Lost, Warned, end_event
from unknot.studies.execute.machine import threads_in
from unknot.studies.execute.task import ScoreTask, Task
from unknot.studies.execute.worker import Message, read, write

GRACE = 20.0
"""Seconds that workers have to save and leave when asked to stop; then they are killed, which costs
no more than the steps since their last checkpoint."""
PAUSE = 0.2
"""Seconds between two questions whether to stop."""
Inbox: TypeAlias = "queue.SimpleQueue[tuple[WorkerProcess, Message | None]]"
"""What workers say; nothing when one is dead."""


class NoWorkersError(UnknotError):
    """Workers die before they can begin, or none is left."""


class WorkerProcess:
    """A worker as whoever started it sees it."""

    def __init__(self, inbox: Inbox, environment: Mapping[str, str], device: str | None) -> None:
        self.task: Task | ScoreTask | None = None
        self.device = device
        """Of its tasks; as they say when None."""
        self.ready = False
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self.process = subprocess.Popen(
            [sys.executable, "-m", "unknot.studies.execute.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **environment},
            start_new_session=True,  # Ctrl-C reaches us, and we ask workers to save
        )
        threading.Thread(target=self._listen, args=(inbox,), daemon=True).start()

    def _listen(self, inbox: Inbox) -> None:
        if self.process.stdout:
            with self.process.stdout as stream:
                try:
                    while message := read(stream):
                        inbox.put((self, message))
                except (ValueError, KeyError, TypeError):  # no words of a worker
                    self.process.kill()
        self.process.wait()
        inbox.put((self, None))

    def send(self, fact: Mapping[str, Any], data: bytes = b"") -> None:
        """Send a message."""
        if self.process.stdin:
            with contextlib.suppress(OSError):  # it died: its listener will say so
                write(self.process.stdin, fact, data)

    @property
    def is_idle(self) -> bool:
        """Whether it can take a task."""
        return self.ready and self.task is None

    def give(self, task: Task | ScoreTask) -> None:
        """Give it a task."""
        if self.device is not None and isinstance(task, Task):
            task = replace(task, device=self.device)
        self.task = task
        self.send({"kind": type(task).__name__, "task": asdict(task)})

    @property
    def death(self) -> str:
        """How it ended, and the last that it said."""
        code = self.process.returncode
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f"{how}: {last}" if last else how

    def close(self) -> None:
        """Let go of a dead one."""
        self.process.wait()
        for pipe in (self.process.stdin, self.errors):
            with contextlib.suppress(OSError):  # it did not read all
                if pipe:
                    pipe.close()


class LocalPool:
    """Processes that perform tasks; leaving the context stops them.

    Args:
        tasks: Each for one worker at a time.
        workers: The most processes.
        environment: Of the processes, beside this one's.
        devices: GPUs to share out among the processes; tasks say themselves when there are none.
        replace_dead: Whether others take the place of the dead; else there are fewer and fewer,
            as is wise where there may be too little memory for so many.
        answer: Gives a worker the bytes that its task asks for; gets the task's key, and bytes.
        stop: Asked several times a second.
        grace: Seconds that workers have to save and leave.
    """

    def __init__(
        self,
        tasks: Sequence[Task | ScoreTask],
        *,
        workers: int,
        environment: Mapping[str, str],
        devices: Sequence[str] = (),
        replace_dead: bool = True,
        answer: Callable[[str, bytearray], bytes] = lambda _, __: b"",
        stop: Callable[[], bool] = lambda: False,
        grace: float = GRACE,
    ) -> None:
        self.waiting, self.left = collections.deque(tasks), len(tasks)
        self.workers, self.environment, self.replace_dead = workers, environment, replace_dead
        self.devices = devices
        self.answer, self.stop, self.grace = answer, stop, grace
        self.inbox: Inbox = queue.SimpleQueue()
        self.alive: set[WorkerProcess] = set()
        self.deaths, self.failed_starts, self.warned = DeathPolicy(), 0, set[str]()

    def __enter__(self) -> "LocalPool":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        while len(self.alive) < min(self.workers, self.left):
            self._start_one(self.alive)

    def _start_one(self, team: set[WorkerProcess]) -> None:
        """Start a worker, on the device that has the fewest of its team."""
        worker = WorkerProcess(self.inbox, self.environment, self._idlest_device(team))
        self.alive.add(worker)
        team.add(worker)

    def _idlest_device(self, team: Iterable[WorkerProcess]) -> str | None:
        busy = collections.Counter(worker.device for worker in team)
        return min(self.devices, key=lambda device: busy[device], default=None)

    def events(self) -> Iterator[Event]:
        """What becomes of the tasks, until all have come to an end."""
        while self.left:
            self._start()
            self._give()
            worker, message = self._next_message()
            event = self._on_death(worker) if message is None else self.on_message(worker, *message)
            if event is not None:
                yield event

    def _give(self) -> None:
        """Give tasks to those who are idle."""
        for worker in self.alive:
            if self.waiting and worker.is_idle:
                worker.give(self.waiting.popleft())

    def _next_message(self) -> tuple[WorkerProcess, Message | None]:
        while True:
            if self.stop():
                raise Stopped
            with contextlib.suppress(queue.Empty):
                return self.inbox.get(timeout=PAUSE)

    def on_message(
        self, worker: WorkerProcess, fact: dict[str, Any], data: bytearray
    ) -> Event | None:
        """Take what a worker says; an event where it is one."""
        kind, task = fact["event"], worker.task
        if kind == "ready":
            worker.ready, self.failed_starts = True, 0
        elif task is None:
            pass
        elif kind == "ask":
            worker.send({}, self.answer(task.key, data))
        elif kind == "progress":
            return self.deaths.progress(task.key, fact["phase"], fact["done"])
        elif kind == "warning":
            if fact["text"] not in self.warned:
                self.warned.add(fact["text"])
                return Warned(task.key, fact["text"])
        else:
            return self._end(worker, end_event(task.key, fact))
        return None

    def _end(self, worker: WorkerProcess, event: Event) -> Event:
        """The task of a worker has come to an end."""
        worker.task = None
        self.left -= 1
        return event

    def _put_back(self, worker: WorkerProcess) -> None:
        """The task of a worker that died is the next to be given."""
        if worker.task is not None:
            self.waiting.appendleft(worker.task)

    def _on_death(self, worker: WorkerProcess) -> Event | None:
        """A worker is gone, and its task goes to another or is given up."""
        self.alive.remove(worker)
        how = worker.death
        worker.close()
        self.workers -= not self.replace_dead
        if worker.task is None:
            self.failed_starts += not worker.ready
            event: Event | None = None
        else:
            event = self.deaths.died(worker.task.key, how)
            if isinstance(event, Lost):
                self._put_back(worker)
            else:
                event = self._end(worker, event)
        if self.failed_starts > DEATHS or not self.workers:
            raise NoWorkersError(f"Workers cannot start ({how}).")
        return event

    def __exit__(self, *_: object) -> None:
        """Ask workers to save and leave; kill those that take long, or all at a second Ctrl-C."""
        until = time.monotonic() + self.grace
        try:
            for worker in self.alive:
                worker.process.terminate()
            for worker in self.alive:
                worker.process.wait(max(0.0, until - time.monotonic()))
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            for worker in self.alive:
                worker.process.kill()
        finally:
            for worker in self.alive:
                worker.close()


def local(
    tasks: Sequence[Task],
    *,
    workers: int,
    threads: int | None = None,
    devices: Sequence[str] = (),
    stop: Callable[[], bool] = lambda: False,
    pool: type[LocalPool] = LocalPool,
) -> Iterator[Event]:
    """Perform tasks in processes of their own; closing the iterator stops them with a checkpoint.

    Args:
        tasks: Each for one worker at a time.
        workers: The most processes.
        threads: Of each; as many as PyTorch likes when None.
        devices: GPUs to share out among them; tasks say themselves when there are none.
        stop: Asked several times a second.
        pool: Who has which task when.
    """
    environment = threads_in(threads)
    with pool(
        tasks, workers=workers, environment=environment, devices=devices, stop=stop
    ) as processes:
        yield from processes.events()
