"""Pages of studies whose scores say nothing: collapsed models, one factor, no labels."""

import json

import numpy as np
import pytest
from report import small_study
from report.study_pages import Page

from unknot.report.study import chance
from unknot.report.study import page as study_page
from unknot.report.study.chance import chance_levels
from unknot.report.study.references import reference_levels
from unknot.report.study.source import read


def images(folder, **arrays):
    """Sixteen pictures of a bright corner, with these factors."""
    x, y = np.divmod(np.arange(16), 4)
    pictures = np.zeros((16, 8, 8, 1), np.uint8)
    for i in range(16):
        pictures[i, 2 * x[i] :, 2 * y[i] :] = 250
    path = folder / "images.npz"
    np.savez(path, images=pictures, **arrays)
    return path


def page_of(made, folder):
    study_page.report(made.path, folder)
    return Page((folder / "index.html").read_text())


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("UNKNOT_CACHE", str(folder))
    return folder


COLLAPSING = """
        [[grid]]
        objective.name = "beta_vae"
        objective.beta = [1, 100_000]
        optim.lr = 0.01
"""


def test_collapsed_models_are_counted_and_never_best(tmp_path, monkeypatch):
    # As if no score were at chance: what is left is what collapsed.
    monkeypatch.setattr(chance, "with_chance", lambda study, results, say: (results, {}))
    grid = np.stack(np.divmod(np.arange(16), 4), 1)
    path = images(tmp_path, factors=grid, names=np.array(["x", "y"]))
    made = small_study.train(tmp_path / "study", path, seeds="[0, 1]", steps=300, grids=COLLAPSING)
    rows = {row["objective.beta"]: row for row in made.table()}
    assert rows[100_000]["kl"] < 0.05 < rows[1]["kl"]
    assert rows[100_000]["contrast"] < 0.01 < rows[1]["contrast"]
    page = page_of(made, tmp_path / "page")
    assert "2 of 4 runs collapsed: their codes carry no information." in page.text
    assert "2 collapsed" in page.text, "beside the configuration"
    assert "beta_vae beta 100,000 has the highest" not in page.text
    assert "Best mean of each score" not in page.text, "of one configuration that can be compared"
    assert "Best of 2 seeds" in page.text, "of the configuration that is sound"
    both = {f"figures/model-beta_vae{end}-reconstructions.png" for end in ("", "-best")}
    assert both <= {*page.links}, "its median and its best model"


def test_a_page_of_collapsed_models_alone_has_no_best_and_no_order(tmp_path):
    grid = np.stack(np.divmod(np.arange(16), 4), 1)
    path = images(tmp_path, factors=grid, names=np.array(["x", "y"]))
    made = small_study.train(
        tmp_path / "study", path, seeds="[0, 1]", steps=60, metrics='["mig", "sap", "dci"]',
        grids=COLLAPSING.replace("[1, 100_000]", "[1e4, 3e4, 1e5, 3e5, 1e6]"),
    )  # fmt: skip
    assert all(row["kl"] < 0.05 for row in made.table())
    page = page_of(made, tmp_path / "page")
    assert "all configurations are collapsed, blank or at chance, so none is best." in page.text
    for claim in ("Scores order", "Best of", "Median of", "The seed alone", "has the highest"):
        assert claim not in page.text.replace("Which of 5 configurations has the highest", "")
    for title in ("Best mean of each score", "Which swept value is best"):
        assert title not in page.text
    assert "One of 2 seeds" in page.text
    assert "collapsed, blank or at chance)" in page.text


def test_chance_levels_are_measured_once(tmp_path, cache):
    grid = np.stack(np.divmod(np.arange(16), 4), 1)
    path = images(tmp_path, factors=grid, names=np.array(["x", "y"]))
    made = small_study.train(tmp_path / "study", path, seeds="[0]", steps=10)
    results, said = read(made.path).results, []
    marks, levels = chance_levels(made, results, said.append)
    assert said == ["measuring the chance level of mig"]
    (file,) = cache.glob("chance-*.json")
    assert levels[results.table["data"][0]]["mig"] == json.loads(file.read_text())["mig"]["level"]
    low = json.loads(file.read_text())["mig"]["limit"]
    assert marks == ["mig" if mig <= low else "" for mig in results.table["mig"]]
    assert chance_levels(made, results, said.append) == (marks, levels)
    assert len(said) == 1
    file.write_text("{]")
    assert chance_levels(made, results, said.append) == (marks, levels)
    assert len(said) == 2, "a damaged file is measured again"


def test_one_factor_is_grey_with_the_reason(tmp_path):
    path = images(tmp_path, factors=np.arange(16)[:, None], names=np.array(["step"]))
    made = small_study.train(tmp_path / "study", path, seeds="[0, 1]", steps=10)
    page = page_of(made, tmp_path / "page")
    assert "Nothing is best by mig: one factor: there is nothing to separate it from." in page.text
    assert "has the highest mig" not in page.text
    assert 'class="mute"' in (tmp_path / "page" / "index.html").read_text()


def test_pages_without_labels_have_no_word_of_factors(tmp_path):
    made = small_study.train(
        tmp_path / "study", images(tmp_path), seeds="[0, 1]", steps=10,
        metrics='["mig", "active_units"]', grids=small_study.TWO_STRENGTHS,
    )  # fmt: skip
    page = page_of(made, tmp_path / "page")
    assert "do not apply" in page.text
    assert "the one with the best recon" in page.text, "more active latents are no better"
    (reason,) = made.store.remarks()["mig"]
    text = page.text.replace(reason, "").lower()
    for word in ("factor", "disentangle", "distances along"):
        assert word not in text, text[text.find(word) - 80 : text.find(word) + 80]
    files = {path.name for path in (tmp_path / "page" / "figures").iterdir()}
    assert not [name for name in files if "factors" in name or "distances" in name]


def test_codes_that_nobody_trained_stand_below_the_models(tmp_path, cache):
    grid = np.stack(np.divmod(np.arange(16), 4), 1)
    path = images(tmp_path, factors=grid, names=np.array(["x", "y"]))
    made = small_study.train(tmp_path / "study", path, seeds="[0]", steps=10)
    results, said = read(made.path).results, []
    (levels,) = reference_levels(made, results, said.append).values()
    scores = {level.name: level.values["mig"] for level in levels}
    assert {"the factors themselves", "pixels", "untrained network"} <= set(scores)
    assert scores["the factors themselves"] == max(scores.values())
    assert said[0] == "measuring the factors themselves"
    again = []
    (kept,) = reference_levels(made, results, again.append).values()
    assert ([b.values for b in kept], again) == ([b.values for b in levels], []), "from the cache"
    page = page_of(made, tmp_path / "page")
    assert "untrained network" in page.text
