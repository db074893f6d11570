"""Trials: each damages or kills something, and raises if anything is lost or wrong unnoticed."""

import os
import shutil
import signal
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import torch
from processes import FORKS, Command
from studies.bars import records, run_inline, study_text

import unknot
from unknot.core import files
from unknot.core.errors import UnknotError
from unknot.runs import repair as run_repair
from unknot.runs.folder import RunFolder
from unknot.studies import repair as study_repair
from unknot.studies.study import Study

STAGES = ("begun", "written", "renamed")
WRITES = 9
"""Of a run of `train`: settings, two statuses, two checkpoints, weights, curves twice, status; a
study has more."""


def write_images(path):
    """Bars at 5 x 8 places."""
    factors = np.indices((5, 8)).reshape(2, -1).T
    images = np.zeros((40, 8, 8), np.uint8)
    for image, (row, column) in zip(images, factors, strict=True):
        image[row : row + 3, column] = 200
    np.savez(path, images=images, factors=factors)


class World:
    """A run and a study that nothing disturbed, to be copied."""

    def __init__(self, folder):
        torch.set_num_threads(1)
        self.folder, self.images = folder, folder / "bars.npz"
        write_images(self.images)
        self.run, self.study = folder / "run", folder / "study"
        train(self.images, self.run)
        self.text = study_text(self.images, steps=40)
        run_inline(self.study, self.text)
        self.codes = unknot.load(self.run, device="cpu").codes()
        self.finals = finals(self.run)
        self.records = records(self.study)
        self.count = 0

    def place(self):
        """A new place."""
        self.count += 1
        return self.folder / f"trial-{self.count}"

    def copy(self, source):
        return Path(shutil.copytree(source, self.place()))


def train(images, out):
    return unknot.train(
        "arrays", net="linear", steps=6, batch=8, log_every=2, checkpoint_every=3, seeds=[0, 5],
        data_settings={"path": str(images)}, net_settings={"latents": 3}, device="cpu", out=out,
    )  # fmt: skip


def finals(run):
    return {path.name: path.read_bytes() for path in run.iterdir() if "weights" in path.name
            or "curves" in path.name}  # fmt: skip


# Kills at the n-th write


def die(stage, nth):
    """From now on: the process ends at the n-th time that a write comes to a stage."""
    count = 0

    def reach(now, path):
        nonlocal count
        count += now == stage
        if now == stage and count == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    files.reach = reach


def _killed(function, stage, nth, *args):
    die(stage, nth)
    torch.set_num_threads(1)
    function(*args)


def kill(function, stage, nth, *args):
    """Call a function in a process that is killed at its n-th write; whether it was."""
    process = FORKS.Process(target=_killed, args=(function, stage, nth, *args))
    process.start()
    process.join(120)
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode != 0


def killed_run(world, stage, nth):
    """A run killed at a write ends as if nothing had happened."""
    out = world.place()
    killed = kill(train, stage, nth, world.images, out)
    if RunFolder(out).spec_file.exists():
        run = unknot.resume(out, device="cpu")
    else:
        run = train(world.images, out)
    assert torch.equal(run.codes(), world.codes)
    assert finals(out) == world.finals
    assert not list(out.rglob(".*.part"))
    assert not run_repair.find_faults(RunFolder(out))
    assert killed or nth > WRITES, "it was not killed"
    shutil.rmtree(out)


def killed_study(world, stage, nth):
    """A study killed at a write, too."""
    out = world.place()
    killed = kill(run_inline, stage, nth, out, world.text)
    run_inline(out, world.text)
    assert records(out) == world.records
    assert not study_repair.find_faults(out)
    assert killed or nth > WRITES, "it was not killed"
    shutil.rmtree(out)


# Flipped bytes


def flip(file, place, bit):
    data = bytearray(file.read_bytes())
    if not data:
        return False
    data[min(int(place * len(data)), len(data) - 1)] ^= 1 << bit
    file.write_bytes(data)
    return True


def final_files(folder):
    """Every file of a run or a study, by its path from there."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def flipped_run(world, name, place, bit):
    """A flipped byte of a run is noticed or changes nothing, and is mended."""
    run = world.copy(world.run)
    if not flip(run / name, place, bit):
        return
    with suppress(UnknotError):
        loaded = unknot.load(run, device="cpu")
        if loaded.has_data:
            assert torch.equal(loaded.codes(), world.codes), "other codes"
    if name == "run.toml":
        shutil.copy(world.run / name, run / name)
    run_repair.repair(RunFolder(run), "cpu")
    unknot.resume(run, device="cpu")
    assert finals(run) == world.finals
    assert not run_repair.find_faults(RunFolder(run))
    shutil.rmtree(run)


def flipped_study(world, name, place, bit):
    """A flipped byte of a study is noticed or changes nothing, and is mended."""
    study = world.copy(world.study)
    if not flip(study / name, place, bit):
        return
    with suppress(UnknotError):
        opened = Study.open(study)
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in opened.table()]
        assert rows == world.records[0], "other rows"
        for row in rows:
            curves = opened.curves(row["id"])["loss"]
            whole = Study.open(world.study).curves(row["id"])["loss"]
            assert torch.equal(curves, whole), "other curves"
    if name == "study.toml":
        shutil.copy(world.study / name, study / name)
    faults = study_repair.find_faults(study)
    if faults:
        study_repair.repair(study, faults)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_inline(study)
    assert records(study) == world.records
    assert not study_repair.find_faults(study)
    shutil.rmtree(study)


# Folders, drivers, orphans


def read_only(world):
    """A folder that may not be written is read, and refuses scores in one line."""
    run = world.copy(world.run)
    for path in (*run.rglob("*"), run):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert torch.equal(unknot.load(run, device="cpu").codes(), world.codes)
        evaluation = Command("evaluate", run, "--metrics", "mig", "--device", "cpu")
        output = evaluation.output()
        assert os.geteuid() == 0 or evaluation.returncode == 1, output
        assert "mig" in output
        assert "Traceback" not in output
    finally:
        for path in (run, *run.rglob("*")):
            path.chmod(0o755)


def start(out, file):
    words = ("study", "run", file, "--out", out, "--device", "cpu", "--workers", 1)
    return Command(*words, cwd=out.parent)


def two_drivers(world):
    """Two drivers start at once: one works, the other says so, and nothing differs."""
    out, file = world.place(), world.folder / "study.toml"
    file.write_text(world.text)
    both = [start(out, file) for _ in range(2)]
    outputs = [driver.output() for driver in both]
    codes = sorted(driver.returncode for driver in both)
    assert codes in ([0, 2], [0, 0]), outputs
    assert codes == [0, 0] or any("Another process" in output for output in outputs)
    assert records(out)[2] == world.records[2]
    assert not study_repair.find_faults(out)


def random_kills(world, rng):
    """Driver, worker or both, at moments of chance; then the study is finished."""
    out, file = world.place(), world.folder / "study.toml"
    file.write_text(world.text)
    for _ in range(4):
        driver = start(out, file)
        time.sleep(rng.uniform(0.1, 4.0))
        workers = children(driver.pid)
        victims = rng.choice(([driver.pid], workers[:1], [driver.pid, *workers]))
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        driver.output()
        until = time.monotonic() + 20
        while any(Path(f"/proc/{pid}/exe").exists() for pid in workers):
            assert time.monotonic() < until, "workers outlive their driver"
            time.sleep(0.01)
    driver = start(out, file)
    output = driver.output()
    assert driver.returncode == 0, output
    assert records(out)[2] == world.records[2]
    assert not study_repair.find_faults(out)
    shutil.rmtree(out)


def children(pid):
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def interrupted(world, seconds):
    """Ctrl-C in the first seconds of a study: one line and 130."""
    import subprocess

    out, file = world.place(), world.folder / "long.toml"
    file.write_text(world.text.replace("steps = 40", "steps = 100_000"))
    words = [sys.executable, "-m", "unknot", "study", "run", str(file), "--out", str(out)]
    process = subprocess.Popen(
        [*words, "--device", "cpu", "--workers", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=120)[0]
    assert (process.returncode, output.count("Stopped.")) == (130, 1), output
