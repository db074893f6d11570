"""Stored folders: those of the present format are read, those of format 1 are refused in a line.

`data/format2/make.py` wrote the first, and what was computed then.
"""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
import torch

import unknot
from unknot.cli.main import app
from unknot.core.errors import StoreError
from unknot.data.arrays import Arrays
from unknot.runs.folder import RunFolder
from unknot.studies.execute import driver
from unknot.studies.study import Study

STORED = Path(__file__).parent / "data" / "format2"
EARLIER = STORED.with_name("format1")


def restore(study):
    """The records of a study from their text."""
    with contextlib.closing(sqlite3.connect(study / "study.db")) as database:
        database.executescript((study / "study.sql").read_text())


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A copy of the folders, with the images where the runs look for them."""
    folder = Path(shutil.copytree(STORED, tmp_path / "stored"))
    load = Arrays.load
    monkeypatch.setattr(Arrays, "load", lambda _: load(Arrays(str(folder / "images.npz"))))
    restore(folder / "study")
    return folder


@pytest.fixture(scope="module")
def expected():
    with np.load(STORED / "expected.npz") as arrays:
        return {name: torch.from_numpy(array) for name, array in arrays.items()}


def test_a_finished_run(stored, expected):
    run = unknot.load(stored / "finished", device="cpu")
    assert (run.status, run.step, run.spec.seeds, run.diverged) == ("done", 20, (0, 5), {})
    assert torch.equal(run.codes(), expected["run"])
    assert run.training.curves.steps == [1, 10, 20]
    assert list(run.training.curves.values) == ["loss", "recon", "recon.weight", "kl", "kl.weight"]
    assert torch.equal(run.training.curves["loss"].float(), expected["run.loss"].float())
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

    study = driver.run(stored / "study", device="cpu", workers=1, pool=pool)
    rows = study.table()
    assert [row["status"] for row in rows] == ["done", "done", "diverged", "diverged"]
    for row in rows[:2]:
        assert row["mig"] == 0.0
        run = study.run(row["id"], device="cpu")
        assert torch.equal(run.codes(), expected[row["id"]])
        assert torch.equal(run.training.curves["loss"], expected[f"{row['id']}.loss"])
        assert torch.equal(study.curves(row["id"])["loss"], expected[f"{row['id']}.loss"])
    assert Study.open(stored / "study").run(rows[2]["id"], device="cpu").diverged == {0: 10}


def test_a_run_of_format_1_is_refused_with_the_command_that_trains_it_again(tmp_path, monkeypatch):
    run = Path(shutil.copytree(EARLIER / "run", tmp_path / "run"))
    with pytest.raises(StoreError, match=r"earlier version.*unknot train .*run\.toml --out FOLDER"):
        unknot.load(run)
    load = Arrays.load
    monkeypatch.setattr(Arrays, "load", lambda _: load(Arrays(str(STORED / "images.npz"))))
    command = ["train", str(run / "run.toml"), "--out", str(tmp_path / "again"), "--device", "cpu"]
    assert app(command, standalone_mode=False) == 0
    again = (tmp_path / "again" / "weights.safetensors").read_bytes()
    assert again == (STORED / "finished" / "weights.safetensors").read_bytes()


def test_a_study_of_format_1_is_refused(tmp_path):
    study = Path(shutil.copytree(EARLIER / "study", tmp_path / "study"))
    restore(study)
    with pytest.raises(StoreError, match=r"has format 1; .* Run its study\.toml again"):
        Study.open(study)
    with pytest.raises(StoreError, match="has format 1"):
        driver.run(study, device="cpu", workers=1)
