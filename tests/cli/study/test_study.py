"""``unknot study``: what it prints, writes and answers to nonsense."""

import csv
import importlib.util
import io
import json
import re

import pytest
from studies.bars import UNKNOT

import unknot as library
from unknot.core.errors import ConfigError
from unknot.studies import estimate
from unknot.studies.execute import driver
from unknot.studies.study import Study


@pytest.fixture(scope="module")
def made(tiny, tmp_path_factory):
    """A study of four tiny runs, run by the command with processes of its own."""
    import subprocess

    folder = tmp_path_factory.mktemp("made")
    file = folder / "two betas.toml"
    file.write_text(
        'seeds = "0,1"\nmetrics = ["mig"]\n[train]\nsteps = 10\nbatch = 8\n'
        f'data = {{name = "arrays", path = "{tiny}"}}\nnet = {{name = "linear", latents = 3}}\n'
        "[[grid]]\nobjective.beta = [1, 4]\n"
    )
    done = subprocess.run(
        [*UNKNOT, file.name, "--device", "cpu"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "4 runs: 4 done" in done.stdout
    assert "into studies/two-betas" in done.stderr
    return file, folder / "studies" / "two-betas"


def test_every_verb_has_an_example(unknot):
    for verb in ("plan", "run", "list", "status", "table", "extract"):
        code, out, _ = unknot("study", verb, "--help")
        assert code == 0
        assert "Example" in out


def test_a_plan_says_how_much_there_is_to_do_and_writes_nothing(
    unknot, made, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(estimate, "PATIENCE", 0.01)
    code, out, _ = unknot("study", "plan", made[0], "--device", "cpu")
    assert code == 0
    assert "4 runs (2 configurations x 2 seeds)" in out
    assert "40 steps" in out
    assert "on this machine (estimated" in out
    (size,) = re.findall(r"Memory: about ([0-9.]+) GB for each of", out)
    assert 0.1 < float(size) < 50
    code, out, _ = unknot("study", "plan", made[0], "--json", "--no-estimate", "--device", "cpu")
    facts = json.loads(out)
    assert (facts["runs"], facts["configurations"], facts["steps"]) == (4, 2, 40)
    assert facts["ids"] == [row["id"] for row in Study.open(made[1]).table()]
    assert "seconds" not in facts
    assert not list(tmp_path.iterdir())


def test_a_plan_from_flags(unknot):
    words = ("--set", "train.steps=100", "--grid", "objective.beta=1,2,4", "--seeds", "0..4")
    code, out, _ = unknot("study", "plan", *words, "--no-estimate", "--json")
    assert code == 0
    assert json.loads(out)["runs"] == 15
    code, out, _ = unknot(
        "study", "plan", *words, "--grid", "objective.beta=1,1.0", "--no-estimate"
    )
    assert code == 2


@pytest.mark.parametrize("protocol", ["study2019", "unknot"])
def test_a_plan_says_which_scores_have_no_such_protocol(unknot, protocol):
    words = ("--metrics", "mig,recon,linearity", "--protocol", protocol, "--no-estimate")
    code, out, _ = unknot("study", "plan", *words)
    assert code == 0
    said = "Not scored (no protocol study2019): linearity." in out
    assert said == (protocol == "study2019")


def test_presets_are_listed_with_their_runs_and_planned_by_name(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = unknot("study", "list", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert code == 0
    assert (rows["hartmann2021"]["runs"], rows["mushom2020"]["runs"]) == (10_800, 170)
    code, out, _ = unknot("study", "list")
    assert code == 0
    assert all(name in out for name in rows)
    for words, runs in (((), "runs"), (("--quick",), "quick")):
        code, out, _ = unknot("study", "plan", "mushom2020", *words, "--json", "--no-estimate")
        assert (code, json.loads(out)["runs"]) == (0, rows["mushom2020"][runs])
    assert not list(tmp_path.iterdir())


def test_a_plan_lists_missing_files_and_can_leave_their_runs_out(unknot, tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path))
    words = ("study", "plan", "michlo2022_e7", "--no-estimate")
    code, out, _ = unknot(*words)
    assert code == 0
    assert "20 runs" in out
    assert "Missing files of shapes3d (4 runs): 3dshapes.h5. Get them with `unknot data" in out
    assert "--skip-missing leaves those 12 runs out" in out
    code, out, _ = unknot(*words, "--skip-missing", "--json")
    facts = json.loads(out)
    assert (code, facts["runs"], len(facts["ids"])) == (0, 8, 8)
    assert facts["omissions"] == {"smallnorb": 4, "shapes3d": 4, "cars3d": 4}
    assert [gap["runs"] for gap in facts["missing"]] == [4, 4, 4]
    code, _, err = unknot("study", "run", "michlo2022_e7", "--out", str(tmp_path / "study"))
    assert code == 2
    assert "unknot data get smallnorb --set variant=disent" in err
    assert not (tmp_path / "study").exists()


def test_a_budget_is_in_hours_of_one_gpu_and_times_nothing(unknot, monkeypatch):
    monkeypatch.setattr(estimate, "estimate", None)
    code, out, _ = unknot("study", "plan", "mushom2020", "--budget")
    assert code == 0
    assert "h in bf16 on one H200" in out
    assert "counts critics, compilation and scores" in out
    found = []
    for more in ((), ("--workers", "4")):
        code, out, _ = unknot("study", "plan", "mushom2020", "--budget", "--json", *more)
        found.append(json.loads(out))
        hours = found[-1]["budget_hours"]
        assert hours["float32"] > hours["tf32"] > hours["bf16"] > 0
    assert [each["budget_gpus"] for each in found] == [1, 4]
    assert found[1]["budget_hours"]["bf16"] < found[0]["budget_hours"]["bf16"]
    assert found[0]["budget_parts"]["bf16"]["scores"] > 0


def test_a_quick_version_is_run_into_a_folder_of_its_own(unknot, made, monkeypatch):
    asked = []

    def stop(folder, study, **_):
        asked.append((str(folder), study.table))
        raise ConfigError("far enough")

    monkeypatch.setattr(driver, "run", stop)
    for words in (("quickstart",), ("quickstart", "--quick")):
        assert unknot("study", "run", *words)[0] == 2
    (full, whole), (quick, short) = asked
    assert (full, quick) == ("studies/quickstart", "studies/quickstart-quick")
    assert whole["train"]["steps"] > short["train"]["steps"]
    assert "quick" not in {*whole, *short}
    code, _, err = unknot("study", "run", made[1], "--quick")
    assert (code, "Flags apply to a study file" in err) == (2, True)


def test_status_table_and_take(unknot, made, tmp_path):
    _, folder = made
    code, out, _ = unknot("study", "status", folder, "--json")
    assert code == 0
    assert json.loads(out)["runs"] == {"all": 4, "done": 4}
    code, out, _ = unknot("study", "table", folder, "--json")
    rows = json.loads(out)
    assert [row["objective.beta"] for row in rows] == [1, 1, 4, 4]
    assert all(isinstance(row["mig"], float) for row in rows)
    code, out, _ = unknot("study", "table", folder)
    assert code == 0
    assert rows[0]["id"][:6] in out
    file = tmp_path / "table.csv"
    code, out, _ = unknot("study", "table", folder, "--csv", file)
    (first, *_) = read = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(read) == 4
    assert float(first["mig"]) == rows[0]["mig"]
    assert first["status"] == "done"
    code, out, _ = unknot("study", "table", folder, "--csv", "-")
    assert list(csv.DictReader(io.StringIO(out))) == read
    taken = tmp_path / "one"
    code, out, _ = unknot("study", "extract", folder, rows[2]["id"][:6], "--out", taken)
    assert code == 0
    assert f"unknot show {taken}" in out
    assert library.load(taken, device="cpu").spec.ids() == [rows[2]["id"]]


def test_going_on_with_what_is_done_and_with_a_file_that_changed(unknot, made, monkeypatch):
    file, folder = made
    monkeypatch.chdir(file.parent)
    code, out, _ = unknot("study", "run", folder, "--device", "cpu")
    assert (code, "4 runs: 4 done" in out) == (0, True)
    code, out, _ = unknot("study", "run", file.name, "--device", "cpu", "--json")
    assert (code, json.loads(out)["runs"]["done"]) == (0, 4)
    code, _, err = unknot("study", "run", file.name, "--seeds", "0..2", "--device", "cpu")
    assert code == 2
    assert "adds 2 runs). Use --update" in err
    assert len(err.splitlines()) == 1


@pytest.mark.skipif(bool(importlib.util.find_spec("pyarrow")), reason="pyarrow is installed")
def test_parquet_without_its_package_says_what_to_install(unknot, made, tmp_path):
    code, _, err = unknot("study", "table", made[1], "--parquet", tmp_path / "t.parquet")
    assert code == 2
    assert "pip install 'unknot[parquet]'" in err


@pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="pyarrow is not installed")
def test_parquet_holds_the_table(unknot, made, tmp_path):
    code, _, _ = unknot("study", "table", made[1], "--parquet", tmp_path / "t.parquet")
    assert code == 0
    parquet = importlib.import_module("pyarrow.parquet")
    rows = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    assert [row["id"] for row in rows] == [row["id"] for row in Study.open(made[1]).table()]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan",), "Name a study file"),
        (("plan", "nowhere.toml"), "Could not read nowhere.toml"),
        (("plan", "--grid", "objective.betta=1"), "did you mean 'beta'"),
        (("plan", "--grid", "objective.beta="), "Expected an axis"),
        (("plan", "--set", "sedes=3"), "did you mean 'seeds'"),
        (("plan", "--grid", "batch=1", "--device", "tpu"), "Devices are"),
        (("plan", "--grid", "batch=1", "--metrics", "mgi"), "did you mean 'mig'"),
        (("plan", "quickstrat"), "did you mean 'quickstart'"),
        (("plan", "michlo2022_e8"), "unknot learn-loss"),
        (("plan", "--quick"), "no quick version"),
        (("run", "nowhere.toml"), "Could not read"),
        (("run", "hartmann"), "did you mean 'hartmann2021'"),
        (("run", "."), "holds no study"),
        (("run", ".", "--seeds", "3"), "Flags apply to a study file"),
        (("status", "."), "holds no study"),
        (("table", "nowhere"), "holds no study"),
        (("extract", ".", "abc"), "holds no study"),
    ],
)
def test_nonsense_is_one_line_and_leaves_nothing(unknot, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = unknot("study", *words)
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_table_is_not_written_over_what_is_no_table(unknot, made):
    database = made[1] / "study.db"
    before = database.read_bytes()
    code, _, err = unknot("study", "table", made[1], "--csv", database)
    assert (code, "is no table" in err, database.read_bytes() == before) == (2, True, True)
    code, _, err = unknot("study", "table", made[1], "--csv", "")
    assert (code, "names no file or folder" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explore", "{s}", "--member", "1"], "--member and --data are for a run"),
        (["explore", "{s}", "--data", "x.npz"], "--member and --data are for a run"),
        (["explore", "{s}", "--out", "x.html"], "a folder of explorers"),
        (["explore", "{s}", "--out", "{s}"], "holds a run or a study"),
        (["archive", "{s}", "--out", "{s}/study.db", "--force"], "ends in .zip"),
        (["report", "{s}", "--out", "{s}"], "holds a run or a study"),
        (["study", "merge", "{s}", "{s}", "--out", "{s}"], "is not an empty folder"),
        (["study", "merge", "{s}", "{s}", "--out", ""], "an empty text"),
    ],
)
def test_a_study_that_is_there_is_not_written_over(
    unknot, made, tmp_path, monkeypatch, words, said
):
    monkeypatch.chdir(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in made[1].rglob("*") if path.is_file()}
    code, _, err = unknot(*(word.replace("{s}", str(made[1])) for word in words))
    assert (code, err.count("\n")) == (2, 1), err
    assert said in err
    after = {path: path.stat().st_mtime_ns for path in made[1].rglob("*") if path.is_file()}
    assert after == before
    assert [*tmp_path.iterdir()] == []


def test_an_unknown_run_and_an_occupied_folder(unknot, made, tmp_path):
    code, _, err = unknot("study", "extract", made[1], "zzz", "--out", tmp_path / "x")
    assert (code, "has no run 'zzz'" in err) == (2, True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    code, _, err = unknot("study", "run", made[0], "--out", tmp_path / "mine")
    assert (code, "not an empty folder" in err) == (2, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--csv", "-", "--json"), "prints CSV and nothing else"),
        (("--csv", "-", "--parquet", "a.parquet"), "prints CSV and nothing else"),
        (("--csv", "a.csv", "--json"), "--json prints the table"),
        (("--parquet", "-"), "ends in .parquet; got -"),
        (("--csv", "nothing/../../x/a.csv"), "write nothing/../../x without '..'"),
    ],
)
def test_a_table_is_asked_for_in_one_way(unknot, made, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    code, _, err = unknot("study", "table", made[1], *words)
    assert (code, said in err) == (2, True), err
    assert [*tmp_path.iterdir()] == []
