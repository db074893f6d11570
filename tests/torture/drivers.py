"""Processes of a study that are killed, stopped, orphaned or doubled."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from processes import Command, children
from studies.bars import records

from unknot.studies import repair

KILLS = 4
"""Of a study before it may finish."""
BEGIN = "import os; from unknot.cli.entry import main; os.write(1, b'!'); main()"
"""What Python does before our first line is not ours."""


def start(world, out, prepare=None):
    """A driver with one worker."""
    words = ("study", "run", world.file, "--out", out, "--device", "cpu", "--workers", 1)
    return Command(*words, cwd=world.folder, prepare=prepare)


def finish(world, out):
    """Run a study to its end, where it is as if nothing had happened."""
    driver = start(world, out)
    output = driver.output()
    assert driver.returncode == 0, output
    assert records(out)[1:] == world.records[1:], "other scores or weights"
    assert not repair.find_faults(out)


def signal_all(number, pids):
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def wait_for_end(workers):
    until = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
        assert time.monotonic() < until, "workers outlive their driver"
        time.sleep(0.01)


def random_kills(world, seed):
    """Driver, worker or both are killed at moments of chance; how many times."""
    rng, out = random.Random(seed), world.place()
    for _ in range(KILLS):
        driver = start(world, out)
        time.sleep(rng.uniform(0.1, 4.0))
        workers = children(driver.pid)
        signal_all(signal.SIGKILL, rng.choice(([driver.pid], workers[:1], [driver.pid, *workers])))
        driver.output()
        wait_for_end(workers)
    finish(world, out)
    shutil.rmtree(out)
    return KILLS


def wait_for(condition, driver):
    """Until a driver has come so far, or has ended."""
    until = time.monotonic() + 60
    while driver.poll() is None and not condition() and time.monotonic() < until:
        time.sleep(0.01)


def orphans(world, seconds):
    """Workers whose driver is killed while they are at work end by themselves."""
    out = world.place()
    driver = start(world, out)
    wait_for(lambda: children(driver.pid), driver)
    time.sleep(seconds)
    workers = children(driver.pid)
    driver.kill()
    driver.output()
    wait_for_end(workers)
    finish(world, out)
    shutil.rmtree(out)


def two_drivers(world):
    """Two drivers start at once: one works, the other says so, and nothing differs."""
    out = world.place()
    both = [start(world, out) for _ in range(2)]
    outputs = [driver.output() for driver in both]
    codes = sorted(driver.returncode for driver in both)
    assert codes in ([0, 2], [0, 0]), outputs
    assert codes == [0, 0] or any("Another process" in output for output in outputs)
    finish(world, out)
    shutil.rmtree(out)


def stopped(world, number, seconds):
    """A signal at any moment ends a study with one line and 130, and it goes on from there."""
    out = world.place()
    driver = start(world, out)
    wait_for(out.exists, driver)
    time.sleep(seconds)
    signal_all(number, [driver.pid])
    output = driver.output()
    assert driver.returncode in (0, 130), output
    assert driver.returncode == 0 or output.count("Stopped.") == 1, output
    assert "Traceback" not in output, output
    finish(world, out)
    shutil.rmtree(out)


def stopped_early(world, number, seconds):
    """So does one in the first seconds of a new process, while it imports."""
    words = [sys.executable, "-c", BEGIN, "study", "run", world.file, "--out", world.place()]
    process = subprocess.Popen(
        [*map(str, words), "--device", "cpu", "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    process.stdout.read(1)
    time.sleep(seconds)
    process.send_signal(number)
    output = process.communicate(timeout=120)[0].decode()
    assert process.returncode in (0, 130), output
    assert process.returncode == 0 or output.count("Stopped.") == 1, output
    assert "Traceback" not in output, output
