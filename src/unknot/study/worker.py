"""A worker: a process that takes tasks, one JSON line each, and tells how they go.

It lives as long as its standard input is open, so that no worker outlives a killed driver.
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
from typing import Any, TextIO

PAUSE = 0.3
"""Seconds between two words about progress."""


def main() -> None:
    """Work until the input ends, a signal asks to stop, or a task is interrupted by one."""
    # What libraries print must not get between our lines.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.showwarning = lambda message, kind, *_: _say(
        out, {"event": "warning", "text": f"{kind.__name__}: {message}"}
    )
    tasks: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    stop = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's signature
        stop.set()
        tasks.put(None)

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides
    from unknot.study.training import Stopped

    _say(out, {"event": "ready"})
    while (line := tasks.get()) is not None and not stop.is_set():
        try:
            _work(line, out, stop)
        except Stopped:
            break


def _listen(tasks: "queue.SimpleQueue[str | None]") -> None:
    for line in sys.stdin:
        tasks.put(line)
    os._exit(1)  # the driver is gone: at once, there is a checkpoint to go on from


def _work(line: str, out: TextIO, stop: threading.Event) -> None:
    from unknot.study.answer import answer

    said = [0.0]

    def tell(phase: str, done: int) -> None:
        if time.monotonic() - said[0] >= PAUSE:
            said[0] = time.monotonic()
            _say(out, {"event": "progress", "phase": phase, "done": done})

    _say(out, answer(line, tell=tell, stop=stop.is_set))


def _say(out: TextIO, fact: Mapping[str, Any]) -> None:
    out.write(json.dumps(fact) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
