"""Maps of numbers on a study's page: how scores agree, and what latents follow."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from report import small_study
from report.study_pages import Page, rows, study, write
from scipy import stats

from unknot.analysis import Results
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.report.model.latents import explained_variance, measure_latents
from unknot.report.study import figures
from unknot.report.study import models as study_models
from unknot.report.study import page as study_page
from unknot.report.study.figures.correlations import SIDE_BY_SIDE

RUNS = 12


def scores_of(n):
    """A table of so many scores, some of which go with others along a line or a curve."""
    rng = np.random.default_rng(3)
    first = rng.normal(size=RUNS)
    held = {"s0": first, "s1": np.exp(2 * first)}
    for i in range(2, n):
        held[f"s{i}"] = (-1) ** i * first + 1.2 * i * rng.normal(size=RUNS)
    return {"objective": ["vae"] * RUNS, **held}


@pytest.mark.parametrize(
    ("kind", "known", "title"),
    [
        ("pearson", stats.pearsonr, "Linear correlation of scores × 100 (Pearson)"),
        ("spearman", stats.spearmanr, "Rank correlation of scores × 100 (Spearman)"),
    ],
)
def test_each_cell_of_a_map_is_the_correlation_of_its_kind(kind, known, title):
    table = scores_of(4)
    names = [name for name in table if name != "objective"]
    drawn = figures.correlations.draw(Results(table), names, kind=kind)
    (axes,) = drawn.figure.axes
    (image,) = axes.images
    assert [label.get_text() for label in axes.get_xticklabels()] == names
    assert drawn.figure.get_suptitle() == title
    seen = {text.get_position()[::-1]: text.get_text() for text in axes.texts}
    by = {(r["first"], r["second"]): r for r in drawn.rows}
    bracketed = 0
    for (i, a), (j, b) in itertools.product(enumerate(names), repeat=2):
        value, p = known(table[a], table[b])
        assert image.get_array()[i, j] == pytest.approx(value)
        assert by[a, b][kind] == pytest.approx(value)
        said = f"{100 * value:.0f}".replace("-", "−")
        assert seen[i, j] == (f"({said})" if p > 0.05 else said)
        bracketed += p > 0.05
    assert 0 < bracketed < len(names) ** 2
    assert "In brackets: p above 0.05." in drawn.figure.get_supxlabel()


def test_what_curves_is_no_line():
    """A score and its exponential: ranks agree in full, values do not."""
    table = Results(scores_of(2))
    shown = {
        kind: figures.correlations.draw(table, kind=kind).figure.axes[0].images[0]
        for kind in ("spearman", "pearson")
    }
    assert shown["spearman"].get_array()[0, 1] == pytest.approx(1)
    assert shown["pearson"].get_array()[0, 1] < 0.95


def test_a_map_where_all_is_sure_has_no_brackets():
    said = figures.correlations.draw(Results(scores_of(2))).figure.get_supxlabel()
    assert said == "Over 12 runs."


def test_the_page_has_maps_of_ranks_and_of_values(tmp_path):
    page, out = write(study(4), tmp_path)
    for name in ("correlations", "correlations-pearson"):
        assert {f"figures/{name}.{kind}" for kind in ("png", "svg", "csv")} <= set(page.links)
    alts = [image["alt"] for image in page.images]
    assert alts.count("Rank correlation of scores × 100 (Spearman)") == 1
    assert alts.count("Linear correlation of scores × 100 (Pearson)") == 1
    held = rows(out, "correlations-pearson")
    kept = [row for row in rows(out, "runs") if row["status"] == "done"]
    mig, recon = ([float(row[name]) for row in kept] for name in ("mig", "recon"))
    (own,) = (row for row in held if (row["first"], row["second"]) == ("mig", "recon"))
    assert float(own["pearson"]) == pytest.approx(stats.pearsonr(mig, recon)[0])


def test_many_scores_leave_one_map_open(tmp_path):
    n = SIDE_BY_SIDE + 1
    table = scores_of(n)
    listed = [{name: column[i] for name, column in table.items()} for i in range(RUNS)]
    text, out = write(listed, tmp_path, [f"s{i}" for i in range(n)])
    assert "Pearson’s correlations" in text.text
    assert (out / "figures" / "correlations-pearson.png").exists()


def test_the_map_of_latents_and_factors_has_their_shares(make_run):
    run = make_run(latents=4)
    (found,) = measure_latents(run)
    drawn = study_models.latent_shares(run, found, "a model")
    names = run.dataset.space.names
    every = torch.arange(len(run.dataset))
    factors = run.dataset.space.factors(every).numpy()
    known = explained_variance(run.codes().double().numpy(), factors)
    assert np.nanmax(known) > 0.1, "else there is nothing to see"
    assert [row["latent"] for row in drawn.rows[:: len(names)]] == [f"z{z}" for z in found.order]
    by = {(row["latent"], row["factor"]): row["share"] for row in drawn.rows}
    assert len(by) == 4 * len(names)
    (axes,) = drawn.figure.axes
    seen = {text.get_position()[::-1]: text.get_text() for text in axes.texts}
    for (i, z), (j, name) in itertools.product(enumerate(found.order), enumerate(names)):
        share = known[z, j]
        assert by[f"z{z}", name] == pytest.approx(share, abs=1e-6, nan_ok=True)
        assert seen[i, j] == ("–" if np.isnan(share) else f"{share:.0%}")
    assert [label.get_text() for label in axes.get_xticklabels()] == list(names)
    assert drawn.figure.get_suptitle().endswith("a model")
    drawn.figure.draw_without_rendering()
    box = drawn.figure._suptitle.get_window_extent()
    assert box.x1 <= drawn.figure.bbox.x1, "a title of any length stays in the picture"


@pytest.mark.slow
def test_models_of_a_page_have_the_map(tiny, tmp_path):
    small = {"seeds": "[0, 1]", "steps": 10, "grids": small_study.TWO_STRENGTHS}
    made = small_study.train(tmp_path / "study", tiny, **small)
    study_page.report(made.path, tmp_path / "page")
    page = Page((tmp_path / "page" / "index.html").read_text())
    assert "Factors that each latent follows" in page.text
    held = rows(tmp_path / "page", "model-beta_vae-factors")
    assert sum(image["alt"].startswith("Share of each latent") for image in page.images) == 1
    assert "figures/model-beta_vae-factors.csv" in page.links
    names = made.run(made.table()[0]["id"], device="cpu").dataset.space.names
    assert {row["factor"] for row in held} == set(names)
    assert {row["latent"] for row in held} == {"z0", "z1"}


def test_data_without_factors_has_no_such_map(make_run):
    run = make_run()
    space = FactorSpace(("index",), (len(run.dataset),), ("nominal",))
    context = replace(run.training.context, dataset=replace(run.dataset, space=space))
    bare = replace(run, training=replace(run.training, context=context))
    with pytest.raises(ConfigError, match="blocks has none"):
        study_models.latent_shares(bare, measure_latents(bare)[0], "a model")


@pytest.mark.slow
def test_a_page_of_data_without_factors_has_none(tmp_path):
    file = tmp_path / "bare.npz"
    np.savez(file, images=np.random.default_rng(0).integers(0, 255, (32, 8, 8), np.uint8))
    small = {"seeds": "[0]", "steps": 10, "grids": small_study.TWO_STRENGTHS, "metrics": "[]"}
    made = small_study.train(tmp_path / "study", file, **small)
    study_page.report(made.path, tmp_path / "page")
    page = Page((tmp_path / "page" / "index.html").read_text())
    assert "could not be drawn" not in page.text
    assert "factor" not in page.text.lower()
    assert not list((tmp_path / "page" / "figures").glob("*-factors.*"))
    assert "figures/model-beta_vae-posteriors.png" in page.links
