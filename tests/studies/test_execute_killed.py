"""Studies whose processes are killed, stopped or die: nothing of it changes what comes out."""

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from processes import Command, children
from studies.bars import CORES, kill, records, run_inline, study_text

import unknot
from unknot.studies.execute import local
from unknot.studies.execute.driver import run
from unknot.studies.execute.events import Divided, Failed, Lost, Progress
from unknot.studies.file.study_file import StudyFile
from unknot.studies.study import Study


def start(folder, *words):
    options = ("--device", "cpu", "--workers", CORES)
    return Command("study", "run", *words, *options, cwd=folder.parent)


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


@needs_proc
def test_four_kills_change_nothing(images, tmp_path, undisturbed, monkeypatch):
    """The driver, a worker that was given its task, one in training, one at a moment of chance."""
    folder = tmp_path / "study"
    file = tmp_path / "bars.toml"
    file.write_text(study_text(images))
    driver = start(folder, file, "--out", folder)
    while driver.poll() is None and not list(folder.glob("populations/*/checkpoints/step-*")):
        time.sleep(0.005)
    workers = children(driver.pid)
    kill(driver.pid)
    driver.output()
    assert driver.returncode == -signal.SIGKILL
    assert 1 <= len(workers) <= 2
    until = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
        assert time.monotonic() < until, "workers outlive their driver"
        time.sleep(0.01)

    begun, given, heard, real = [], [], [], local.WorkerProcess
    later = threading.Timer(random.Random(5).uniform(0, 3), lambda: begun[-1].process.kill())

    class Killed(real):
        def __init__(self, *args):
            super().__init__(*args)
            begun.append(self)

        def give(self, task):
            """The first dies with the task in hand: later it might be done before it is killed."""
            super().give(task)
            given.append(self)
            if len(given) == 1:
                self.process.kill()

    def watch(event):
        heard.append(event)
        if isinstance(event, Progress) and not later.is_alive() and not later.finished.is_set():
            for worker in begun:
                if worker.task is not None and worker.task.key == event.key:
                    worker.process.kill()
            later.start()

    monkeypatch.setattr(local, "WorkerProcess", Killed)
    run(folder, device="cpu", watch=watch)
    later.join()
    assert any(isinstance(event, Lost) and "signal 9" in event.how for event in heard)
    assert records(folder) == records(undisturbed)


# A third population, so that one is trained while others are scored.
THREE = """
        [[grid]]
        objective = {name = "vae"}
"""


def begins(folder, driver):
    return children(driver.pid)


def trains(folder, driver):
    return list(folder.glob("populations/*/checkpoints/step-*"))


def has_weights(folder, driver):
    return list(folder.glob("populations/*/weights.safetensors"))


def has_scores(folder, driver):
    return any(row.get("mig") is not None for row in Study.open(folder).table())


@needs_proc
@pytest.mark.slow
def test_kills_at_every_stage_change_nothing(images, tmp_path):
    """A worker, then the driver, each a random while after the study has come so far."""
    chance, kills = random.Random(11), []
    file, folder, whole = (tmp_path / name for name in ("bars.toml", "study", "whole"))
    file.write_text(study_text(images, steps=300, more=THREE))
    run_inline(whole, file.read_text())
    for stage in (begins, trains, has_weights, has_scores):
        driver = start(folder, file, "--out", folder)
        for victim in ("worker", "driver"):
            while driver.poll() is None and not stage(folder, driver):
                time.sleep(0.002)
            time.sleep(chance.uniform(0, 0.3))
            pids = children(driver.pid)[:1] if victim == "worker" else [driver.pid]
            kills += [stage for pid in pids if driver.poll() is None and kill(pid)]
        output = driver.output()
        assert driver.returncode in (0, -signal.SIGKILL), output
    assert {*kills} == {begins, trains, has_weights, has_scores}
    assert len(kills) >= 6
    driver = start(folder, file, "--out", folder)
    output = driver.output()
    assert driver.returncode == 0, output
    assert records(folder) == records(whole)


@pytest.mark.slow
def test_ctrl_c_stops_with_a_state_to_go_on_from(images, tmp_path):
    file, folder, whole = (tmp_path / name for name in ("bars.toml", "study", "whole"))
    file.write_text(study_text(images, steps=800).replace("every = 20", "every = 100_000"))
    driver = start(folder, file, "--out", folder)
    while not list(folder.glob("populations/*/.lock")) and driver.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2)
    driver.send_signal(signal.SIGINT)
    output = driver.output(timeout=60)
    assert driver.returncode == 130, output
    assert f"Resume with: unknot study run {folder}" in output
    assert list(folder.glob("populations/*/checkpoints/step-*"))
    assert Study.open(folder).status()["runs"] == {"all": 4, "waiting": 4}
    driver = start(folder, folder)
    output = driver.output()
    assert driver.returncode == 0, output
    run_inline(whole, file.read_text())
    assert records(folder) == records(whole)


def test_a_worker_that_always_dies_is_given_up(images, tmp_path, monkeypatch):
    """As one that runs out of memory does; the message says how it died."""
    script = (
        "import sys, os, signal, json; "
        "print(json.dumps({'event': 'ready', 'bytes': 0}), flush=True); "
        "sys.stdin.readline(); print('gone', file=sys.stderr, flush=True); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    popen = subprocess.Popen

    def fake(words, **options):
        return popen([sys.executable, "-c", script], **options)

    monkeypatch.setattr(local.subprocess, "Popen", fake)
    heard = []
    asked = StudyFile.parse(study_text(images))
    study = run(tmp_path / "study", asked, device="cpu", workers=1, watch=heard.append)
    # Two populations of two models, and then four of one.
    assert [type(event) for event in heard] == (
        [Lost, Lost, Divided] * 2 + [Lost, Lost, Failed] * 4
    )
    assert {row["status"] for row in study.table()} == {"failed"}
    assert "died 3 times at the same place (signal 9: gone)" in study.table()[0]["error"]


def test_workers_that_cannot_start_end_the_study_with_their_last_words(
    images, tmp_path, monkeypatch
):
    popen = subprocess.Popen

    def fake(words, **options):
        return popen([sys.executable, "-c", "raise SystemExit('no torch here')"], **options)

    monkeypatch.setattr(local.subprocess, "Popen", fake)
    asked = StudyFile.parse(study_text(images))
    with pytest.raises(unknot.UnknotError, match=r"cannot start .*no torch here"):
        run(tmp_path / "study", asked, device="cpu", workers=1)
