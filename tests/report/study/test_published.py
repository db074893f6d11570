"""Published runs: beside ours, and by themselves with numbers that are known of them."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from metrics import study2019
from report.study_pages import Page, one_cell, rows, study, write

from unknot.core.csv_files import csv_text
from unknot.report.study import page as study_page
from unknot.report.study import source as study_source


@pytest.mark.slow
def test_published_values_beside_ours(tmp_path):
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    ours.write_text(csv_text(study(6, shift=0.5)))
    theirs.write_text(csv_text(study(6)))
    out = tmp_path / "page"
    study_page.report(ours, out, scores=["mig", "recon"], published=theirs)
    held = rows(out, "published")
    assert len(held) == 6 * 3
    for row in held:
        if row["score"] == "mig":
            assert float(row["difference"]) == pytest.approx(0.5)
            assert row["flagged"] == "True"
        else:
            assert float(row["z"]) == 0
    text = Page((out / "index.html").read_text()).text
    assert "18 values have a published counterpart. 12 of 18 lie within" in text


def test_published_values_of_other_settings(tmp_path):
    theirs = tmp_path / "theirs.csv"
    theirs.write_text(csv_text([{**row, "objective": "vae"} for row in one_cell(3)]))
    page, _ = write([{**row, "objective": "ae"} for row in one_cell(3)], tmp_path, published=theirs)
    assert "No configuration here is in that table" in page.text


@pytest.mark.parametrize(("ours", "difference"), [("study2019", 0.5), ("unknot", 0.25)])
def test_only_scores_of_one_protocol_are_compared(tmp_path, ours, difference):
    """Under another one, those that carry the published one's name; losses have none."""
    theirs, own = tmp_path / "theirs.csv", tmp_path / "own.csv"
    runs = one_cell(3, kl=5.0)
    theirs.write_text(csv_text(runs))
    higher = [{**r, "mig": r["mig"] + 0.5, "mig@study2019": r["mig"] + 0.25} for r in runs]
    own.write_text(csv_text(higher))
    published = replace(study_source.read(theirs), protocol="study2019")
    source = replace(study_source.read(own, ["mig"]), protocol=ours)
    study_page.write_report(source, tmp_path / "page", published=published)
    found = {row["score"]: float(row["difference"]) for row in rows(tmp_path / "page", "published")}
    assert found == pytest.approx({"mig": difference, "kl": 0})
    text = Page((tmp_path / "page" / "index.html").read_text()).text
    assert ("of the protocol unknot and the published ones of study2019" in text) == (
        ours == "unknot"
    )


def test_means_of_a_document_beside_ours(tmp_path):
    table = [
        {"data": "dsprites", "objective": "beta_vae", "objective.beta": beta, "seed": seed,
         "mig": mig + 0.01 * seed, "kl": 5.0 + seed + beta, "recon": 20.0 - seed}
        for beta, mig in ((1.0, 0.2), (3.0, 0.4), (7.0, 0.9))
        for seed in range(4)
    ]  # fmt: skip
    page, out = write(table, tmp_path, published=Path("mushom2020"))
    held = {row["swept_value"]: row for row in rows(out, "published")}
    assert {*held} == {"1.0", "3.0"}, "no beta of 7 is printed"
    assert (held["1.0"]["published"], held["1.0"]["verdict"]) == ("0.201", "no difference seen")
    assert (held["3.0"]["published_sd"], held["3.0"]["verdict"]) == ("0.028", "differs")
    assert "2 values of ours next to printed ones: 1 different by more than chance" in page.text
    assert "no number of ours could show that it is equal" in page.text
    assert "mig and kl figure 5.16" in page.text
    assert "could not be drawn" not in page.text
    other = [{**row, "objective": "vae"} for row in table]
    page, _ = write(other, tmp_path, published=Path("mushom2020"))
    assert "Nothing here has a counterpart in it" in page.text


@pytest.mark.slow
def test_the_published_table_alone_gives_the_known_numbers(tmp_path):
    file = study2019.FOLDER / "dsprites_full.csv"
    if not file.exists():
        pytest.skip("no published scores beside the checkout")
    out = tmp_path / "page"
    study_page.report(file, out)
    with file.open() as opened:
        raw = list(csv.DictReader(opened))
    own = [float(r["mig_discrete_mig"]) for r in raw
           if r["model_name"].strip("'") == "beta_vae" and float(r["vae_beta"]) == 16]  # fmt: skip
    (summary,) = (
        r for r in rows(out, "summary")
        if (r["objective"], r["swept_value"], r["score"]) == ("beta_vae", "16.0", "mig")
    )  # fmt: skip
    assert float(summary["median"]) == pytest.approx(np.median(own), abs=5e-4)
    assert float(summary["mean"]) == pytest.approx(0.263, abs=5e-4)
    spearman = {(r["first"], r["second"]): float(r["spearman"]) for r in rows(out, "correlations")}
    # Notes on Hartmann 2021, section 4.1: rank correlations over 1,800 runs times 100.
    for a, b, known in (
        ("beta_vae", "factor_vae", 82), ("beta_vae", "mig", 81), ("factor_vae", "sap", 67),
        ("mig", "dci.disentanglement", 93), ("dci.disentanglement", "dci.completeness", 98),
        ("dci.disentanglement", "dci.informativeness", 94), ("mig", "modularity", -5),
    ):  # fmt: skip
        assert spearman[a, b] == pytest.approx(known / 100, abs=0.01)
    chance = {
        (r["score"], r["better"], r["worse"]): [float(r[f"n={n}"]) for n in (1, 3, 5, 10)]
        for r in rows(out, "seeds")
    }
    # The same notes: the probability that a contrast shows in the mean of n seeds a side.
    for score, better, worse, known in (
        ("mig", "beta_vae beta 16", "beta_vae beta 1", (0.95, 1, 1, 1)),
        ("mig", "beta_vae beta 8", "beta_vae beta 1", (0.78, 0.94, 0.98, 1)),
        ("factor_vae", "beta_tcvae beta 4", "beta_vae beta 1", (0.87, 0.97, 0.99, 1)),
        ("mig", "beta_tcvae beta 6", "beta_vae beta 6", (0.88, 0.98, 1, 1)),
        ("dci.disentanglement", "beta_tcvae beta 6", "beta_vae beta 6", (0.93, 0.99, 1, 1)),
        ("mig", "factor_vae gamma 50", "beta_vae beta 1", (0.94, 1, 1, 1)),
        ("mig", "annealed_vae c 5", "annealed_vae c 100", (1, 1, 1, 1)),
        ("mig", "dip_vae_i lambda_od 2", "dip_vae_i lambda_od 50", (0.85, 0.99, 1, 1)),
        ("mig", "dip_vae_i lambda_od 2", "dip_vae_i lambda_od 1", (0.59, 0.67, 0.71, 0.79)),
        ("factor_vae", "beta_vae beta 1", "dip_vae_ii lambda_od 5", (0.78, 0.91, 0.96, 1)),
    ):
        assert chance[score, better, worse] == pytest.approx(known, abs=0.03)
    page = Page((out / "index.html").read_text())
    lead = "1,800 runs: 6 objectives in 36 configurations, 50 seeds each, on dsprites with the net"
    assert f"{lead} locatello." in page.text
    assert json.dumps(page.links).count("://") == 0
