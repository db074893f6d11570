"""A worker: a process that performs one task after the other and tells how they go.

It lives as long as its standard input is open, so that no worker outlives whoever started it.
Messages are JSON lines; one that names a number of ``bytes`` is followed by them.

| from a worker | means |
|---|---|
| `ready` | it can take a task |
| `progress`, `warning` | of the task that it is at |
| `ask`, with bytes | it needs codes of these rows, and waits for them |
| `done`, `trained`, `scored`, `failed` | the end of the task |
"""

import json
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Mapping
from types import FrameType
from typing import IO, Any, TypeAlias

PAUSE = 0.3
"""Seconds between two words about progress."""
Message: TypeAlias = tuple[dict[str, Any], bytearray]


def write(stream: IO[bytes], fact: Mapping[str, Any], data: bytes = b"") -> None:
    """Send a message."""
    stream.write(json.dumps({**fact, "bytes": len(data)}).encode() + b"\n")
    stream.write(data)
    stream.flush()


def read(stream: IO[bytes]) -> Message | None:
    """Receive a message; None at the end, even in the middle of one."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    fact = json.loads(line)
    data = bytearray(fact.pop("bytes"))
    return (fact, data) if stream.readinto(data) == len(data) else None  # type: ignore[attr-defined]


class Worker:
    """This process as a worker: what it hears and what it says."""

    def __init__(self, out: IO[bytes]) -> None:
        self.out = out
        self.inbox: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.stop = threading.Event()
        self.last_word, self.phase = 0.0, ""

    def listen(self) -> None:
        """Take messages until the input ends; then leave at once."""
        while message := read(sys.stdin.buffer):
            self.inbox.put(message)
        os._exit(1)  # nobody waits for the task, and a training has its checkpoint

    def ask_to_stop(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - Python's
        """Leave when the task can be left: a signal handler."""
        self.stop.set()
        self.inbox.put(None)

    def tell(self, phase: str, done: int) -> None:
        """Say how far the task is: now and then, and when something else begins."""
        if phase != self.phase or time.monotonic() - self.last_word >= PAUSE:
            self.last_word, self.phase = time.monotonic(), phase
            write(self.out, {"event": "progress", "phase": phase, "done": done})

    def warn(self, message: Warning | str, kind: type[Warning]) -> None:
        """Pass a warning on."""
        write(self.out, {"event": "warning", "text": f"{kind.__name__}: {message}"})

    def ask(self, data: bytes) -> bytearray:
        """Ask whoever gave the task, and wait for the answer."""
        from unknot.runs.training import Stopped

        write(self.out, {"event": "ask"}, data)
        message = self.inbox.get()
        if message is None:
            raise Stopped
        return message[1]

    def work(self) -> None:
        """Perform tasks until a signal asks to stop."""
        from unknot.core import user_classes
        from unknot.runs.training import Stopped
        from unknot.studies.execute.run_task import run_task
        from unknot.studies.execute.task import ScoreTask, Task

        user_classes.import_given()
        kinds = {kind.__name__: kind for kind in (Task, ScoreTask)}
        write(self.out, {"event": "ready"})
        while (message := self.inbox.get()) is not None and not self.stop.is_set():
            task = kinds[message[0]["kind"]](**message[0]["task"])
            try:
                end = run_task(task, tell=self.tell, stop=self.stop.is_set, ask=self.ask)
            except Stopped:
                break
            write(self.out, end)


def main() -> None:
    """Work until the input ends or a signal asks to stop."""
    # What libraries print must not get between our messages.
    worker = Worker(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)
    warnings.showwarning = lambda message, kind, *_: worker.warn(message, kind)
    threading.Thread(target=worker.listen, daemon=True).start()
    signal.signal(signal.SIGTERM, worker.ask_to_stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides
    worker.work()


if __name__ == "__main__":
    main()
