"""Ctrl-C as a request to stop, so that a training ends at a whole step."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or termination into a request; the second acts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {s: signal.getsignal(s) for s in (signal.SIGINT, signal.SIGTERM)}

    def ask(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's signature
        stop.set()
        for s, handler in before.items():
            signal.signal(s, handler)

    for s in before:
        signal.signal(s, ask)
    try:
        yield stop
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
