"""Disks that are full or may not be written: one line, nothing half-written, and all goes on."""

import ctypes
import os
import resource
import shutil
import struct
import subprocess
from contextlib import contextmanager
from functools import partial

import torch
from processes import Command
from torture.drivers import finish, start

import unknot
from unknot.runs import repair as run_repair
from unknot.runs.folder import RunFolder

ROOMY = "size=64m"
MOUNT = ("mount", "-t", "tmpfs", "tmpfs")


def can_mount(folder):
    """Whether this process may mount a small disk."""
    place = folder / "mount"
    place.mkdir()
    return _run(*MOUNT, place) and _run("umount", place)


def _run(*words):
    command = [str(word) for word in words]
    return (
        shutil.which(command[0]) is not None
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


@contextmanager
def small_disk(place, size):
    """A folder that holds so many bytes; gives a function that makes it roomy."""
    place.mkdir()
    assert _run(*MOUNT, "-o", f"size={max(size // 4096, 1) * 4096}", place)
    try:
        yield lambda: _run("mount", "-o", f"remount,{ROOMY}", place)
    finally:
        _run("umount", "-l", place)


def full_study(world, share):
    """A study on a disk that holds a share of it goes on when there is room."""
    size = sum(path.stat().st_size for path in world.study.rglob("*"))
    place = world.place()
    with small_disk(place, int(share * size)) as extend:
        check_refusal(start(world, place / "study"))
        extend()
        finish(world, place / "study")


def cut_study(world, size):
    """A study in processes whose files may have so many bytes goes on without that limit."""
    out = world.place()
    check_refusal(start(world, out, prepare=partial(limit_files, size)))
    finish(world, out)
    shutil.rmtree(out)


def limit_files(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check_refusal(driver):
    output = driver.output()
    assert driver.returncode in (0, 1, 2), output
    assert "Traceback" not in output, output
    assert "bug" not in output, output


def full_evaluation(world, room):
    """Scores are printed though the disk has no room for them, and the run stays as it was."""
    size = sum(-(-path.stat().st_size // 4096) * 4096 + 4096 for path in world.run.rglob("*"))
    place = world.place()
    with small_disk(place, size + room):
        run = shutil.copytree(world.run, place / "run")
        (place / "rest").write_bytes(bytes(shutil.disk_usage(place).free))
        evaluation = Command("evaluate", run, "--metrics", "mig", "--device", "cpu")
        output = evaluation.output()
        assert (evaluation.returncode, "mig" in output) == (1, True), output
        assert "Traceback" not in output
        assert not run_repair.find_faults(RunFolder(run))


def read_only(world):
    """A folder that may not be written is read; scores are printed, and a line says the rest."""
    run = world.copy(world.run)
    for path in (*run.rglob("*"), run):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert torch.equal(unknot.load(run, device="cpu").codes(), world.codes)
        words = ("evaluate", run, "--metrics", "mig", "--device", "cpu")
        evaluation = Command(*words, prepare=drop_privileges)
        output = evaluation.output()
        assert (evaluation.returncode, "mig" in output) == (1, True), output
        assert "Traceback" not in output
        resumed = Command("resume", run, "--device", "cpu", prepare=drop_privileges)
        assert "Traceback" not in resumed.output()
        assert not run_repair.find_faults(RunFolder(run))
    finally:
        for path in (run, *run.rglob("*")):
            path.chmod(0o755)


def drop_privileges():
    """From now on permissions bind this process, even if it is root's."""
    if os.geteuid() == 0:
        header, nothing = struct.pack("Ii", 0x20080522, 0), bytes(24)
        assert ctypes.CDLL(None, use_errno=True).capset(header, nothing) == 0
