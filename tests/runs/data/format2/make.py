"""Write the folders beside this file, with a version that writes format 2.

Paths are part of a run's id, so the images have one that no machine has.
"""

import shutil
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

import unknot
from unknot.data.arrays import Arrays
from unknot.runs import verbs
from unknot.studies.execute import driver
from unknot.studies.execute.events import Done
from unknot.studies.execute.run_task import run_population_task
from unknot.studies.file.study_file import StudyFile

STUDY = """
name = "earlier"
seeds = [0, 1]
members = 4
metrics = ["mig"]
[train]
data = {name = "arrays", path = "/nowhere/images.npz"}
net = {name = "linear", latents = 2}
objective = {name = "beta_vae", likelihood = "gaussian"}
steps = 20
batch = 8
log_every = 10
[[grid]]
optim.lr = [0.01, 1e30]
"""
OPTIONS = {
    "data": "arrays",
    "data_settings": {"path": "/nowhere/images.npz"},
    "net": "linear",
    "net_settings": {"latents": 2},
    "steps": 20,
    "batch": 8,
    "log_every": 10,
    "checkpoint_every": 10,
    "seeds": [0, 5],
    "device": "cpu",
    "beta": 2,
}


def stop(progress):
    """Leave a run with a checkpoint of step 10."""
    if progress.step >= 15:
        raise MemoryError


def pool(tasks):
    """Train and score in this process."""
    for task in tasks:
        yield Done(task.key, run_population_task(replace(task, threads=1)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    read = Arrays.load
    Arrays.load = lambda _: read(Arrays("images.npz"))
    factors = np.indices((4, 3)).reshape(2, -1).T
    pictures = np.zeros((12, 4, 4), np.uint8)
    for picture, (row, column) in zip(pictures, factors, strict=True):
        picture[row, column : column + 2] = 200
    np.savez_compressed("images.npz", images=pictures, factors=factors)
    whole = unknot.train(**OPTIONS, out="finished")
    with suppress(MemoryError):
        verbs.train(whole.spec, out="killed", device="cpu", watch=stop)
    study = driver.run(Path("study"), StudyFile.parse(STUDY), device="cpu", workers=1, pool=pool)
    expected = {"run": whole.codes(), "run.loss": whole.training.curves["loss"]}
    for row in study.table():
        if row["status"] == "done":
            expected[row["id"]] = study.run(row["id"], device="cpu").codes()
            expected[f"{row['id']}.loss"] = study.curves(row["id"])["loss"]
    np.savez_compressed("expected.npz", **{name: value.numpy() for name, value in expected.items()})
    with sqlite3.connect("study/study.db") as database:
        Path("study/study.sql").write_text("\n".join(database.iterdump()) + "\n")
    Path("study/study.db").unlink()
    shutil.rmtree("finished/checkpoints")
    for lock in Path().rglob(".lock"):
        lock.unlink()
