"""Noisy-dSprites with beta = 16: the table is that of its file, and so is what the page claims."""

import tomllib
from statistics import mean

import pytest
from metrics import study2019
from scipy.stats import spearmanr
from scripts import script

from unknot.core.csv_files import read_csv
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan


@pytest.fixture(scope="module")
def page():
    return script("docs/noisy_dsprites.py")


@pytest.fixture(scope="module")
def text(page):
    return " ".join(page.PAGE.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def runs(page):
    return read_csv(page.RUNS)


@pytest.fixture(scope="module")
def published():
    path = study2019.FOLDER / "noisy_dsprites.csv"
    if not path.exists():
        pytest.skip("no published scores beside the checkout")
    return [
        {name: float(run[name]) for name in run if name.endswith(("_accuracy", "_mig", "_loss"))}
        for run in read_csv(path)
        if run["model_name"].strip("'") == "beta_vae" and float(run["vae_beta"]) == 16
    ]


def test_runs_are_those_of_the_study_file(page, runs):
    asked = tomllib.loads(page.RUNS.with_suffix(".toml").read_text(encoding="utf-8"))
    assert {run["id"] for run in runs} == {run.id for run in plan(StudyFile(asked)).runs}


def test_the_table_is_that_of_the_file(page):
    whole = page.PAGE.read_text(encoding="utf-8")
    assert page.made(whole) == whole, "run: python docs/noisy_dsprites.py"


def test_the_draw_of_points_moves_scores_as_the_page_says(runs, text):
    moved = max(abs(float(run["beta_vae"]) - float(run["beta_vae.draws"])) for run in runs)
    assert f"differs by at most {moved:.3f} from the score" in text


def test_two_of_four_seeds_stay_below_all_published_ones(runs, published, text):
    scores = [run["beta_vae_eval_accuracy"] for run in published]
    low = [run["seed"] for run in runs if float(run["beta_vae"]) < min(scores)]
    assert f"Seeds {' and '.join(low)} stay below the lowest of {len(scores)}" in text
    assert f"BetaVAE score is {mean(scores):.3f} on average" in text
    assert f"a minimum of {min(scores):.3f}" in text


def test_published_scores_follow_the_loss(runs, published, text):
    loss = [run["reconstruction_loss"] + 16 * run["kl_loss"] for run in published]
    mig = [run["mig_discrete_mig"] for run in published]
    found = [
        spearmanr(loss, [run["beta_vae_eval_accuracy"] for run in published]),
        spearmanr(loss, mig),
    ]
    said = [f"{one.statistic:.2f}".replace("-", "−") for one in found]
    assert f"is {said[0]}, that of MIG {said[1]}" in text
    assert f"MIG lies between {min(mig):.3f} and {max(mig):.3f}" in text
    ours = max(float(run["mig"]) for run in runs)
    assert ours < 0.045
    few = sum(one <= 0.045 for one in mig)
    assert f"{few} of the {len(mig)} published models have at most 0.045" in text
