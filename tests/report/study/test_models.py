"""The page of a trained study: its curves, and pictures of its models."""

import itertools
import re

import numpy as np
import pytest
from analysis.tables import configurations
from report import small_study
from report.study_pages import Page, rows

from unknot.analysis import Results
from unknot.report.data.thresholds import pair_deltas
from unknot.report.model import pictures
from unknot.report.study import models as study_models
from unknot.report.study import page as study_page
from unknot.report.study import typical_runs as stand_ins
from unknot.report.study.figures import training
from unknot.report.study.glances import describe_models
from unknot.runs import folder


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    return small_study.train(tmp_path_factory.mktemp("study") / "small", tiny)


@pytest.fixture(scope="module")
def page_of_study(trained, tmp_path_factory):
    out = tmp_path_factory.mktemp("page")
    study_page.report(trained.path, out)
    return Page((out / "index.html").read_text()), out


@pytest.mark.slow
def test_the_page_of_a_study_shows_its_models(trained, page_of_study):
    page, out = page_of_study
    assert "9 runs: 2 objectives in 3 configurations, 3 seeds each" in page.text
    assert "40 steps of 8 images" in page.text
    assert "small <study>" in page.text
    assert "on cpu" in page.text
    best = stand_ins.typical_runs(configurations(trained.table()), "mig")
    assert [one.configuration.objective for one in best] == ["beta_vae", "beta_tcvae"]
    for one in best:
        assert one.id in page.text
        for kind in (
            "posteriors", "aggregate", "ellipses", "covariances", "factors", "distances", "clouds",
            "thresholds", "latents",
        ):  # fmt: skip
            assert rows(out, f"model-{one.configuration.objective}-{kind}")
    named = {link.removeprefix("figures/") for link in page.links}
    assert {path.name for path in (out / "figures").iterdir()} <= named, "no file goes unseen"
    assert named - {""} <= {path.name for path in (out / "figures").iterdir()} | {
        link for link in page.links if link.startswith(("#", "data:", "specs.html", "study.toml"))
    }
    shown = 0
    for one in best:  # the best and the median model, where these are two
        sound = f"{one.configuration.label} (collapsed, blank or at chance)" not in page.text
        roles = {stand_ins.best_run(one, "mig").id, one.id} if sound else {one.id}
        files = {f"model-{one.configuration.objective}{end}-reconstructions.png"
                 for end in ("", "-best")[: len(roles)]}  # fmt: skip
        assert {f"figures/{name}" for name in files} <= {*page.links}
        shown += len(roles)
    alts = [image["alt"] for image in page.images]
    assert alts.count("Images and their reconstructions") == shown >= len(best)
    assert sum("moves from low to high" in alt for alt in alts) == 2 * shown


@pytest.mark.slow
def test_the_verdict_comes_first_then_pictures_then_tables_then_the_rest(page_of_study):
    _, out = page_of_study
    text = (out / "index.html").read_text()
    order = [
        'class="question">Which of 3 configurations has the highest mig on arrays?',
        'class="verdict"', "moves from low to high", "and their reconstructions",
        "All configurations</h2>", "How scores spread over seeds</h2>",
        "Training</h2>", "How to read this page</h2>",
    ]  # fmt: skip
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    folded = re.findall(r'<details class="fold"><summary><h2>(.*?)</h2>', text)
    assert "How scores spread over seeds" in folded
    assert "Training" in folded
    assert "All configurations" not in folded


def test_curves_are_medians_and_ranges_over_seeds(trained):
    own = [cell for cell in configurations(trained.table()) if cell.objective == "beta_vae"]
    drawn = training.draw(own, training.bands(trained, own), 50)
    held = [r for r in drawn.rows if (r["swept_value"], r["term"]) == (4.0, "recon")]
    curves = [trained.curves(name) for name in own[1].runs["id"]]
    assert [r["step"] for r in held] == curves[0].steps
    values = np.stack([c["recon"][:, 0].numpy() for c in curves])
    for name, expected in (
        ("low", values.min(0)), ("median", np.median(values, 0)), ("high", values.max(0)),
    ):  # fmt: skip
        assert [r[name] for r in held] == pytest.approx(expected.tolist())
    assert {r["seeds"] for r in held} == {3}
    assert [axes.get_title(loc="left") for axes in drawn.figure.axes] == ["loss", "recon", "kl"]
    note = drawn.figure.legends[0].get_title().get_text()
    assert note.startswith(f"{len(own)} of 50 configurations.")


def test_of_many_configurations_evenly_spread_ones_are_drawn():
    assert training._choose([*range(5)]) == [*range(5)]
    assert training._choose([*range(50)]) == [0, 4, 9, 13, 18, 22, 27, 31, 36, 40, 45, 49]


def test_curves_of_a_population_are_read_once(trained, monkeypatch):
    read = []
    true = folder.RunFolder
    monkeypatch.setattr(folder, "RunFolder", lambda path: read.append(path) or true(path))
    own = configurations(trained.table())
    training.bands(trained, own)
    populations = {row["population"] for row in trained.table()}
    assert len(populations) < len(trained.table())
    assert sorted(path.name for path in read) == sorted(populations)


@pytest.mark.parametrize("score", ["mig", "recon"])
def test_the_model_in_the_middle_stands_for_the_best_setting(score):
    values = [0.9, 0.2, 0.6, 0.5, None, 0.1]
    good = [
        {"id": f"a{i}", "objective": "vae", "objective.beta": 1, "seed": i, "status": "done",
         score: v} for i, v in enumerate(values)
    ]  # fmt: skip
    shift = -1 if score == "mig" else 1
    bad = [
        {**row, "id": f"b{i}", "objective.beta": 2,
         score: None if row[score] is None else row[score] + shift}
        for i, row in enumerate(good)
    ]  # fmt: skip
    (one,) = stand_ins.typical_runs(configurations([*good, *bad]), score)
    assert one.id.startswith("a")
    # 0.1 0.2 0.5 0.6 0.9: odd, so that there is one in the middle, whichever way is better.
    assert (one.seed, one.value) == (3, 0.5)


def test_differences_are_how_far_pixels_are_off(trained):
    run = trained.run(trained.table()[0]["id"], device="cpu")
    image, model, off = pictures.with_differences(run, n=4)
    assert (off == np.abs(image.astype(int) - model.astype(int))).all()
    data, drawn, apart = pictures.mean_images(run).astype(int)
    assert np.abs(np.abs(data - drawn) - apart).max() <= 1, "rounding alone"


def test_numbers_behind_clouds_and_thresholds(trained):
    run = trained.run(trained.table()[0]["id"], device="cpu")
    drawn = dict(study_models.along_factors(run, "a model"))
    assert list(drawn) == ["distances", "clouds", "thresholds"]
    names = list(run.dataset.space.names)
    codes = run.codes().double().numpy()
    for factor, own in itertools.groupby(drawn["clouds"].rows, key=lambda row: row["factor"]):
        held = list(own)
        place = names.index(factor)
        grid = codes.reshape(*run.dataset.space.sizes, -1)
        away = grid - grid.mean(place, keepdims=True)
        first = int(held[0]["first"].removeprefix("z"))
        # Points lie about the middles of lines along the factor.
        points = np.array([row["x"] for row in held])
        assert np.abs(points[:, None] - away[..., first].ravel()).min(1).max() < 1e-5
        steps = np.linspace(0, 1, run.dataset.space.sizes[place])
        assert sorted({row["value"] for row in held}) == pytest.approx(steps.tolist())
    for factor, own in itertools.groupby(drawn["thresholds"].rows, key=lambda row: row["factor"]):
        apart = {row["latent"]: row["distance"] for row in own}
        assert apart == pytest.approx(
            {f"z{z}": float(d) for z, d in enumerate(pair_deltas(run)[factor])}
        )
    shared = {(r["distance"] < (max_ + min_) / 2) == r["shared"]
              for factor in names
              for own in [[r for r in drawn["thresholds"].rows if r["factor"] == factor]]
              for max_, min_ in [(max(r["distance"] for r in own), min(r["distance"] for r in own))]
              for r in own}  # fmt: skip
    assert shared == {True}


@pytest.mark.slow
def test_a_study_without_scores_shows_its_losses(tiny, tmp_path):
    small = {"seeds": "[0]", "steps": 10, "grids": small_study.TWO_STRENGTHS}
    made = small_study.train(tmp_path / "study", tiny, metrics="[]", **small)
    study_page.report(made.path, tmp_path / "page")
    page = Page((tmp_path / "page" / "index.html").read_text())
    assert "Nothing is best by recon, kl and loss: a loss of different objectives" in page.text
    assert "has the lowest" not in page.text
    assert "figures/rate-distortion.png" in page.links
    assert "could not be drawn" not in page.text


def test_what_is_said_of_the_models_that_are_shown_is_no_more_than_why():
    rows = [
        {"objective": "vae", "objective.beta": beta, "seed": s, "mig": 0.1, "recon": 9.0}
        for beta in (1, 4)
        for s in range(3)
    ]
    results = Results(rows, ["mig"], losses=["recon"])
    said = describe_models(results, "mig", unlabelled=False)
    assert said.startswith("Of each objective the configuration with the best mean of mig, and of")
    assert said.endswith("The median model is a typical one.")
    loss = describe_models(results, "recon", unlabelled=False)
    assert "That makes no configuration the best: a loss of different objectives" in loss
    alone = Results([row for row in rows if row["seed"] == 0], ["mig"])
    assert describe_models(alone, "mig", unlabelled=False) == (
        "Of each objective the configuration with the best mig, by one seed each."
    )
    chosen = describe_models(results, "recon", unlabelled=True)
    assert chosen.startswith("The configurations that a criterion without labels would choose, and")
    assert "no configuration the best" not in chosen


def test_no_collapsed_model_is_called_the_best_of_its_seeds():
    rows = [
        {"objective": name, "seed": seed, "mig": 0.1, "kl": kl}
        for name, kl in (("vae", 9.0), ("beta_vae", 0.001))
        for seed in range(2)
    ]
    said = describe_models(Results(rows, ["mig"]), "mig", unlabelled=False)
    assert said.startswith("Of each objective the configuration with the best mean of mig, and of")
    assert said.endswith(
        "Of objectives that are collapsed, blank or at chance throughout one model is shown, and "
        "none is best."
    )
    all_collapsed = Results([{**row, "kl": 0.001} for row in rows], ["mig"])
    assert describe_models(all_collapsed, "mig", unlabelled=False) == (
        "Of each objective one model: all are collapsed, blank or at chance by mig, so none is "
        "best."
    )
