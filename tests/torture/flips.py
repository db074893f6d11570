"""A flipped bit in any range of any file: noticed or harmless, and mended."""

import random
import shutil
import warnings
from contextlib import suppress

import torch
from studies.bars import records, run_inline
from torture.world import finals

import unknot
from unknot.core.errors import UnknotError
from unknot.runs import repair as run_repair
from unknot.runs.folder import RunFolder
from unknot.studies import repair as study_repair
from unknot.studies.study import Study

RANGES = 16
"""Into which a file is divided."""


def flip(file, part, seed):
    """Change one bit of a byte in one of the ranges of a file."""
    rng = random.Random(seed)
    data = bytearray(file.read_bytes())
    place = min(int((part + rng.random()) / RANGES * len(data)), len(data) - 1)
    data[place] ^= 1 << rng.randrange(8)
    file.write_bytes(data)


def final_files(folder):
    """Every file of a run or a study that is not empty, by its path from there."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]
    return sorted(str(path.relative_to(folder)) for path in files)


def flipped_run(world, name, part, seed):
    """A flipped byte of a run is noticed or changes nothing, and is mended."""
    run = world.copy(world.run)
    flip(run / name, part, seed)
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


def flipped_study(world, name, part, seed):
    """A flipped byte of a study is noticed or changes nothing, and is mended."""
    study = world.copy(world.study)
    flip(study / name, part, seed)
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
