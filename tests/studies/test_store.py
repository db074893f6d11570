"""Records of a study: what is kept, what is never overwritten, and who may write."""

import re
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import unknot as library
from unknot.core.errors import ConfigError, StoreError, WriteError
from unknot.runs import config
from unknot.studies import database, insertions, store
from unknot.studies.execute.driver import driver, save_plan
from unknot.studies.execute.machine import Machine
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan
from unknot.studies.study import Study, flat

HERE = Machine("cpu", 2, 1)


def test_the_table_as_a_data_frame(folder):
    study = Study.open(folder)
    frame = study.frame()
    rows = study.table()
    assert list(frame["id"]) == [row["id"] for row in rows]
    beta = frame.set_index("id")["objective.beta"].dropna().to_dict()
    assert beta == {row["id"]: row["objective.beta"] for row in rows if "objective.beta" in row}


def planned(text):
    return plan(StudyFile.parse(text))


TEXT = """
name = "toy"
seeds = [0, 1]
metrics = ["mig"]
[[grid]]
objective.beta = [1, 4]
[[grid]]
objective.name = "annealed_vae"
objective.c = {kind = "linear", start = 0, end = 25, steps = 1000}
"""


def outcome(opened, key, scores=(), status="done", seconds=6.0):
    runs = [run.id for run in opened.members(key)]
    lost = 700 if status == "diverged" else None
    return {
        "step": 20_000,
        "seconds": seconds,
        "device": "cpu",
        "versions": {"unknot": "1"},
        "members": [
            {
                "id": run,
                "status": status,
                "diverged_at": lost,
                "last": {"loss": 2.5, "loss.weight": 1.0},
            }
            for run in runs
        ],
        "scores": [{"id": run, **score} for run in runs for score in scores],
    }


def score(value=0.5, *, protocol="unknot", seed=0, code="1", metric="mig"):
    return {
        "metric": metric,
        "protocol": {"name": protocol, "seed": seed},
        "unknot": code,
        "values": {} if value is None else {metric: value},
        "remarks": ["does not apply"] if value is None else [],
    }


def sql(opened, query):
    return opened.db.execute(query).fetchall()


@pytest.fixture
def folder(tmp_path):
    with driver(tmp_path / "study") as opened:
        save_plan(opened, planned(TEXT), HERE)
    return tmp_path / "study"


def test_a_table_has_a_row_for_each_run_with_its_settings(folder):
    rows = Study.open(folder).table()
    assert [(r["objective"], r.get("objective.beta"), r["seed"]) for r in rows] == [
        ("beta_vae", 1.0, 0),
        ("beta_vae", 1.0, 1),
        ("beta_vae", 4.0, 0),
        ("beta_vae", 4.0, 1),
        ("annealed_vae", None, 0),
        ("annealed_vae", None, 1),
    ]
    assert [r["id"] for r in rows] == [run.id for run in planned(TEXT).runs]
    assert rows[-1]["objective.c.end"] == 25.0
    assert (rows[0]["net.latents"], rows[0]["data"], rows[0]["steps"]) == (10, "dsprites", 20_000)
    assert {(r["status"], r["diverged"], r["seconds"], r["error"]) for r in rows} == {
        ("waiting", None, None, None)
    }
    assert "log_every" not in rows[0]  # every other number is taken for a score


def test_outcomes_fill_the_rows(folder):
    with driver(folder) as opened:
        first, second, third = opened.unfinished()
        opened.finish(first, outcome(opened, first, [score(0.25)]))
        opened.finish(second, outcome(opened, second, status="diverged"))
        opened.fail(third, "no data")
        assert opened.unfinished() == [third]
    study = Study.open(folder)
    rows = study.table()
    by_key = {row["population"]: row for row in rows}
    good, lost, failed = by_key[first], by_key[second], by_key[third]
    assert (good["status"], good["diverged"], good["mig"], good["loss"]) == (
        "done",
        False,
        0.25,
        2.5,
    )
    assert good["seconds"] == 6.0 / sum(row["population"] == first for row in rows)
    assert "loss.weight" not in good
    assert (lost["status"], lost["diverged"], "mig" in lost) == ("diverged", True, False)
    assert (failed["status"], failed["error"]) == ("failed", "no data")
    status = study.status()
    assert status["runs"] == {"all": 6, "done": 2, "diverged": 2, "failed": 2}
    assert status["failures"] == [{"error": "no data", "populations": 1}]
    assert status["steps"] == {"done": 80_000, "all": 120_000}


def test_scores_are_never_overwritten_and_the_newest_measure_is_shown(folder):
    with driver(folder) as opened:
        key = opened.unfinished()[0]
        for scores in (
            [score(0.1)],
            [score(0.9)],  # the same measure again: stays as it was
            [score(0.2, code="2"), score(0.3, protocol="study2019")],
            [score(None, metric="elbo")],
        ):
            opened.finish(key, outcome(opened, key, scores))
        kept = sql(opened, "SELECT value, remark FROM scores ORDER BY measure, run")
    assert [value for value, _ in kept] == [0.1, 0.1, 0.2, 0.2, 0.3, 0.3, None, None]
    assert kept[-1][1] == "does not apply"
    study = Study.open(folder)
    row = study.table()[0]
    assert (row["mig"], row["mig@study2019"], row["elbo"]) == (0.2, 0.3, None)
    assert study.scores() == ["mig", "mig@study2019", "elbo"]


def test_a_score_that_is_not_a_number_is_none(folder):
    with driver(folder) as opened:
        key = opened.unfinished()[0]
        opened.finish(key, outcome(opened, key, [score(float("nan"))]))
    assert Study.open(folder).table()[0]["mig"] is None


def test_names_of_ours_win_over_what_an_objective_logs(folder):
    with driver(folder) as opened:
        key = opened.unfinished()[0]
        given = outcome(opened, key)
        for member in given["members"]:
            member["last"] = {"diverged": 0.0, "seconds": 9.0}
        opened.finish(key, given)
    row = Study.open(folder).table()[0]
    assert row["diverged"] is False
    assert row["seconds"] == 3.0


def test_more_seeds_and_settings_add_runs_and_leave_the_others_alone(folder):
    with driver(folder) as opened:
        done = opened.unfinished()[0]
        opened.finish(done, outcome(opened, done, [score()]))
    before = Study.open(folder).table()
    more = TEXT.replace("[0, 1]", "[0, 1, 2]").replace("[1, 4]", "[1, 4, 8]")
    with driver(folder) as opened:
        with pytest.raises(ConfigError, match=r"adds 6 runs\). Use --update") as refused:
            save_plan(opened, planned(more), HERE)
        assert "\n" not in str(refused.value)
        save_plan(opened, planned(more), HERE, update=True)
        assert done not in opened.unfinished()
    after = Study.open(folder).table()
    assert [row["id"] for row in after] == [run.id for run in planned(more).runs]
    assert len(after) == 12
    kept = {row["id"]: row for row in after}
    assert all(kept[row["id"]] == row for row in before)
    assert (folder / "study.toml").read_text() == more


def test_dropped_runs_keep_their_records_and_come_back(folder):
    with driver(folder) as opened:
        for key in opened.unfinished():
            opened.finish(key, outcome(opened, key, [score()]))
    fewer = TEXT.replace("[0, 1]", "[1]")
    with driver(folder) as opened:
        with pytest.raises(ConfigError, match="drops 3 runs"):
            save_plan(opened, planned(fewer), HERE)
        save_plan(opened, planned(fewer), HERE, update=True)
    study = Study.open(folder)
    assert [row["seed"] for row in study.table()] == [1, 1, 1]
    assert len(study.table(dropped=True)) == 6
    assert study.status()["runs"] == {"all": 3, "done": 3}
    with driver(folder) as opened:
        save_plan(opened, planned(TEXT), HERE, update=True)
        assert opened.unfinished() == []
    assert len(Study.open(folder).table()) == 6


def test_other_scores_are_explained_and_make_populations_due_again(folder):
    with driver(folder) as opened:
        for key in opened.unfinished():
            opened.finish(key, outcome(opened, key, [score()]))
        assert opened.unfinished() == []
        other = TEXT.replace('["mig"]', '["mig", "sap"]')
        with pytest.raises(ConfigError, match=r'metrics was \["mig"\] and is \["mig", "sap"\]'):
            save_plan(opened, planned(other), HERE)
        save_plan(opened, planned(other), HERE, update=True)
        assert len(opened.unfinished()) == len(opened.populations())


def test_a_file_that_changed_in_its_comments_only_is_the_same_study(folder):
    same = TEXT + "# a remark\n"
    with driver(folder) as opened:
        save_plan(opened, planned(same), HERE)
    assert (folder / "study.toml").read_text() == same


def test_threads_are_those_the_study_began_with(folder):
    more = TEXT.replace("[0, 1]", "[0, 1, 2]")
    with driver(folder) as opened:
        save_plan(opened, planned(more), Machine("cpu", 1, 8), update=True)
        assert opened.facts()["threads"] == "1"


def test_a_second_driver_is_refused_in_one_line(folder):
    refused = pytest.raises(StoreError, match="Another process is running the study")
    with driver(folder), refused as said, driver(folder):
        pass
    assert "\n" not in str(said.value)
    assert not Study.open(folder).status()["driver"]
    with driver(folder):
        assert Study.open(folder).status()["driver"]


def test_a_transaction_is_all_or_nothing(folder):
    with driver(folder) as opened:
        key = opened.unfinished()[0]
        bad = outcome(opened, key, [score()])
        bad["scores"][-1]["id"] = None  # against the table's rules, after the runs are written
        with pytest.raises(StoreError):
            opened.finish(key, bad)
        assert sql(opened, "SELECT count(*) FROM runs") == [(0,)]
        assert sql(opened, "SELECT count(*) FROM scores") == [(0,)]
        assert key in opened.unfinished()


def test_reading_takes_as_many_statements_for_many_runs_as_for_few(tmp_path, monkeypatch):
    counts = []
    for n, seeds in enumerate(("0..1", "0..499")):
        text = TEXT.replace("[0, 1]", f'"{seeds}"')
        with driver(tmp_path / str(n)) as opened:
            save_plan(opened, planned(text), HERE)
        study = Study.open(tmp_path / str(n))
        heard = []
        study.store.db.set_trace_callback(heard.append)
        with monkeypatch.context() as patch:
            patch.setattr(config, "spec", lambda table: pytest.fail("a spec was built"))
            assert len(study.table()) == study.status()["runs"]["all"]
        counts.append(len(heard))
    assert counts[0] == counts[1] < 15
    assert study.status()["runs"]["all"] == 1_500


def test_a_reader_sees_the_last_whole_state_while_the_driver_writes(folder):
    with driver(folder) as opened:
        key = opened.unfinished()[0]
        with closing(Study.open(folder).store.db), opened.writing() as db:
            db.execute("UPDATE populations SET status = 'failed'")
            assert "failed" not in Study.open(folder).status()["runs"]
        opened.progress({key: ("train", 500)})
        assert Study.open(folder).status()["runs"]["running"] == 2
    with driver(folder):  # whoever was running is gone
        assert "running" not in Study.open(folder).status()["runs"]


def test_no_study_a_damaged_one_and_one_of_the_future(tmp_path, folder):
    with pytest.raises(StoreError, match="holds no study"):
        Study.open(tmp_path)
    with closing(sqlite3.connect(folder / "study.db")) as db, db:
        db.execute("UPDATE facts SET value = '9' WHERE name = 'format'")
    with pytest.raises(StoreError, match="has format 9"):
        Study.open(folder)
    (folder / "study.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(StoreError, match="no database that can be read"):
        Study.open(folder)
    with pytest.raises(StoreError, match="damaged"), driver(folder):
        pass


def test_a_study_killed_at_its_birth_is_never_planned_and_can_be_begun(tmp_path):
    with driver(tmp_path / "study"):
        pass
    with pytest.raises(StoreError, match="never planned"):
        Study.open(tmp_path / "study")
    with driver(tmp_path / "study") as opened:
        save_plan(opened, planned(TEXT), HERE)
    assert len(Study.open(tmp_path / "study").table()) == 6


def test_runs_are_found_by_their_first_digits(folder):
    study = Study.open(folder)
    first = study.table()[0]["id"]
    assert study.find(first[:8]) == first
    with pytest.raises(StoreError, match="6 start so"):
        study.find("")
    with pytest.raises(StoreError, match="has no run 'zz'"):
        study.find("zz")
    with pytest.raises(StoreError, match="is not trained yet"):
        study.run(first)


def test_a_disk_that_refuses_is_one_clear_line(folder, monkeypatch):
    with driver(folder) as opened:
        opened.db.execute("PRAGMA max_page_count = 1")  # SQLite's own way to be out of space
        key = opened.unfinished()[0]
        many = [score(code=str(code)) for code in range(2_000)]
        with pytest.raises(WriteError, match="is full") as refused:
            opened.finish(key, outcome(opened, key, many))
        assert "\n" not in str(refused.value)
    assert len(Study.open(folder).table()) == 6


def test_records_that_cannot_be_read_are_not_said_to_be_unwritable(folder):
    with closing(sqlite3.connect(folder / "study.db")) as db:
        study = Study.open(folder)
        db.execute("DROP TABLE scores")
        for read in (study.table, study.status):
            with pytest.raises(
                StoreError, match=r"^Could not read the records .*scores\.$"
            ) as said:
                read()
            assert not isinstance(said.value, WriteError)


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such rights there")
def test_a_folder_that_may_not_be_written_is_one_clear_line(folder, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)  # root may write anywhere, so ask nicely
    with pytest.raises(WriteError, match="permission denied"), driver(folder):
        pass


def test_a_folder_without_rights_can_be_read(folder):
    for path in (folder / "study.db", folder):
        path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    try:
        assert len(Study.open(folder).table()) == 6
    finally:
        folder.chmod(0o755)


def test_paths_of_settings_are_flat_and_names_stand_for_their_tables():
    spec = {
        "format": 2,
        "steps": 5,
        "sampler": {"name": "singles", "weights": [1]},
        "log_every": 3,
    }
    assert flat(spec) == {"steps": 5, "sampler": "singles", "sampler.weights": [1]}


def test_reading_a_study_imports_no_torch(folder):
    """It would take longer than all the rest."""
    code = "import sys; from unknot.studies.study import Study; Study.open(sys.argv[1]).table(); "
    words = [sys.executable, "-c", code + "sys.exit('torch' in sys.modules)", str(folder)]
    assert subprocess.run(words).returncode == 0


def test_statements_stand_in_the_store_alone():
    files = Path(library.__file__).parent.rglob("*.py")
    speaking = {f.name for f in files if re.search(r"\bSELECT\b", f.read_text())}
    assert speaking == {"store.py", "insertions.py", "opening.py", "soundness.py"}


def test_statements_are_not_for_sqlite_alone():
    """A team's server shall run the same ones: none of SQLite's own clauses."""
    import inspect

    source = "".join(map(inspect.getsource, (store, insertions, database))).upper()
    for word in ("OR REPLACE", "OR IGNORE", "AUTOINCREMENT", "ROWID", "IFNULL", "GLOB "):
        assert word not in source


def test_a_copy_that_is_rewritten_keeps_no_old_value_and_no_two_configurations_alike(folder):
    opened = Study.open(folder).store
    with closing(opened.db), closing(sqlite3.connect(":memory:")) as copy:
        opened.db.backup(copy)
        changed = store.Store(folder, copy)
        specs = changed.settings()
        changed.rewrite({i: {**spec, "batch": 63} for i, spec in specs.items()}, "nothing")
        assert b"annealed_vae" in copy.serialize()
        assert b'"batch": 64' not in copy.serialize()
        assert [spec["batch"] for spec in changed.settings().values()] == [63] * len(specs)
        with pytest.raises(sqlite3.IntegrityError):
            changed.rewrite({i: {} for i in specs}, "nothing")
