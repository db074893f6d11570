"""A damaged study is made whole again: its records, its file, its populations."""

import shutil
import sqlite3
from contextlib import closing

import pytest
from runs.damage import flip
from studies.bars import records, run_inline
from studies.test_foreign_store import DAMAGE
from typer.testing import CliRunner

import unknot
from unknot.cli.main import app
from unknot.core.errors import DamageError, StoreError
from unknot.report.study import source
from unknot.studies import export
from unknot.studies.repair import absent_populations
from unknot.studies.study import Study


@pytest.fixture
def study(undisturbed, tmp_path):
    return shutil.copytree(undisturbed, tmp_path / "study")


def check(folder, *words):
    return app(["check", str(folder), *words], standalone_mode=False)


@pytest.mark.parametrize("place", [0.0, 0.02, 0.3, 0.5, 0.7, 0.95])
def test_a_flipped_byte_of_the_records_is_noticed_and_mended(study, undisturbed, place):
    flip(study / "study.db", place)
    with pytest.raises(DamageError, match=r"study\.db is damaged: .*unknot check"):
        Study.open(study)
    assert check(study) == 2
    assert check(study, "--repair") == 0
    assert check(study) == 0
    assert len(Study.open(study).table()) == 4
    assert records(run_inline(study).path) == records(undisturbed)


@pytest.mark.filterwarnings("ignore:.*is rebuilt")
@pytest.mark.parametrize("damage", ["an empty plan", "a name that leads out", "no format", "lost"])
def test_running_a_study_rebuilds_its_records_and_trains_nothing(
    study, undisturbed, monkeypatch, damage
):
    if damage == "lost":
        (study / "study.db").unlink()
    else:
        with closing(sqlite3.connect(study / "study.db")) as db:
            db.executescript(DAMAGE[damage])
    monkeypatch.setattr("unknot.runs.training.fit", lambda *_, **__: pytest.fail("trained"))
    with pytest.warns(UserWarning, match=r"study\.db is .* It is rebuilt from study\.toml"):
        run_inline(study)
    assert records(study) == records(undisturbed)


def test_records_of_runs_that_the_file_no_longer_asks_for_are_rebuilt_too(study, undisturbed):
    text = (study / "study.toml").read_text()
    run_inline(study, text.replace("seeds = [0, 1]", "seeds = [0]"), update=True)
    before = Study.open(study).table(dropped=True)
    (study / "study.db").unlink()
    assert check(study, "--repair") == 0
    run_inline(study)
    after = Study.open(study).table(dropped=True)
    rows = [{r["id"]: {**r, "seconds": None} for r in table} for table in (before, after)]
    assert rows[0] == rows[1]
    assert len(Study.open(study).table()) == 2


def test_without_a_study_file_the_records_cannot_be_rebuilt(study):
    (study / "study.toml").unlink()
    assert check(study) == 2
    assert check(study, "--repair") == 0
    assert (study / "study.toml").exists()
    (study / "study.toml").unlink()
    (study / "study.db").write_bytes(b"nothing")
    with pytest.raises(StoreError, match=r"cannot be rebuilt without its study\.toml"):
        check(study, "--repair")


@pytest.mark.parametrize("name", ["weights.safetensors", "curves.safetensors", "status.json"])
@pytest.mark.parametrize("how", ["flipped", "lost"])
def test_a_damaged_population_is_trained_again_and_ends_the_same(study, undisturbed, name, how):
    file = next(study.glob(f"populations/*/{name}"))
    flip(file) if how == "flipped" else file.unlink()
    lost = [row["id"] for row in Study.open(study).table() if row["population"] == file.parent.name]
    with pytest.raises(StoreError, match=r"`unknot check .*study --repair`"):
        export.extract(Study.open(study), lost[0], study.parent / "one", device="cpu")
    assert check(study) == 2
    assert check(study, "--repair") == 0
    assert records(run_inline(study).path) == records(undisturbed)
    assert check(study) == 0


def test_a_lost_status_is_noticed_by_who_runs_the_study(study, undisturbed):
    next(study.glob("populations/*/status.json")).unlink()
    assert records(run_inline(study).path) == records(undisturbed)


def test_a_population_that_was_left_behind_is_not_trained_again(study, monkeypatch):
    shutil.rmtree(next(study.glob("populations/*")))
    monkeypatch.setattr("unknot.runs.training.fit", lambda *_, **__: pytest.fail("trained"))
    run_inline(study)


def test_damaged_scores_are_computed_again(study, undisturbed):
    flip(next(study.glob("populations/*/scores.jsonl")))
    assert check(study) == 2
    assert check(study, "--repair") == 0
    assert records(run_inline(study).path) == records(undisturbed)


def test_a_folder_of_neither_kind_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(unknot.UnknotError, match=r"neither a run nor a study|no folder"):
            check(path)


def test_a_report_is_written_without_what_is_damaged_and_says_so(study, tmp_path):
    first, second = sorted(study.glob("populations/*"))
    flip(first / "weights.safetensors")
    flip(second / "status.json", 0.9)
    out = tmp_path / "page"
    with pytest.raises(DamageError, match=r"is written, but not all .*unknot check .*--repair"):
        app(["report", str(study), "--out", str(out)], standalone_mode=False)
    page = (out / "index.html").read_text()
    assert "weights.safetensors is damaged" in page
    assert "status.json is damaged" in page
    assert (out / "figures" / "summary.csv").exists()


def test_every_verb_says_how_lost_records_are_rebuilt(study):
    (study / "study.db").unlink()
    for read in (Study.open, source.read):
        with pytest.raises(DamageError, match=r"study\.db is missing\. .*unknot check .* --repair"):
            read(study)


def test_models_that_were_left_behind_are_said(undisturbed, tmp_path):
    study = shutil.copytree(undisturbed, tmp_path / "study")
    assert absent_populations(study) == []
    key = min(path.name for path in (study / "populations").iterdir())
    shutil.rmtree(study / "populations" / key)
    assert absent_populations(study) == [key]
    done = CliRunner().invoke(app, ["check", str(study)])
    assert done.exit_code == 0
    assert f"populations/{key}: trained, says" in " ".join(done.stdout.split())
