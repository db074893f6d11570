"""Noisy-dSprites with beta = 16: tables are those of their files, and so is what the page says."""

import tomllib
from statistics import mean, stdev

import pytest
from metrics import study2019
from scipy.stats import spearmanr
from scripts import script

from unknot.core.csv_files import read_csv
from unknot.studies.file.study_file import StudyFile
from unknot.studies.plan import plan

COLUMNS = {
    "recon": "reconstruction_loss",
    "kl": "kl_loss",
    "beta_vae": "beta_vae_eval_accuracy",
    "factor_vae": "factor_vae_eval_accuracy",
    "mig": "mig_discrete_mig",
    "sap": "sap_score",
    "modularity": "modularity_score",
}


@pytest.fixture(scope="module")
def page():
    return script("docs/noisy_dsprites.py")


@pytest.fixture(scope="module")
def text(page):
    return " ".join(page.PAGE.read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def published():
    path = study2019.FOLDER / "noisy_dsprites.csv"
    if not path.exists():
        pytest.skip("no published scores beside the checkout")
    return [
        {name: float(run[name]) for name in COLUMNS.values()}
        for run in read_csv(path)
        if run["model_name"].strip("'") == "beta_vae" and float(run["vae_beta"]) == 16
    ]


@pytest.mark.parametrize(
    ("precision", "file"),
    [("bf16", "noisy_dsprites.toml"), ("float32", "noisy_dsprites_float32.toml")],
)
def test_runs_are_those_of_the_study_file(page, precision, file):
    asked = tomllib.loads((page.PAGE.parent / file).read_text(encoding="utf-8"))
    planned = {run.id for run in plan(StudyFile(asked)).runs}
    assert {run["id"] for run in page.runs_in(precision)} == planned


def test_the_tables_are_those_of_the_files(page):
    whole = page.PAGE.read_text(encoding="utf-8")
    assert page.made(whole) == whole, "run: python docs/noisy_dsprites.py"


def test_published_means_are_those_of_the_published_runs(page, published):
    for row in read_csv(page.PUBLISHED):
        values = [run[COLUMNS[row["score"]]] for run in published]
        assert int(row["n"]) == len(values)
        assert float(row["mean"]) == pytest.approx(mean(values), rel=1e-7)
        assert float(row["sd"]) == pytest.approx(stdev(values), rel=1e-4)


def test_no_value_differs_and_only_the_divergence_is_equal(page):
    verdicts = {
        row["score"]: page.difference(
            row["score"], [float(run[row["score"]]) for run in page.runs_in("bf16")], row
        ).verdict
        for row in read_csv(page.PUBLISHED)
    }
    assert verdicts == dict.fromkeys(COLUMNS, "undecided") | {"kl": "equal"}


def test_a_planted_shift_is_found(page):
    row = next(row for row in read_csv(page.PUBLISHED) if row["score"] == "beta_vae")
    ours = [float(run["beta_vae"]) for run in page.runs_in("bf16")]
    low = [value - float(row["sd"]) for value in ours]
    assert page.difference("beta_vae", low, row).verdict == "differs"


def test_how_many_seeds_are_low(page, published, text):
    ours = sorted(float(run["beta_vae"]) for run in page.runs_in("bf16"))
    theirs = [run["beta_vae_eval_accuracy"] for run in published]
    assert ours[0] < min(theirs) < ours[1]
    assert f"score of {ours[0]:.3f}, below all {len(theirs)}" in text
    assert f"the next is {ours[1]:.3f}" in text
    assert sum(score < 0.55 for score in theirs) == 1
    assert f"BetaVAE score is {mean(theirs):.3f} on average" in text
    assert f"a minimum of {min(theirs):.3f}" in text


def test_the_draw_of_points_moves_scores_as_the_page_says(page, text):
    moved = max(
        abs(float(run["beta_vae"]) - float(run["beta_vae.draws"]))
        for run in page.runs_in("float32")
    )
    assert f"differs by at most {moved:.3f} from the score" in text


def test_two_of_the_four_seeds_in_float32_reach_the_published_score(page, published):
    scores = [run["beta_vae_eval_accuracy"] for run in published]
    ours = [float(run["beta_vae"]) for run in page.runs_in("float32")]
    assert sum(score < min(scores) for score in ours) == 2
    assert sum(abs(score - mean(scores)) < stdev(scores) for score in ours) == 2


def test_published_scores_follow_the_loss(published, text):
    loss = [run["reconstruction_loss"] + 16 * run["kl_loss"] for run in published]
    mig = [run["mig_discrete_mig"] for run in published]
    found = [
        spearmanr(loss, [run["beta_vae_eval_accuracy"] for run in published]),
        spearmanr(loss, mig),
    ]
    said = [f"{one.statistic:.2f}".replace("-", "−") for one in found]
    assert f"is {said[0]}, that of MIG {said[1]}" in text
    assert f"MIG lies between {min(mig):.3f} and {max(mig):.3f}" in text
