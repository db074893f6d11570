"""One process at a time holds a folder, however the one before it ended."""

import subprocess
import sys
import threading
import time

import pytest

from unknot.core.errors import StoreError, WriteError
from unknot.runs import lock

HOLDER = """
import sys, time
from pathlib import Path
from unknot.runs import lock
with lock.hold(Path(sys.argv[1]), "no"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


@pytest.fixture
def holder(tmp_path):
    """A function that starts a process which holds the folder for some seconds."""
    started = []

    def start(seconds):
        words = [sys.executable, "-c", HOLDER, str(tmp_path / "new" / "folder"), str(seconds)]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process, tmp_path / "new" / "folder"

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_second_process_is_refused_until_the_first_is_killed(holder):
    process, folder = holder(60)
    assert lock.is_held(folder)
    with (
        pytest.raises(StoreError, match=r"^somebody is here$"),
        lock.hold(folder, "somebody is here"),
    ):
        pass
    process.kill()
    process.wait()
    assert not lock.is_held(folder)
    with lock.hold(folder, "somebody is here"):
        assert lock.is_held(folder)
    assert not lock.is_held(folder)


def test_patience_waits_for_the_first_to_leave(holder):
    _, folder = holder(1.0)
    began = time.monotonic()
    with lock.hold(folder, "no", patience=30.0):
        assert 0.3 < time.monotonic() - began < 20


def test_an_error_inside_releases_the_folder(tmp_path):
    with pytest.raises(ValueError, match="mine"), lock.hold(tmp_path, "no"):
        raise ValueError("mine")
    assert not lock.is_held(tmp_path)


def test_looking_at_a_folder_neither_writes_there_nor_refuses_who_begins(tmp_path):
    assert not lock.is_held(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with lock.hold(tmp_path, "no"):
        pass
    stop = threading.Event()

    def look():
        while not stop.is_set():
            lock.is_held(tmp_path)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(50):
            with lock.hold(tmp_path, "no"):
                pass
    finally:
        stop.set()
        looking.join()


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"^Could not write to .*inner: not a directory\.$"):
        lock.hold(tmp_path / "file" / "inner", "no").__enter__()
