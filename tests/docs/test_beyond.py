"""The page of methods since 2020: claims that its studies can decide, tables and figures."""

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from unknot.core.csv_files import csv_text
from unknot.studies.file.study_file import read_study
from unknot.studies.plan import plan
from unknot.studies.study import flat

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))  # not first: its names are those of folders of tests
beyond, claims, tuned_claims = map(importlib.import_module, ("beyond", "claims", "tuned_claims"))
FILE = tomllib.loads((ROOT / "docs" / "results" / "claims.toml").read_text())
CLAIMS = [c for c in claims.each_dataset(FILE["claim"]) if c["document"] in beyond.QUESTIONS]


def planned(question):
    """The rows of a study that has all its runs and no scores."""
    whole = plan(read_study(beyond.FOLDER / f"{question}.toml"))
    settings = [flat(spec.table()) for spec in whole.configurations]
    rows = [
        {"id": run.id, "seed": run.seed, "status": "done", **settings[run.configuration]}
        for run in whole.runs
    ]
    return [row | {"trained_on": beyond.trained_on(row)} for row in rows]


@pytest.fixture(scope="module")
def studies():
    return {question: planned(question) for question in beyond.QUESTIONS}


def has(row, settings):
    return all(row.get(name) == value for name, value in settings.items())


def planted(rows, test, shift):
    """Columns in which the runs of one side have a higher score, the same for every seed."""
    side = test["more"] | test.get("among", {})
    names = dict.fromkeys(name for row in rows for name in row)
    table = {name: [row.get(name) for row in rows] for name in names}
    values = [0.3 + 0.01 * row["seed"] + shift * has(row, side) for row in rows]
    return table | dict.fromkeys((test["score"], *test.get("by", ())), values)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda c: f"{c['document']} {c['where']}")
def test_each_claim_holds_fails_or_stays_open_by_runs_of_its_study(claim, studies):
    rows = studies[claim["document"]]
    tests = [(kind, test) for kind in claims.TESTS for test in claim.get(kind, ())]
    assert tests
    for kind, test in tests:
        for shift, verdict in ((0.5, "holds"), (-0.5, "fails"), (0.0, "undecided")):
            table = planted(rows, test, shift)
            assert claims.judge({kind: [test]}, table)[0] == verdict, (test, shift)
        assert claims.judge({kind: [test]}, None)[0] == "not run"


def test_scores_of_claims_are_kept_for_the_page(studies):
    for claim in CLAIMS:
        for kind in claims.TESTS:
            for test in claim.get(kind, ()):
                wanted = {test["score"], *test.get("by", ())}
                assert wanted <= {*beyond.QUESTIONS[claim["document"]]}


def test_choosing_by_other_seeds_does_not_flatter():
    # Two settings of pure noise: whichever is chosen by one seed is judged by the other.
    table = {
        "objective": ["vae"] * 4,
        "objective.beta": [1, 1, 2, 2],
        "seed": [0, 1, 0, 1],
        "mig": [0.9, 0.1, 0.1, 0.9],
    }
    assert tuned_claims.by_other_seeds(table, {"objective": "vae"}, "mig").tolist() == [0.1, 0.1]
    table["merit"] = [1.0, 1.0, 0.0, 0.0]
    by = tuned_claims.by_other_seeds(table, {"objective": "vae"}, "mig", ["merit"])
    assert by.tolist() == [0.9, 0.1]


def test_a_gain_is_a_difference_of_differences(studies):
    (claim, *_) = (c for c in CLAIMS if "gain" in c)
    (test,) = claim["gain"]
    everywhere = planted(studies["hfs"], {**test, "among": {}}, 0.5)
    assert claims.judge({"gain": [test]}, everywhere)[0] == "undecided", "as much without it"


@pytest.mark.parametrize("question", beyond.QUESTIONS)
def test_tables_and_figure_have_every_configuration(question, studies, tmp_path, monkeypatch):
    rows = [
        row
        | {
            score: 0.1 * i + 0.01 * row["seed"]
            for i, score in enumerate(beyond.QUESTIONS[question])
        }
        for row in studies[question]
    ]
    rows[0] |= {"status": "diverged", "recon": None}
    monkeypatch.setattr(beyond, "FOLDER", tmp_path)
    assert set(beyond.parts(question).values()) == {"Not run yet."}
    (tmp_path / f"{question}.csv").write_text(csv_text(rows))
    made = beyond.parts(question)
    lines = made[f"{question} means"].splitlines()
    whole = plan(read_study(ROOT / f"docs/results/beyond/{question}.toml"))
    body = [line for line in lines if line.startswith("|")][2:]
    assert len({line.rpartition(" 5 |")[0] for line in body[1:]}) == len(whole.configurations) - 1
    assert "5 (1 diverged)" in body[0]
    if question == "geometry":  # each but the VAE of its dataset
        effects = made["geometry effects"].splitlines()[2:]
        assert len(effects) == len(whole.configurations) - 2
        assert all("**" not in line for line in effects), "all configurations are alike"
    monkeypatch.setattr(beyond, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(beyond, "made", lambda page: page)
    beyond.PAGE.write_text("")
    beyond.main()
    assert (tmp_path / f"{question}.png").stat().st_size > 10_000


def test_the_page_says_what_its_files_say():
    text = beyond.PAGE.read_text()
    assert beyond.made(text) == text


def test_runs_of_a_table_join_those_that_are_there(studies, tmp_path, monkeypatch):
    monkeypatch.setattr(beyond, "FOLDER", tmp_path / "beyond")
    beyond.FOLDER.mkdir()
    rows = [row | {"mcc": 0.5, "mig@study2019": 0.25} for row in studies["slow"]]
    rows[-1]["status"] = "running"
    for name, part in (("beyond-slow", rows[:70]), ("beyond-slow-rest", rows[60:])):
        file = tmp_path / f"{name}.csv"
        # As `unknot study table` writes them, which knows nothing of what images were seen.
        file.write_text(csv_text([{k: v for k, v in r.items() if k != "trained_on"} for r in part]))
        beyond.add_runs(file)
    kept = beyond.read_rows(beyond.FOLDER / "slow.csv")
    assert [row["id"] for row in kept] == [row["id"] for row in rows[:-1]]
    assert [row["trained_on"] for row in kept] == [row["trained_on"] for row in rows[:-1]]
    assert {row["mig"] for row in kept} == {0.25}
    with pytest.raises(SystemExit, match="Expected a study of 'beyond qlae'"):
        beyond.add_runs(file.rename(tmp_path / "others.csv"))
