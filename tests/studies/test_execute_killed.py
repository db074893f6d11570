"""Studies whose processes are killed, stopped or die: nothing of it changes what comes out."""

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from study.bars import CORES, HEARING, UNKNOT, kill, records, study_text

import unknot
from unknot.study import execute, local
from unknot.study.events import Failed, Lost, Progress
from unknot.study.study import Study
from unknot.study.study_file import StudyFile


def start(folder, *words):
    return subprocess.Popen(
        [*UNKNOT, *map(str, words), "--device", "cpu", "--workers", str(CORES)],
        cwd=folder.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=HEARING,
    )


def children(pid):
    """Workers of a driver."""
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs Linux's /proc")


@needs_proc
def test_three_kills_change_nothing(images, tmp_path, undisturbed, monkeypatch):
    """The driver once, then a worker in training, then another at a moment of chance."""
    folder = tmp_path / "study"
    file = tmp_path / "bars.toml"
    file.write_text(study_text(images))
    driver = start(folder, file, "--out", folder)
    while driver.poll() is None and not list(folder.glob("populations/*/checkpoints/step-*")):
        time.sleep(0.005)
    workers = children(driver.pid)
    kill(driver.pid)
    driver.communicate()
    assert driver.returncode == -signal.SIGKILL
    assert 1 <= len(workers) <= 2
    until = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
        assert time.monotonic() < until, "workers outlive their driver"
        time.sleep(0.01)

    begun, heard, real = [], [], local.WorkerProcess
    later = threading.Timer(random.Random(5).uniform(0, 3), lambda: begun[-1].process.kill())

    def started(*args):
        begun.append(real(*args))
        return begun[-1]

    def watch(event):
        heard.append(event)
        if isinstance(event, Progress) and not later.is_alive() and not later.finished.is_set():
            begun[0].process.kill()
            later.start()

    monkeypatch.setattr(local, "WorkerProcess", started)
    execute.run(folder, device="cpu", watch=watch)
    later.join()
    assert any(isinstance(event, Lost) and "signal 9" in event.how for event in heard)
    assert records(folder) == records(undisturbed)


@needs_proc
@pytest.mark.slow
def test_twenty_kills_at_random_moments_change_nothing(images, tmp_path):
    """A worker, then the driver, by the clock; a study that ends is compared and begun anew."""
    chance, kills, studies = random.Random(11), 0, 0
    file, whole = tmp_path / "bars.toml", tmp_path / "whole"
    file.write_text(study_text(images, steps=300))

    def wait(driver, ready):
        """A moment within the usual time of a study; False when it has ended before."""
        until = time.monotonic() + usual * chance.random()
        while driver.poll() is None and (time.monotonic() < until or not ready()):
            time.sleep(0.002)
        return driver.poll() is None

    began = time.monotonic()
    driver = start(whole, file, "--out", whole)
    output = driver.communicate(timeout=300)[0]
    assert driver.returncode == 0, output
    usual, expected = time.monotonic() - began, records(whole)
    while kills < 20:
        folder = tmp_path / f"study-{studies}"
        driver = start(folder, file, "--out", folder)
        if wait(driver, lambda driver=driver: children(driver.pid)):
            kills += any(kill(worker) for worker in children(driver.pid)[:1])
        if wait(driver, lambda: True):
            kills += kill(driver.pid)
        output = driver.communicate(timeout=300)[0]
        if driver.returncode == 0:
            assert records(folder) == expected, output
            studies += 1
            usual *= 0.8
        else:
            assert driver.returncode == -signal.SIGKILL, output
    folder = tmp_path / f"study-{studies}"
    ended = start(folder, file, "--out", folder)
    output = ended.communicate(timeout=300)[0]
    assert ended.returncode == 0, output
    assert records(folder) == expected


@pytest.mark.slow
def test_ctrl_c_stops_with_a_state_to_go_on_from(images, tmp_path):
    folder, whole = tmp_path / "study", tmp_path / "whole"
    file = tmp_path / "bars.toml"
    file.write_text(study_text(images, steps=2_000).replace("every = 20", "every = 100_000"))
    driver = start(folder, file, "--out", folder)
    while not list(folder.glob("populations/*/.lock")) and driver.poll() is None:
        time.sleep(0.01)
    time.sleep(0.5)
    driver.send_signal(signal.SIGINT)
    output = driver.communicate(timeout=60)[0]
    assert driver.returncode == 130, output
    assert f"Resume with: unknot study run {folder}" in output
    assert list(folder.glob("populations/*/checkpoints/step-*"))
    assert Study.open(folder).status()["runs"] == {"all": 4, "waiting": 4}
    for ended in (start(folder, folder), start(whole, file, "--out", whole)):
        assert ended.communicate(timeout=300)
        assert ended.returncode == 0
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
    study = execute.run(tmp_path / "study", asked, device="cpu", workers=1, watch=heard.append)
    assert [type(event) for event in heard] == [Lost, Lost, Failed] * len(heard[2::3])
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
        execute.run(tmp_path / "study", asked, device="cpu", workers=1)
