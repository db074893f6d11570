"""Folders of format 1, written before runs and populations had one layout, are still read.

`data/format1/make.py` wrote them, and what was computed then.
"""

import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import torch

import unknot
from unknot.data.arrays import Arrays
from unknot.study import execute
from unknot.study.folder import RunFolder
from unknot.study.study import Study

STORED = Path(__file__).parent / "data" / "format1"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A copy of the folders, with the images where the runs look for them."""
    folder = Path(shutil.copytree(STORED, tmp_path / "format1"))
    load = Arrays.load
    monkeypatch.setattr(Arrays, "load", lambda _: load(Arrays(str(folder / "images.npz"))))
    with sqlite3.connect(folder / "study" / "study.db") as database:
        database.executescript((folder / "study" / "study.sql").read_text())
    database.close()
    return folder


@pytest.fixture(scope="module")
def expected():
    with np.load(STORED / "expected.npz") as arrays:
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


def test_a_finished_run(stored, expected):
    run = unknot.load(stored / "finished", device="cpu")
    assert (run.status, run.step, run.spec.seeds, run.diverged) == ("done", 20, (0, 5), {})
    assert torch.equal(run.codes(), expected["run"])
    assert run.curves.steps == [1, 10, 20]
    assert list(run.curves.values) == ["loss", "recon", "recon.weight", "kl", "kl.weight"]
    assert torch.equal(run.curves["loss"].float(), expected["run.loss"].float())
    record = RunFolder(stored / "finished").record()
    assert record["versions"]["unknot"] == "0.1.0"
    assert [member["status"] for member in record["members"]] == ["done", "done"]


def test_a_killed_run_is_resumed_and_ends_as_if_nothing_had_happened(stored, expected):
    run = unknot.resume(stored / "killed", device="cpu")
    assert torch.equal(run.codes(), expected["run"])
    ends = [(stored / name / "weights.safetensors").read_bytes() for name in ("finished", "killed")]
    assert ends[0] == ends[1]
    assert (stored / "killed" / "curves.csv").read_bytes() == (
        stored / "finished" / "curves.csv"
    ).read_bytes()


def test_a_study(stored, expected):
    """Its models, curves and scores are those that it had, and nothing is trained again."""

    def pool(tasks):
        assert not tasks
        yield from ()

    study = execute.run(stored / "study", device="cpu", workers=1, pool=pool)
    rows = study.table()
    assert [row["status"] for row in rows] == ["done", "done", "diverged", "diverged"]
    for row in rows[:2]:
        assert row["mig"] == 0.0
        run = study.run(row["id"], device="cpu")
        assert torch.equal(run.codes(), expected[row["id"]])
        assert torch.equal(run.curves["loss"], expected[f"{row['id']}.loss"])
        assert torch.equal(study.curves(row["id"])["loss"], expected[f"{row['id']}.loss"])
    assert Study.open(stored / "study").run(rows[2]["id"], device="cpu").diverged == {0: 10}
