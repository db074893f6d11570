"""The bar of a study's time: from what was measured, and a study that can be planned."""

import argparse
import importlib
from pathlib import Path

import pytest

from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan, shards

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCH)
    return importlib.import_module("end_to_end")


def test_bars_are_shares_of_all_seconds(script):
    seconds = [5.0, 15.0, 150.0, 20.0, 0.0, 10.0]
    found = {
        "phases": dict(zip(script.PHASES, seconds, strict=True)),
        "seconds": 200.0,
        "populations": 1,
        "models": 64,
        "steps": 1_000,
        "device": "GPU",
        "date": "2026-01-01",
        "torch": "2",
        "model-steps/s": 320.0,
        "model-steps/s of training": 400.0,
        "share of the rate of training": 0.8,
    }
    lines = [*script.lines(found)]
    bars = [line.count("█") for line in lines[2 : 2 + len(seconds)]]
    assert bars == [1, 3, 30, 4, 0, 2]
    assert "0.80 of the 400 of training alone" in lines[-1]
    assert "320 model-steps/s from command to page" in lines[-1]


def test_scores_beside_training_are_no_time_of_their_own(script):
    """Two populations: a is scored from 20 to 50, and b, which trains from 30 on, from 70 to 80."""
    now = iter([5.0, 10.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 81.0])
    clock = script.Clock(0.0, lambda: next(now))
    clock.until("plan")
    for key, phase, done in [
        ("a", "train", 10), ("a", "train", 110), ("a", "score", 0), ("b", "train", 10),
        ("a", "score", 5), ("a", "score", 9), ("b", "train", 90), ("b", "score", 0),
        ("b", "score", 9),
    ]:  # fmt: skip
        clock.progress(key, phase, done, steps=110)
    clock.until("records")
    phases = {"plan": 5, "start": 10, "train": 50, "score": 15, "records": 1, "page": 0}
    assert clock.found() == {"phases": phases, "steps/s of a model": 10, "populations": 2}


def test_the_large_one_is_a_population_with_every_score(script, tmp_path):
    options = argparse.Namespace(models=64, members=64, steps=100, batch=64, data="dsprites",
                                 net="conv64", precision="bf16", folder=tmp_path)  # fmt: skip
    made = plan(StudyFile.parse(script.study_text(options)))
    assert {"dci", "efficiency", "mig", "factor_vae"} <= {*made.sweep.metrics}
    assert [len(shard.runs) for shard in shards(made, members=made.sweep.members)] == [64]
    small = argparse.Namespace(**{**vars(options), **script.SMALL})
    assert len(plan(StudyFile.parse(script.study_text(small))).runs) == script.SMALL["models"]
    assert (tmp_path / "bars.npz").exists()


def test_the_page_has_the_stored_one(script, monkeypatch):
    monkeypatch.syspath_prepend(BENCH.parent / "docs")
    table = importlib.import_module("end_to_end_table")
    page = table.PAGE.read_text(encoding="utf-8")
    assert table.made(page) == page, "run `python docs/end_to_end_table.py`"
