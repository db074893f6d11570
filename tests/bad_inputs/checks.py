"""Whether a bad input gets what its row says; each function raises where it does not."""

import io
import signal
import tempfile
import time
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from bad_inputs.arguments import VALUES
from bad_inputs.running import evaluate, type_words, words_of
from unknot.core.errors import UnknotError

LONGEST = 20
"""Seconds of a processor; forever for a line that says no."""
IDLE = 0.02
"""Of a processor: who takes less in LONGEST seconds of the clock waits for something."""


@contextmanager
def limited():
    """No waiting and no endless work, however busy the machine is; Windows has no such timers."""
    used = time.process_time()

    def work(*_):
        raise TimeoutError("it works on and on")

    def wake(*_):
        nonlocal used
        before, used = used, time.process_time()
        if used - before < IDLE:
            raise TimeoutError("it waits")

    if not hasattr(signal, "setitimer"):
        yield
        return
    timers = (signal.SIGPROF, signal.ITIMER_PROF, work), (signal.SIGALRM, signal.ITIMER_REAL, wake)
    before = [signal.signal(number, handler) for number, _, handler in timers]
    for _, timer, _ in timers:
        signal.setitimer(timer, LONGEST, LONGEST)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def call(*words):
    """The command in this process: its exit code and what it wrote to the standard error stream."""
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    err = io.StringIO()
    try:
        with limited(), redirect_stdout(io.StringIO()), redirect_stderr(err):
            return type_words(words), err.getvalue()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def check_text(err):
    """One line for people."""
    assert "Traceback" not in err, err
    assert "\x1b" not in err, err
    if err.startswith("unknot:"):  # the parser of words draws a box around its own messages
        assert err.count("\n") == 1, err
        assert len(err) < 2_000, err


def check_command(row, folder, run):
    """A bad command gets its line, and writes nothing.

    Args:
        row: Of the table.
        folder: With the files that rows name.
        run: A finished run.
    """
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        code, err = call(*words_of(row, folder, run))
        assert code == row.code, err
        check_text(err)
        assert row.expected in " ".join(err.replace("│", " ").split()), err
        assert [*Path(empty).iterdir()] == []


def check_call(row, run):
    """A bad call raises its line, and writes nothing."""
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        try:
            with limited():
                value = evaluate(row, run)
        except UnknotError as error:
            message = str(error)
        else:
            raise AssertionError(f"it gives {value!r:.200}")
        assert row.expected in message, message
        assert len(message.splitlines()) == 1, message
        assert [*Path(empty).iterdir()] == []


def check_generated(text, images):
    """A setting is taken, or refused in a line."""
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        words = [
            "train",
            "--data",
            "arrays",
            "--net",
            "linear",
            "--steps",
            "1",
            "--batch",
            "2",
            "--device",
            "cpu",
            "--out",
            "run",
        ]
        code, err = call(*words, "--set", f"data.path={images}", "--set", text)
        check_text(err)
        assert code in (0, 1, 2), err
        assert code == 0 or not Path("run").exists(), "a run that was refused left a folder"


def check_argument(name, function, right, argument, value):
    """A value is taken by an argument, or refused in a line; nothing is written by a refusal."""
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        try:
            with limited(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                function(**{**right, argument: VALUES[value]})
        except UnknotError as error:
            message = str(error)
        except Exception as error:
            raise AssertionError(f"{name}({argument}={value}): {error!r:.200}") from error
        else:
            return
        assert len(message.splitlines()) == 1, message
        assert "\x1b" not in message, message
        assert [*Path(empty).iterdir()] == [], f"{name}({argument}={value}) left files"
