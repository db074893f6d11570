"""A run and a study that nothing disturbed, to be copied and compared with."""

import shutil
from pathlib import Path

import numpy as np
import torch
from bad_inputs import write_files
from studies.bars import records, run_inline, study_text

import unknot
from unknot.core import files
from unknot.studies.archive.writing import write_archive

STAGES = ("begun", "written", "renamed")
"""Of a write, as `files.reach` is told."""


class World:
    """A run and a study that nothing disturbed, and the files of bad inputs."""

    def __init__(self, folder):
        torch.set_num_threads(1)
        self.folder, self.images = folder, folder / "bars.npz"
        write_images(self.images)
        self.run, self.study, self.single = folder / "run", folder / "study", folder / "single"
        self.archive = folder / "archive.zip"
        self.text = study_text(self.images, steps=40)
        self.file = folder / "study.toml"
        self.file.write_text(self.text)
        self.run_writes = count_writes(train, self.images, self.run)
        self.study_writes = count_writes(run_inline, self.study, self.text)
        train(self.images, self.single, seeds=0)
        write_archive(self.study, self.archive)
        self.codes = unknot.load(self.run, device="cpu").codes()
        self.finals = finals(self.run)
        self.records = records(self.study)
        self.bad = folder / "bad"
        self.bad.mkdir()
        write_files(self.bad)
        self.count = 0

    def place(self):
        """A new place."""
        self.count += 1
        return self.folder / f"trial-{self.count}"

    def copy(self, source):
        return Path(shutil.copytree(source, self.place()))


def write_images(path):
    """Bars at 5 x 8 places."""
    factors = np.indices((5, 8)).reshape(2, -1).T
    images = np.zeros((40, 8, 8), np.uint8)
    for image, (row, column) in zip(images, factors, strict=True):
        image[row : row + 3, column] = 200
    np.savez(path, images=images, factors=factors)


def train(images, out, seeds=(0, 5)):
    return unknot.train(
        "arrays", net="linear", steps=6, batch=8, log_every=2, checkpoint_every=3, seeds=seeds,
        data_settings={"path": str(images)}, net_settings={"latents": 3}, device="cpu", out=out,
    )  # fmt: skip


def finals(run):
    """Weights and curves of a run."""
    return {path.name: path.read_bytes() for path in run.iterdir() if "weights" in path.name
            or "curves" in path.name}  # fmt: skip


def count_writes(function, *args):
    """How many files a function writes."""
    count, before = 0, files.reach

    def reach(stage, path):
        nonlocal count
        count += stage == STAGES[0]

    files.reach = reach
    try:
        function(*args)
    finally:
        files.reach = before
    return count
