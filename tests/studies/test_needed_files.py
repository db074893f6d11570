"""Studies whose files are not all there: what is said, what is left out, and what comes later."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from studies.bars import run_inline, study_text

from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import FactorSpace
from unknot.data.shapes3d import Shapes3D
from unknot.studies.file.study_file import StudyFile
from unknot.studies.needed_files import drop_missing, find_gaps
from unknot.studies.plan import plan
from unknot.studies.study import Study


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def rooms(folders, monkeypatch):
    """Where a small file of 3D Shapes is looked for, and a function that puts it there."""
    space = FactorSpace(("hue", "scale"), (3, 4), ("cyclic", "ordered"))
    monkeypatch.setattr(Shapes3D, "published", replace(Shapes3D.published, space=space))
    path = folders / "rooms.npz"

    def put():
        pictures = np.random.default_rng(0).integers(0, 256, (12, 64, 64, 3), dtype=np.uint8)
        np.savez(path, images=pictures, labels=np.indices((3, 4)).reshape(2, -1).T.astype(float))

    return path, put


def text_with_rooms(images, rooms):
    """The study of bars, and the same settings on rooms."""
    more = f"""
        [[grid]]
        data = {{name = "shapes3d", path = "{rooms}"}}
        objective = {{name = "beta_vae", beta = 2}}
    """
    # Tables of one dataset are merged into those of the other, so each grid has its own.
    base = study_text(images, steps=20, more=more)
    base = base.replace(f'data = {{name = "arrays", path = "{images}"}}\n', "")
    bars = f'[[grid]]\n        data = {{name = "arrays", path = "{images}"}}\n        objective'
    return base.replace("[[grid]]\n        objective", bars)


def ids(folder):
    return [row["id"] for row in Study.open(folder).table()]


def test_gaps_name_files_runs_and_what_gets_them(folders):
    text = """
        seeds = [0, 1]
        [[grid]]
        data = ["dsprites", "cars3d", { name = "mpi3d", variant = "real" }, "mpi3d"]
        [[grid]]
        data = { name = "dsprites_imagenet", pictures = "tiny_imagenet" }
        [[grid]]
        data = { name = "smallnorb", variant = "disent" }
    """
    made = plan(StudyFile.parse(text))
    gaps = {gap.command: gap for gap in find_gaps(made)}
    assert [*gaps] == [
        "unknot data get cars3d",
        "unknot data get mpi3d --set variant=real",
        "unknot data get mpi3d --set variant=toy",
        "unknot data get tiny_imagenet",
        "unknot data get smallnorb --set variant=disent",
    ]
    assert {gap.runs for gap in gaps.values()} == {2}
    assert gaps["unknot data get mpi3d --set variant=real"].files == ("mpi3d_real.npz",)
    assert len(gaps["unknot data get smallnorb --set variant=disent"].files) == 3
    (folders / "data" / "mpi3d").mkdir(parents=True)
    (folders / "data" / "mpi3d" / "mpi3d_real.npz").touch()
    rest = drop_missing(made)
    assert [spec.data.name for spec in rest.configurations] == ["dsprites", "mpi3d"]
    assert rest.omissions == {"cars3d": 2, "mpi3d": 2, "dsprites_imagenet": 2, "smallnorb": 2}
    assert {run.id for run in rest.runs} < {run.id for run in made.runs}
    for run in rest.runs:
        assert run.id in rest.configurations[run.configuration].ids()


def test_missing_files_are_named_before_anything_is_written(images, folders):
    text = text_with_rooms(images, folders / "rooms.npz")
    with pytest.raises(DataError, match=r"shapes3d \(.*rooms\.npz\).*unknot data get shapes3d"):
        run_inline(folders / "study", text)
    assert not (folders / "study").exists()
    with pytest.raises(DataError, match="All runs of the study need files"):
        run_inline(folders / "study", '[train]\ndata = "shapes3d"', skip_missing=True)
    assert not (folders / "study").exists()


def test_runs_without_files_are_left_out_and_come_with_the_files(images, rooms, folders):
    path, put = rooms
    text, folder = text_with_rooms(images, path), folders / "study"
    study = run_inline(folder, text, skip_missing=True)
    assert study.status()["omissions"] == {"shapes3d": 2}
    first = ids(folder)
    assert len(first) == 4
    weights = {f: f.read_bytes() for f in folder.glob("populations/*/weights.safetensors")}

    with pytest.raises(DataError, match="--skip-missing"):
        run_inline(folder)
    with pytest.raises(DataError, match="--skip-missing"):
        run_inline(folder, text)
    for again in (None, text):
        run_inline(folder, again, skip_missing=True)
        assert ids(folder) == first

    put()
    study = run_inline(folder)
    assert study.status()["omissions"] == {}
    assert {row["status"] for row in study.table()} == {"done"}
    assert ids(folder) == [run.id for run in plan(StudyFile.parse(text)).runs]
    assert {*first} < {*ids(folder)}
    assert all(file.read_bytes() == before for file, before in weights.items())


def test_runs_that_are_planned_stay_when_their_files_go(images, rooms, folders):
    path, put = rooms
    text, folder = text_with_rooms(images, path), folders / "study"
    put()
    run_inline(folder, text)
    path.unlink()
    shutil.rmtree(folders / "cache", ignore_errors=True)
    before = ids(folder)
    run_inline(folder, text, skip_missing=True)
    assert ids(folder) == before
    longer = text.replace("seeds = [0, 1]", "seeds = [0, 1, 2]")
    with pytest.raises(ConfigError, match="adds 3 runs"):
        run_inline(folder, longer, skip_missing=True)
    (folder / "study.db").unlink()
    with pytest.warns(UserWarning, match="rebuilt"):
        run_inline(folder, text, skip_missing=True)
    assert ids(folder) == before


def test_lost_records_of_a_study_that_leaves_runs_out(images, rooms, folders):
    path, put = rooms
    text, folder = text_with_rooms(images, path), folders / "study"
    run_inline(folder, text, skip_missing=True)
    first = ids(folder)
    (folder / "study.db").unlink()
    with pytest.warns(UserWarning, match="rebuilt"):
        study = run_inline(folder, skip_missing=True)
    assert (ids(folder), study.status()["omissions"]) == (first, {"shapes3d": 2})
    put()
    assert len(run_inline(folder).table()) == 6


def test_records_of_older_versions_leave_nothing_out(undisturbed, tmp_path):
    folder = shutil.copytree(undisturbed, tmp_path / "study")
    (folder / "study.db.sha256").unlink()
    with closing(sqlite3.connect(folder / "study.db")) as db, db:
        db.execute("DELETE FROM facts WHERE name = 'omissions'")
    assert run_inline(folder).status()["omissions"] == {}
    assert ids(folder) == ids(undisturbed)
