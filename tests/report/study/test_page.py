"""The page of a study: that it holds together, says what is true, and has nothing empty on it."""

import re

import numpy as np
import pytest
from report.study_pages import one_cell, rows, study, write

from unknot.report.study import blocks as study_blocks
from unknot.report.study import figures

KINDS = ("png", "svg", "csv")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Six settings of five seeds, one of which diverged."""
    return write(study(5), tmp_path_factory.mktemp("whole"))


def test_everything_the_page_names_is_there(whole):
    page, out = whole
    assert page.images
    assert all(image["alt"] for image in page.images)
    assert len(page.ids) == len(set(page.ids))
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids
        elif not link.startswith("data:"):
            assert (out / link).exists(), link
    assert "://" not in "".join(page.links)
    named = {link.removeprefix("figures/") for link in page.links}
    assert {path.name for path in (out / "figures").iterdir()} <= named, "no file goes unseen"


def test_figures_come_as_pictures_and_numbers(whole):
    page, out = whole
    assert "could not be drawn" not in page.text
    files = {path.name for path in (out / "figures").iterdir()}
    drawn = {name.removesuffix(".png") for name in files if name.endswith(".png")}
    assert {"spread", "swept-value", "rate-distortion", "correlations", "shares"} <= drawn
    assert len(drawn) == len(page.images)
    for name in drawn:
        assert {f"{name}.{kind}" for kind in KINDS} <= files
        assert rows(out, name), "the numbers behind a figure are never empty"
    assert len(rows(out, "runs")) == 6 * 5


def test_what_is_missing_is_counted(whole):
    page, _ = whole
    assert "30 runs: 2 objectives in 6 configurations, 5 seeds each, on dsprites." in page.text
    assert "1 diverged of 30 runs: counted and shown, but not in the means." in page.text
    (summary,) = (
        row
        for row in rows(whole[1], "summary")
        if (row["objective"], row["swept_value"], row["score"]) == ("dip_vae_i", "16.0", "mig")
    )
    assert (summary["runs"], summary["n"], summary["diverged"]) == ("5", "4", "1")
    assert float(summary["high"]) < 1


def test_findings_name_the_best_cell(whole):
    page, out = whole
    means = {}
    for row in rows(out, "runs"):
        if row["status"] == "done":
            key = (
                row["objective"],
                next(row[k] for k in row if k.startswith("objective.") and row[k]),
            )
            means.setdefault(key, []).append(float(row["mig"]))
    objective, strength = max(means, key=lambda key: np.mean(means[key]))
    said = rf"which configuration has the highest mig: {objective} \w+ {float(strength):g} \("
    assert re.search(said, page.text), "of which one seed diverged, so that four are left"


def test_settings_that_tie_are_not_distinct_texts(tmp_path):
    table = [
        {"objective": "vae", "objective.beta": beta, "seed": seed, "mig": 0.5 if beta > 1 else 0.1}
        for beta in (1, 2, 4)
        for seed in range(2)
    ]
    page, _ = write(table, tmp_path)
    assert "2 configurations alike" in page.text
    assert "The seeds do not show which configuration has the highest mig" in page.text


def test_a_table_of_one_run(tmp_path):
    page, out = write(one_cell(), tmp_path)
    assert "1 run: vae in 1 configuration, 1 seed." in page.text
    assert "One seed per configuration" in page.text
    assert [path.stem for path in (out / "figures").glob("*.png")] == ["spread"]
    assert "could not be drawn" not in page.text


def test_one_setting_of_several_seeds(tmp_path):
    page, out = write(one_cell(5), tmp_path)
    assert "vae in 1 configuration, 5 seeds" in page.text
    assert {path.stem for path in (out / "figures").glob("*.png")} == {"spread", "cumulative"}
    assert "could not be drawn" not in page.text


def test_one_seed_of_each_setting_claims_nothing_about_chance(tmp_path):
    page, out = write(study(1)[:-1], tmp_path)
    assert "One seed per configuration" in page.text
    assert "The seed alone" not in page.text
    assert not any(row["share"] for row in rows(out, "best-values"))
    assert {row["mean_rank_low"] for row in rows(out, "ranking")} == {""}
    assert not (out / "figures" / "shares.png").exists()
    assert not (out / "figures" / "seeds.csv").exists()
    assert "could not be drawn" not in page.text


@pytest.mark.parametrize("seeds", [2, 4])
def test_few_seeds_have_ranges_and_values_and_no_probabilities(tmp_path, seeds):
    page, out = write(study(seeds)[:-1], tmp_path)
    assert "the range of the seeds, too few for an interval" in page.text
    assert "values of fewer than 10 seeds" in page.text
    for claim in ("95% interval", "probability", "How many seeds it takes", "The seed alone",
                  "Simulated with"):  # fmt: skip
        assert claim not in page.text, claim
    assert not (out / "figures" / "seeds.csv").exists()
    assert not (out / "figures" / "shares.png").exists()
    assert not any(row["mean_low"] for row in rows(out, "summary"))
    assert not any(row["share"] for row in rows(out, "best-values"))
    assert {row["mean_rank_low"] for row in rows(out, "ranking")} == {""}


def test_five_seeds_have_intervals_and_what_they_assume(tmp_path):
    page, _ = write(study(5)[:-1], tmp_path)
    assert "assume about normal scores over seeds; they are cut off at the bounds" in page.text
    assert "95% (normal), 82% (skewed), 66% (bimodal) of them hold the true mean." in page.text
    assert "values of fewer than 10 seeds" in page.text, "the points beside the interval"


def test_settings_of_runs_are_not_rounded(tmp_path):
    table = [
        {"id": f"run-{lr}", "objective": "vae", "optim.lr": lr, "seed": 0, "mig": 0.12345}
        for lr in (0.0316, 1e-4)
    ]
    page, _ = write(table, tmp_path)
    assert "run-0.0001 0.0001 0 " in page.text
    assert "run-0.0316 0.0316 0 " in page.text


@pytest.mark.slow
def test_scores_that_some_cells_lack(tmp_path):
    table = study(6)
    for row in table:
        if row["objective"] == "beta_vae":
            row["mig"] = None
        row.pop("recon")
    page, out = write(table, tmp_path, ["mig", "dci.disentanglement"])
    assert "18 scores of finished runs are undefined." in page.text
    assert not list((out / "figures").glob("trade-off*"))
    assert {row["better"].split()[0] for row in rows(out, "seeds") if row["score"] == "mig"} == {
        "dip_vae_i"
    }


def test_a_score_that_never_varies(tmp_path):
    table = [{**row, "mig": 0.5} for row in study(5)]
    page, out = write(table, tmp_path, ["mig"])
    assert "could not be drawn" not in page.text
    assert (out / "index.html").exists()
    assert {row["score"] for row in rows(out, "shares")} == {"recon"}


@pytest.mark.slow
def test_several_datasets_stand_apart(tmp_path):
    table = [*study(2), *study(2, data="cars3d", shift=0.1)]
    page, out = write(table, tmp_path, ["mig"])
    assert "on dsprites and cars3d" in page.text
    names = {path.name for path in (out / "figures").glob("*.png")}
    assert {"dsprites-spread.png", "cars3d-spread.png", "datasets-beta_vae.png"} <= names
    both = rows(out, "datasets-split")
    assert {row["data"] for row in both} == {"dsprites", "cars3d"}
    assert {row["objective"] for row in both} == {"beta_vae", "dip_vae_i"}
    means = [
        np.mean([float(r["mean"]) for r in rows(out, f"{data}-summary") if r["score"] == "mig"])
        for data in ("dsprites", "cars3d")
    ]
    assert means[1] - means[0] == pytest.approx(0.1, abs=0.02)


def test_a_figure_that_fails_is_listed_and_the_rest_is_there(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ValueError("alpha is outside 0-1 range")

    monkeypatch.setattr(study_blocks, "TOLERATED", (Exception,))
    monkeypatch.setattr(figures.swept_value, "draw", broken)
    page, out = write(study(2), tmp_path)
    assert "swept-value: ValueError: alpha is outside 0-1 range" in page.text
    assert (out / "figures" / "spread.png").exists()
    assert not (out / "figures" / "swept-value.png").exists()


def test_two_values_of_a_setting_are_back_to_back(tmp_path):
    table = [
        {"objective": "vae", "steps": steps, "seed": i, "mig": 0.1 * i + steps / 1000}
        for steps in (10, 20)
        for i in range(4)
    ]
    _, out = write(table, tmp_path)
    assert len(rows(out, "split-steps")) == 8


def test_settings_of_two_axes_have_a_line_for_each_value_of_the_other(tmp_path):
    table = [
        {"objective": "vae", "objective.beta": beta, "optim.lr": lr, "seed": seed,
         "mig": 0.1 * beta + lr + 0.01 * seed}
        for beta in (1, 2) for lr in (0.1, 0.2) for seed in range(2)
    ]  # fmt: skip
    page, out = write(table, tmp_path)
    found = {
        (row["line"], row["swept_value"]): float(row["mean"]) for row in rows(out, "swept-value")
    }
    assert found == {
        ("vae, lr 0.1", "1.0"): pytest.approx(0.205),
        ("vae, lr 0.1", "2.0"): pytest.approx(0.305),
        ("vae, lr 0.2", "1.0"): pytest.approx(0.305),
        ("vae, lr 0.2", "2.0"): pytest.approx(0.405),
    }
    assert "Configurations that also differ in something else have lines of their own." in page.text
    assert "vae beta 2, optim.lr 0.2 has the highest mig in every seed: 0.400 to 0.410" in page.text


def test_words_from_outside_are_no_code(tmp_path):
    code = "<script>alert(1)</script>"
    table = [*one_cell(3, **{"objective.kind": code}), *one_cell(3, **{"objective.kind": "plain"})]
    page, _ = write(table, tmp_path)
    assert page.open.count("script") == 1
    assert code in page.text
