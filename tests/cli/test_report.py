"""``unknot report``: what it writes, and what it answers to nonsense."""

import csv

import pytest
import torch
from report import small_study

from unknot.core.errors import WriteError
from unknot.engine.device import threads
from unknot.report.study import style as study_style
from unknot.studies.study import Study


@pytest.fixture
def scores(tmp_path):
    file = tmp_path / "scores.csv"
    lines = [f"vae,{beta},{seed},{0.1 * beta + 0.01 * seed}" for beta in (1, 2) for seed in (0, 1)]
    file.write_text("\n".join(["objective,objective.beta,seed,mig", *lines]))
    return file


def test_a_table_becomes_a_page(unknot, scores, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = unknot("report", scores)
    assert code == 0
    assert "reports/scores/index.html" in out
    assert (tmp_path / "reports" / "scores" / "index.html").exists()
    with (tmp_path / "reports" / "scores" / "figures" / "summary.csv").open() as opened:
        means = [float(row["mean"]) for row in csv.DictReader(opened)]
    assert means == pytest.approx([0.105, 0.205])


def test_what_it_cannot_do_is_no_success(unknot, scores, tmp_path, monkeypatch):
    """A page that says so in its last lines is not read by a script."""
    code, _, err = unknot("report", scores, "--device", "foo", "--out", tmp_path / "page")
    assert (code, "got 'foo'" in err) == (2, True)
    assert not (tmp_path / "page").exists()

    def full(*_):
        raise WriteError("Could not write shares.png: No space left on device.")

    monkeypatch.setattr(study_style, "write_whole", full)  # what figures are written by
    code, _, err = unknot("report", scores, "--out", tmp_path / "page")
    assert (code, "No space left" in err) == (1, True)


def test_a_folder_for_a_paper(unknot, scores, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = unknot("report", scores, "--paper", "--metrics", "mig")
    assert code == 0, err
    assert "papers/scores/main.tex" in out
    made = tmp_path / "papers" / "scores"
    table = (made / "tables" / "scores.tex").read_text()
    assert r"vae beta 2 & \textbf{0.205}" in table
    for words in (("--baseline", "vae"), ("--published", scores)):
        code, _, err = unknot("report", scores, "--paper", *words, "--out", tmp_path / "other")
        assert (code, err.count("\n")) == (2, 1)
        assert f"--paper takes no {words[0]}" in err
    assert not (tmp_path / "other").exists()


def test_published_values_are_held_against(unknot, scores, tmp_path):
    code, _, _ = unknot("report", scores, "--published", scores, "--out", tmp_path / "page")
    assert code == 0
    with (tmp_path / "page" / "figures" / "published.csv").open() as opened:
        assert [float(row["difference"]) for row in csv.DictReader(opened)] == [0, 0]


def test_baselines_by_name_and_number(unknot, scores, tmp_path):
    words = ("--baseline", "vae beta 2", "--baseline", "mig=0.15")
    code, _, err = unknot("report", scores, *words, "--out", tmp_path / "page")
    assert code == 0, err
    with (tmp_path / "page" / "figures" / "baselines.csv").open() as opened:
        held = {row["baseline"]: float(row["value"]) for row in csv.DictReader(opened)}
    assert held == pytest.approx({"vae beta 2": 0.205, "given": 0.15})


@pytest.mark.slow
def test_a_study_keeps_its_page_in_its_folder(unknot, tiny, tmp_path, monkeypatch):
    """Its models are drawn with one thread, and the number is left as it was."""
    options = {"seeds": "[0]", "steps": 10, "grids": small_study.ANOTHER}
    small_study.train(tmp_path / "study", tiny, **options)
    counts, run = [], Study.run

    def counted(*args, **options):
        counts.append(torch.get_num_threads())
        return run(*args, **options)

    monkeypatch.setattr(Study, "run", counted)
    with threads(2):
        code, out, _ = unknot("report", tmp_path / "study")
        assert torch.get_num_threads() == 2
    assert code == 0
    assert set(counts) == {1}
    assert (tmp_path / "study" / "report" / "index.html").exists()
    assert "study/report/index.html" in out


def test_nonsense_is_one_line(unknot, scores, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "words.csv").write_text("objective,comment\nvae,nice\n")
    (tmp_path / "nothing.csv").write_text("")
    (tmp_path / "bytes.csv").write_bytes(bytes(range(256)))
    for words, said in (
        ((tmp_path / "nowhere",), "no study and no table"),
        ((tmp_path / "empty",), "neither a study"),
        ((tmp_path / "words.csv",), "no scores"),
        ((tmp_path / "nothing.csv",), "no rows"),
        ((tmp_path / "bytes.csv",), "Cannot read"),
        ((scores, "--out", scores), "is a file"),
        ((scores, "--metrics", "mgi"), "mig"),
        ((scores, "--baseline", "vea"), "did you mean 'vae'"),
        ((scores, "--published", tmp_path / "nowhere"), "no study and no table"),
        ((scores, "--published", "mushom"), "known: kumar2018, mushom2020, ozcan2024"),
    ):
        code, out, err = unknot("report", *words)
        assert code == 2, words
        assert said in err
        assert err.startswith("unknot: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err + out


def test_the_command_has_an_example(unknot):
    code, out, _ = unknot("report", "--help")
    assert code == 0
    assert "Example" in out


def test_a_run_is_no_study_and_a_study_no_run(unknot, train, tiny, tmp_path):
    train()
    code, _, err = unknot("report", tmp_path / "run")
    assert (code, f"`unknot show {tmp_path / 'run'}`" in err) == (2, True)
    assert not (tmp_path / "reports").exists()
    small_study.train(tmp_path / "study", tiny, seeds="[0]", steps=2)
    code, _, err = unknot("show", tmp_path / "study")
    assert (code, f"`unknot study extract {tmp_path / 'study'} RUN`" in err) == (2, True)
