"""Pages of documents: planted runs come out as they were planted, and no runs as none."""

import importlib
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import unknot
from unknot.analysis.configurations import plain_columns
from unknot.core.csv_files import csv_text, read_table
from unknot.studies.file.study_file import read_study
from unknot.studies.plan import configuration_table, plan
from unknot.studies.study import flat

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))  # not first: its names are those of folders of tests
claim_tests, claims, evidence, evidence_time = map(
    importlib.import_module, ("claim_tests", "claims", "evidence", "evidence_time")
)
RESULTS = ROOT / "docs" / "results"
FILE = tomllib.loads((RESULTS / "claims.toml").read_text(encoding="utf-8"))
PIECES = {key: entry for key, entry in FILE["documents"].items() if "pieces" in entry}
DOCUMENTS = {key: entry for key, entry in PIECES.items() if "main" in entry}


def planned(key, pieces=None):
    """A row for each run that the pieces of a document would have, without scores."""
    entry = DOCUMENTS[key]
    rows = []
    for piece in entry["pieces"] if pieces is None else pieces:
        study = plan(read_study(RESULTS / Path(entry["page"]).stem / f"{piece}.toml"))
        tables = [flat(configuration_table(spec)) for spec in study.configurations]
        rows += [
            {"piece": piece, "main": piece in entry["main"], "id": run.id, "seed": run.seed,
             "status": "done", "seconds": 6.0, **tables[run.configuration]}
            for run in study.runs
        ]  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def tables():
    return {key: planned(key) for key in DOCUMENTS}


def stored(rows, file):
    """As they come back from a file."""
    file.write_text(csv_text(rows, [*dict.fromkeys(n for row in rows for n in row)]))
    return plain_columns(read_table(file))


def settings_of(claim):
    for kind in claims.TESTS:
        for test in claim.get(kind, ()):
            yield from (test[side] for side in ("more", "less", "runs_with", "near")
                        if isinstance(test.get(side), dict))  # fmt: skip


@pytest.mark.parametrize("key", DOCUMENTS)
def test_the_runs_that_claims_name_are_planned(key, tables, tmp_path):
    table = stored(tables[key], tmp_path / "runs.csv")
    for claim in (claim for claim in FILE["claim"] if claim["document"] == key):
        for settings in settings_of(claim):
            assert claim_tests.select(table, settings)["id"], (claim["says"], settings)


@pytest.mark.parametrize("key", DOCUMENTS)
def test_every_test_of_a_claim_decides_once_its_runs_are_there(key, tables, tmp_path):
    """With numbers in all columns that claims name, none is left that was not run."""
    random = np.random.default_rng(0)
    own = [claim for claim in FILE["claim"] if claim["document"] == key]
    tests = [test for claim in own for kind in claims.TESTS for test in claim.get(kind, ())]
    named = ("score", "first", "second", "given", "number")
    names = {test[name] for test in tests for name in named if isinstance(test.get(name), str)}
    columns = [name.replace("*", str(j)) for name in names - {"data.spacing"} for j in range(5)]
    rows = [
        {**row, **dict(zip(columns, random.uniform(0.1, 1, len(columns)).tolist(), strict=True))}
        for row in tables[key]
    ]
    table = stored(rows, tmp_path / "runs.csv")
    for claim in (claim for claim in own if not {"words", "needs"} & {*claim}):
        assert claims.judge(claim, table)[0] in ("holds", "fails", "undecided"), claim["says"]


@pytest.mark.parametrize("key", PIECES)
def test_the_file_of_claims_lists_the_pieces_that_there_are(key):
    entry = PIECES[key]
    folder = RESULTS / Path(entry["page"]).stem
    assert sorted(entry["pieces"]) == sorted(file.stem for file in folder.glob("*.toml"))
    assert {*entry.get("main", ())} <= {*entry["pieces"]}
    for piece in entry["pieces"]:
        study = read_study(folder / f"{piece}.toml")
        assert study.table["name"] == f"{folder.name}_{piece}"
        assert study.table["train"]["precision"] == "bf16"


def test_pieces_of_mushom_are_the_runs_of_its_preset():
    def runs(study):
        for run in study.runs:
            table = configuration_table(study.configurations[run.configuration])
            yield run.seed, repr({k: v for k, v in table.items() if k != "precision"})

    pieces = [
        run
        for piece in DOCUMENTS["mushom"]["main"]
        for run in runs(plan(read_study(RESULTS / "mushom2020" / f"{piece}.toml")))
    ]
    assert len(pieces) == len({*pieces}) == 170 + 20  # 20 with a growing weight
    assert {*runs(plan(read_study(Path("mushom2020"))))} <= {*pieces}


PRINTED = {
    ("beta_vae", 1): (0.867, 0.696, 0.201), ("beta_vae", 3): (0.860, 0.737, 0.269),
    ("beta_vae", 10): (0.762, 0.666, 0.270), ("beta_vae", 30): (0.729, 0.658, 0.269),
    ("dip_vae_ii", 1): (0.612, 0.479, 0.039),
}  # fmt: skip


def planted(rows, factor_vae, dip_vae, seed=0):
    """Scores of the five objectives, spread as in the thesis."""
    random = np.random.default_rng(seed)
    for row in rows:
        name = row["objective"]
        value = next((row[n] for n in ("objective.beta", "objective.lambda_od") if n in row), 0)
        means = PRINTED.get((name, value), (0.8, 0.7, 0.25))
        means = factor_vae if name == "factor_vae" else means
        means = dip_vae if name == "dip_vae_ii" else means
        spread = 0.02 if value == 30 else 0.04
        scores = np.array(means) + spread * random.standard_normal(3)
        row |= dict(zip(("beta_vae", "factor_vae", "mig"), scores.tolist(), strict=True))
        row |= {"recon": 17.0 + random.standard_normal() + 3 * value * (name != "factor_vae")}
        row |= {"kl": 20.0 + random.standard_normal(), "elbo": -40.0}
        row |= {"active_units@unknot": 3.0 if value == 30 else 5.0}
    return rows


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A folder of results in place of the real one, with its words and without its runs."""
    for file in (*RESULTS.glob("*.md"), RESULTS / "claims.toml"):
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(evidence, "RESULTS", tmp_path)
    monkeypatch.setattr(claims, "RESULTS", tmp_path)
    return tmp_path


def page_of(results, document="mushom2020"):
    return evidence.made((results / f"{document}.md").read_text(encoding="utf-8"), document)


def line(page, says):
    return next(one for one in page.splitlines() if says in one)


def test_a_planted_effect_holds_and_a_contrary_one_fails(results):
    dip = "DIP-VAE is clearly behind"
    first = "FactorVAE is first or tied"
    for factor_vae, dip_vae, verdicts in (
        ((0.95, 0.85, 0.36), (0.612, 0.479, 0.039), ("undecided", "holds")),
        ((0.60, 0.50, 0.10), (0.9, 0.8, 0.35), ("fails", "fails")),
    ):
        rows = planted(planned("mushom", DOCUMENTS["mushom"]["main"]), factor_vae, dip_vae)
        stored(rows, results / "mushom2020.csv")
        page = page_of(results)
        for says, verdict in zip((dip, first), verdicts, strict=True):
            assert line(page, says).startswith(f"- **{verdict}**"), line(page, says)
    assert "Seeds differ less" in page


def test_the_table_has_ours_the_printed_value_and_the_interval(results):
    rows = planted(
        planned("mushom", DOCUMENTS["mushom"]["main"]), (0.9, 0.76, 0.3), (0.61, 0.48, 0.04)
    )
    stored(rows, results / "mushom2020.csv")
    page = page_of(results)
    row = line(page, "| 5.3, 5.6 | beta_vae beta 1 | beta_vae |")
    assert "0.867 ± 0.079 (10)" in row
    assert " to +" in row
    ours = np.mean([r["beta_vae"] for r in rows if r.get("objective.beta") == 1
                    and r["objective"] == "beta_vae"])  # fmt: skip
    assert f"| {ours:.3f} ± " in row
    assert "| beta_vae | 60 | 0 to 9 | 6 | 345,600 | 64 | bf16 |" in page


def test_few_runs_are_undecided(results):
    rows = planted(
        planned("mushom", DOCUMENTS["mushom"]["main"]), (0.9, 0.76, 0.3), (0.61, 0.48, 0.04)
    )
    stored([row for row in rows if row["seed"] < 2], results / "mushom2020.csv")
    assert "- **undecided** · table 5.6: FactorVAE is first or tied" in page_of(results)


@pytest.mark.parametrize("key", DOCUMENTS)
def test_without_runs_a_page_says_so(key, results):
    document = Path(DOCUMENTS[key]["page"]).stem
    page = page_of(results, document)
    verdicts = [one for one in page.splitlines() if one.startswith("- **")]
    assert {one.split("**")[1] for one in verdicts} <= {"not run", "needs files"}
    assert "Not run." in page
    assert f"sh bench/evidence.sh {document}/{DOCUMENTS[key]['pieces'][0]}" in page


@pytest.mark.parametrize("key", DOCUMENTS)
def test_pages_say_what_their_runs_say(key):
    page = RESULTS / DOCUMENTS[key]["page"]
    text = page.read_text(encoding="utf-8")
    assert evidence.made(text, page.stem) == text


def test_times_are_those_of_the_plans():
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert evidence_time.made(text) == text


def test_runs_come_from_archives_and_stay_when_other_pieces_come(results, tmp_path):
    entry = DOCUMENTS["kumar"]
    rng = np.random.default_rng(0)
    factors = np.indices((5, 8)).reshape(2, -1).T
    np.savez(tmp_path / "x.npz", images=rng.random((40, 8, 8), np.float32), factors=factors)
    archives = []
    for piece in ("table1", "running"):
        study = unknot.study(
            f"kumar2018_{piece}", data=tmp_path / "x.npz", net="linear", seeds=2, metrics=["mig"],
            grid={"objective.beta": [1, 60]}, steps=4, batch=8, out=tmp_path / piece,
        )  # fmt: skip
        study.run(progress=False)
        archives.append(tmp_path / f"{piece}.zip")
        study.archive(archives[-1], weights="none")
    archives[0].with_suffix(".log").write_text("2026-01-02 NVIDIA H200\n...\n")
    first = evidence.collected("kumar2018", archives[:1])
    assert [row["machine"] for row in first] == ["NVIDIA H200"] * 4
    assert all(row["main"] and row["piece"] == "table1" for row in first)
    evidence.main("kumar2018", str(archives[0]))
    page = (results / entry["page"]).read_text(encoding="utf-8")
    assert "| table1 | 4 | 0 to 1 |" in page
    assert "NVIDIA H200 | 2026-01-02" in page
    assert (results / "kumar2018.png").read_bytes().startswith(b"\x89PNG")
    assert "![Scores over seeds, by configuration](kumar2018.png)" in page
    assert "kumar2018.md" in (results / "README.md").read_text(encoding="utf-8")
    both = evidence.collected("kumar2018", archives[1:])
    assert [row["piece"] for row in both] == ["table1"] * 4 + ["running"] * 4
    assert both[0]["id"] == first[0]["id"]
    assert both[0]["mig"] == pytest.approx(first[0]["mig"])
    assert not both[-1]["main"]
