"""Ctrl-C at any moment: one line and exit code 130.

Nothing is imported here but the standard library, so that it is heard from the first moment on.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

STOPPED = 130
"""The exit code of a command that was stopped."""
MOST = 2
"""Signals that are waited for, at most; the next one ends the process at once."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

requested = threading.Event()
"""Whether someone asked to stop, in a way that may have got lost on its way up."""
_count = 0


def stop_at_once(number: int = 0, frame: FrameType | None = None) -> NoReturn:  # noqa: ARG001
    """Leave without a word of libraries that are being imported: a signal handler.

    Nothing is lost by it, as nothing is by a kill.
    """
    show_cursor = b"\r\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else b""
    os.write(2, show_cursor + b"Stopped.\n")
    os._exit(STOPPED)


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt where it can be handled, else leave: a signal handler.

    In an import it would leave half a module behind, or be swallowed.
    """
    global _count
    _count += 1
    if _count > MOST or _imports(frame):
        stop_at_once(number, frame)
    requested.set()
    raise KeyboardInterrupt


def listen(*, at_once: bool = False) -> None:
    """Hear Ctrl-C and termination from now on, also where a shell has them ignored.

    Args:
        at_once: Whether to leave at once, as long as nothing has begun.
    """
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            signal.signal(number, stop_at_once if at_once else interrupt)


@contextmanager
def keep_handlers() -> Iterator[None]:
    """Put handlers back at the end: a command may be called by another program."""
    alone = threading.current_thread() is threading.main_thread()
    before = {number: signal.getsignal(number) for number in SIGNALS} if alone else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _imports(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
