"""Whether a bad input gets what its row says; each function raises where it does not."""

import io
import signal
import sys
import tempfile
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import torch

import unknot
from unknot.cli.main import main
from unknot.core.errors import UnknotError

LONGEST = 20
"""Seconds; forever for a line that says no."""


@contextmanager
def limited():
    """No waiting: whatever is inside ends soon; Windows has no alarm."""

    def wake(*_):
        raise TimeoutError("it waits")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(LONGEST)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def call(*words):
    """The command in this process: its exit code and what it wrote to the standard error stream."""
    argv, handlers = sys.argv, {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    sys.argv = ["unknot", *words]
    err = io.StringIO()
    try:
        with limited(), redirect_stdout(io.StringIO()), redirect_stderr(err):
            main()
    except SystemExit as end:
        if end.code == 70:  # a bug of ours: show it as it was raised
            raise end.__cause__ from None
        return end.code or 0, err.getvalue()
    finally:
        sys.argv = argv
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return 0, err.getvalue()


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
    words = (word.replace("{d}", str(folder)).replace("{run}", str(run)) for word in row.words)
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        code, err = call(*words)
        assert code == row.code, err
        check_text(err)
        assert row.expected in " ".join(err.replace("│", " ").split()), err
        assert [*Path(empty).iterdir()] == []


def check_call(row, run):
    """A bad call raises its line, and writes nothing."""
    rng = np.random.default_rng(0)
    names = {"unknot": unknot, "np": np, "torch": torch, "run": run}
    names |= {"codes": rng.normal(size=(64, 3)), "factors": rng.integers(0, 4, (64, 2))}
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        try:
            with limited():
                value = eval(row.code, names)
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
