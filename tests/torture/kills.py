"""Kills exactly at the n-th write: a run and a study end as if nothing had happened."""

import os
import shutil
import signal

import torch
from processes import FORKS
from studies.bars import records, run_inline
from torture.world import finals, train

import unknot
from unknot.core import files
from unknot.runs import repair as run_repair
from unknot.runs.folder import RunFolder
from unknot.studies import repair as study_repair


def kill(function, stage, nth, *args):
    """Call a function in a process that is killed when its n-th write comes to a stage."""
    process = FORKS.Process(target=_call_and_die, args=(function, stage, nth, *args))
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL, process.exitcode


def _call_and_die(function, stage, nth, *args):
    count = 0

    def reach(now, path):
        nonlocal count
        count += now == stage
        if now == stage and count == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    files.reach = reach
    torch.set_num_threads(1)
    function(*args)


def killed_run(world, stage, nth):
    """A run killed at a write ends as if nothing had happened."""
    out = world.place()
    kill(train, stage, nth, world.images, out)
    if RunFolder(out).spec_file.exists():
        run = unknot.resume(out, device="cpu")
    else:
        run = train(world.images, out)
    assert torch.equal(run.codes(), world.codes)
    assert finals(out) == world.finals
    assert not list(out.rglob(".*.part"))
    assert not run_repair.find_faults(RunFolder(out))
    shutil.rmtree(out)


def killed_study(world, stage, nth):
    """A study killed at a write, too."""
    out = world.place()
    kill(run_inline, stage, nth, out, world.text)
    run_inline(out, world.text)
    assert records(out) == world.records
    assert not study_repair.find_faults(out)
    shutil.rmtree(out)
