"""Merged studies: equal to the whole, record by record; refused where they cannot be one."""

import shutil
import sqlite3
import zipfile
from contextlib import closing

import pytest
import torch
from studies.bars import run_inline, study_text

import unknot
from unknot.core.errors import ConfigError, DamageError, StoreError, UnknotError
from unknot.engine.checkpoint import read_weights
from unknot.runs.training import Stopped
from unknot.studies import merge as merging
from unknot.studies.archive.writing import write_archive
from unknot.studies.merge import merge
from unknot.studies.opening import seal
from unknot.studies.repair import find_faults
from unknot.studies.study import Study


def by_run(folder):
    """Rows, curves, scores and weights of each run, wherever they are kept."""
    study = Study.open(folder)
    kept = {}
    for row in study.table():
        place, member = study.place(row["id"])
        weights = read_weights(place / "weights.safetensors")
        curves = study.curves(row["id"])
        facts = {k: v for k, v in row.items() if k not in ("seconds", "population", "member")}
        tensors = {k: t[member].tolist() for k, t in weights.items()}
        values = {k: curves[k].tolist() for k in curves.values}
        scores = study.store.records()[row["id"]].scores
        kept[row["id"]] = facts, tensors, curves.steps, values, scores
    return kept


def seeds(text, listed):
    return text.replace("seeds = [0, 1]", f"seeds = {listed}")


@pytest.fixture(scope="module")
def halves(images, tmp_path_factory):
    folder = tmp_path_factory.mktemp("halves")
    for i in (0, 1):
        run_inline(folder / str(i), seeds(study_text(images), [i]))
    return folder / "0", folder / "1"


def test_two_halves_of_the_seeds_are_the_whole(halves, undisturbed, tmp_path):
    merge(halves, tmp_path / "merged")
    ours, whole = by_run(tmp_path / "merged"), by_run(undisturbed)
    assert list(ours) == list(whole)  # in the order of the plan
    assert ours == whole
    assert not find_faults(tmp_path / "merged")
    assert Study.open(tmp_path / "merged").status()["runs"] == {"all": 4, "done": 4}
    tasks = []
    run_inline(tmp_path / "merged", watch=tasks.append)
    assert not tasks  # nothing is left to do


def test_two_halves_of_the_grids_are_the_whole(images, undisturbed, tmp_path):
    first, mark, second = study_text(images).rpartition("[[grid]]")
    head = first[: first.index("[[grid]]")]
    run_inline(tmp_path / "a", first)
    run_inline(tmp_path / "b", head + mark + second)
    merge([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert by_run(tmp_path / "merged") == by_run(undisturbed)


def test_runs_that_both_have_are_taken_once_and_others_of_their_population_stay(
    halves, undisturbed, tmp_path
):
    merge([halves[1], undisturbed], tmp_path / "merged")
    assert by_run(tmp_path / "merged") == by_run(undisturbed)
    assert not find_faults(tmp_path / "merged")
    assert len(list((tmp_path / "merged" / "populations").iterdir())) == 4
    run = Study.open(tmp_path / "merged").run(next(iter(by_run(undisturbed))), device="cpu")
    assert torch.isfinite(run.posteriors(torch.tensor([0])).mean).all()


def test_other_results_of_the_same_run_are_refused_in_a_line(halves, undisturbed, tmp_path):
    other = shutil.copytree(halves[0], tmp_path / "other")
    with closing(sqlite3.connect(other / "study.db")) as db:
        db.executescript("UPDATE scores SET value = value + 0.25 WHERE name = 'mig'")
    seal(other)
    with pytest.raises(StoreError, match=r"^Run [0-9a-f]{12} has another score mig \(.*one of"):
        merge([undisturbed, other], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("batch = 8", "batch = 4"), "differ in train.batch;"),
        (('metrics = ["mig", "sap"]', 'metrics = ["mig"]'), "differ in metrics;"),
        (("beta = 2", "beta = 3"), "differ in seeds, grid;"),
    ],
)
def test_files_that_differ_in_more_are_refused(halves, images, tmp_path, change, named):
    text = seeds(study_text(images, steps=20), [0 if "seeds" not in named else 1])
    run_inline(tmp_path / "a", seeds(study_text(images, steps=20), [0]))
    run_inline(tmp_path / "b", text.replace(*change))
    with pytest.raises(ConfigError, match=named):
        merge([tmp_path / "a", tmp_path / "b"], tmp_path / "merged")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_nothing_is_half_written(halves, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match="not an empty folder"):
        merge(halves, tmp_path / "there")
    monkeypatch.setattr(merging, "_add_scores", full)
    with pytest.raises(UnknotError, match="no space left"):
        merge(halves, tmp_path / "merged")
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


def test_what_is_left_is_trained_after_the_merge(halves, images, undisturbed, tmp_path):
    with pytest.raises(Stopped):  # after one population of two
        run_inline(tmp_path / "b", seeds(study_text(images), [1]), stop=lambda: True)
    merge([halves[0], tmp_path / "b"], tmp_path / "merged")
    assert Study.open(tmp_path / "merged").status()["runs"]["waiting"] == 1
    run_inline(tmp_path / "merged")
    assert by_run(tmp_path / "merged") == by_run(undisturbed)


def test_a_population_that_holds_other_models_than_its_study_says_is_refused(halves, tmp_path):
    other = shutil.copytree(halves[1], tmp_path / "other")
    study = Study.open(other)
    one, two = {study.place(row["id"])[0] for row in study.table()}
    shutil.rmtree(one)
    shutil.copytree(two, one)
    with pytest.raises(DamageError, match="holds other models than the records"):
        merge([halves[0], other], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("place", ["inner", "populations/inner", "../{}/inner"])
def test_a_merge_writes_nothing_into_its_studies(halves, place):
    out = halves[1] / place.format(halves[1].name)
    before = sorted(halves[1].rglob("*"))
    with pytest.raises(StoreError, match="which a merge leaves as it is"):
        merge(halves, out)
    assert sorted(halves[1].rglob("*")) == before


@pytest.mark.parametrize("file", ["status.json", "weights.safetensors"])
def test_a_trained_population_without_one_of_its_files_is_not_merged(halves, tmp_path, file):
    shutil.copytree(halves[0], tmp_path / "study")
    next((tmp_path / "study" / "populations").glob(f"*/{file}")).unlink()
    with pytest.raises(DamageError, match=r"populations/\w+"):
        merge([tmp_path / "study", halves[1]], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_archives_without_weights_resume_merge_and_are_archived_again(
    halves, undisturbed, tmp_path
):
    """A machine that is there for minutes gives back curves and scores alone."""
    parts = []
    for half in halves:
        write_archive(half, tmp_path / f"{half.name}.zip", weights="none")
        parts.append(tmp_path / half.name)
        with zipfile.ZipFile(tmp_path / f"{half.name}.zip") as file:
            file.extractall(parts[-1])
    tasks = []
    run_inline(parts[0], watch=tasks.append)
    assert not tasks, "finished models are not trained again"
    merge(parts, tmp_path / "merged")
    write_archive(tmp_path / "merged", tmp_path / "merged.zip", weights="none")
    whole = {row["id"]: row["mig"] for row in Study.open(undisturbed).table()}
    merged = unknot.load(tmp_path / "merged.zip").table()
    assert dict(zip(merged["id"], merged["mig"], strict=True)) == whole
    with pytest.raises(StoreError, match="--weights none"):
        write_archive(tmp_path / "merged", tmp_path / "again.zip")
