"""The page of a study: that it holds together, says what is true, and has nothing empty on it."""

import csv
import html.parser
import itertools
import json
import re

import numpy as np
import pytest
from metrics import study2019
from report import small_study

from unknot.core.errors import ConfigError, DataError, StoreError
from unknot.metrics.seeds import seeds_needed
from unknot.report import (
    study_curves,
    study_factors,
    study_models,
    study_page,
    study_seeds,
    study_source,
)
from unknot.report.study_blocks import brief
from unknot.report.study_curves import bands, training_curves
from unknot.report.thresholds import pair_deltas
from unknot.study.cells import cells, taken
from unknot.study.events import Failed
from unknot.study.export import csv as as_csv

KINDS = ("png", "svg", "csv")
OBJECTIVES = {"beta_vae": "beta", "dip_vae_i": "lambda_od"}
STRENGTHS = (1.0, 4.0, 16.0)


def study(seeds, *, data="dsprites", shift=0.0):
    """Six settings with scores that grow and losses that grow faster; the last run diverged."""
    rng = np.random.default_rng(0)
    rows = []
    for (i, (name, axis)), (k, strength), seed in itertools.product(
        enumerate(OBJECTIVES.items()), enumerate(STRENGTHS), range(seeds)
    ):
        noise = rng.normal(size=4)
        rows.append(
            {
                "id": f"{data}-{len(rows)}",
                "data": data,
                "objective": name,
                f"objective.{axis}": strength,
                "seed": seed,
                "status": "done",
                "mig": 0.1 + 0.05 * k + 0.02 * i + 0.02 * noise[0] + shift,
                "dci.disentanglement": 0.2 + 0.04 * k + 0.03 * noise[1],
                "recon": 20 * 1.4**k + 2 * i + noise[2],
                "kl": 40 / 1.3**k + i + 0.3 * noise[3],
            }
        )
    rows[-1] |= {"status": "diverged", "mig": 1e6, "kl": 1e6}
    return rows


class Page(html.parser.HTMLParser):
    """What a page refers to, and its words."""

    def __init__(self, text):
        super().__init__()
        self.images, self.links, self.ids, self.words, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        own = dict(attrs)
        self.open.append(tag)
        if tag == "img":
            self.images.append(own)
        if "href" in own:
            self.links.append(own["href"])
        if "id" in own:
            self.ids.append(own["id"])
        assert "src" not in own or own["src"].startswith("data:image/"), "needs no other file"

    def handle_endtag(self, tag):
        self.open.append(f"/{tag}")

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


def write(table, folder, scores=None, **options):
    """The page of a table, from a CSV file as people have them."""
    file = folder / "table.csv"
    file.write_text(as_csv(table))
    out = folder / "page"
    study_page.report(file, out, scores=scores, **options)
    return Page((out / "index.html").read_text()), out


def rows(out, name):
    with (out / "figures" / f"{name}.csv").open() as opened:
        return list(csv.DictReader(opened))


def one_cell(n=1, **more):
    return [{"objective": "vae", "seed": i, "mig": 0.1 * (i + 1), **more} for i in range(n)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Six settings of four seeds, one of which diverged."""
    return write(study(4), tmp_path_factory.mktemp("whole"))


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
    files = {path.name for path in (out / "figures").iterdir()}
    drawn = {name.removesuffix(".png") for name in files if name.endswith(".png")}
    assert {"spread", "strength", "rate-distortion", "correlations", "shares"} <= drawn
    assert len(drawn) == len(page.images)
    for name in drawn:
        assert {f"{name}.{kind}" for kind in KINDS} <= files
        assert rows(out, name), "the numbers behind a figure are never empty"
    assert len(rows(out, "runs")) == 6 * 4


def test_what_is_missing_is_counted(whole):
    page, _ = whole
    assert "24 runs: 2 objectives in 6 settings, 4 seeds each, on dsprites." in page.text
    assert "1 diverged of 24 runs: counted, shown, not averaged." in page.text
    (summary,) = (
        row
        for row in rows(whole[1], "summary")
        if (row["objective"], row["strength"], row["score"]) == ("dip_vae_i", "16.0", "mig")
    )
    assert (summary["runs"], summary["n"], summary["diverged"]) == ("4", "3", "1")
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
    sentence = re.search(
        rf"{objective} \w+ {float(strength):g} has the best mean of ([^.]*)", page.text
    )
    assert "mig" in sentence.group(1)


def test_settings_that_tie_are_not_told_apart(tmp_path):
    table = [
        {"objective": "vae", "objective.beta": beta, "seed": seed, "mig": 0.5 if beta > 1 else 0.1}
        for beta in (1, 2, 4)
        for seed in range(2)
    ]
    page, _ = write(table, tmp_path)
    assert "2 settings alike have the best mean of mig." in page.text


def test_a_table_of_one_run(tmp_path):
    page, out = write(one_cell(), tmp_path)
    assert "1 run: vae in 1 setting, 1 seed." in page.text
    assert "One seed of each setting" in page.text
    assert [path.stem for path in (out / "figures").glob("*.png")] == ["spread"]
    assert "could not be drawn" not in page.text


def test_one_setting_of_several_seeds(tmp_path):
    page, out = write(one_cell(5), tmp_path)
    assert "vae in 1 setting, 5 seeds" in page.text
    assert {path.stem for path in (out / "figures").glob("*.png")} == {"spread", "cumulative"}
    assert "could not be drawn" not in page.text


def test_one_seed_of_each_setting_claims_nothing_about_chance(tmp_path):
    page, out = write(study(1)[:-1], tmp_path)
    assert "One seed of each setting" in page.text
    assert "The seed alone" not in page.text
    assert not (out / "figures" / "shares.png").exists()
    assert not (out / "figures" / "seeds.csv").exists()
    assert "could not be drawn" not in page.text


@pytest.mark.slow
def test_scores_that_some_cells_lack(tmp_path):
    table = study(3)
    for row in table:
        if row["objective"] == "beta_vae":
            row["mig"] = None
        row.pop("recon")
    page, out = write(table, tmp_path, ["mig", "dci.disentanglement"])
    assert "9 scores of ended runs are undefined." in page.text
    assert not list((out / "figures").glob("trade-off*"))
    assert {row["better"].split()[0] for row in rows(out, "seeds") if row["score"] == "mig"} == {
        "dip_vae_i"
    }


def test_a_score_that_never_varies(tmp_path):
    table = [{**row, "mig": 0.5} for row in study(3)]
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
    means = [
        np.mean([float(r["mean"]) for r in rows(out, f"{data}-summary") if r["score"] == "mig"])
        for data in ("dsprites", "cars3d")
    ]
    assert means[1] - means[0] == pytest.approx(0.1, abs=0.02)


def test_two_values_of_a_setting_are_back_to_back(tmp_path):
    table = [
        {"objective": "vae", "steps": steps, "seed": i, "mig": 0.1 * i + steps / 1000}
        for steps in (10, 20)
        for i in range(4)
    ]
    _, out = write(table, tmp_path)
    assert len(rows(out, "split-steps")) == 8


def test_settings_of_two_axes_are_no_line(tmp_path):
    table = [
        {"objective": "vae", "objective.beta": beta, "optim.lr": lr, "seed": seed,
         "mig": 0.1 * beta + lr + 0.01 * seed}
        for beta in (1, 2) for lr in (0.1, 0.2) for seed in range(2)
    ]  # fmt: skip
    page, out = write(table, tmp_path)
    assert not (out / "figures" / "strength.png").exists()
    assert "vae beta 2, optim.lr 0.2 has the best mean of mig." in page.text


def test_words_from_outside_are_no_code(tmp_path):
    table = one_cell(3, **{"objective.kind": "<script>alert(1)</script>"})
    page, _ = write(table, tmp_path)
    assert page.open.count("script") == 1
    assert "<script>alert(1)</script>" in page.text or "vae" in page.text


@pytest.mark.slow
def test_published_values_beside_ours(tmp_path):
    ours, theirs = tmp_path / "ours.csv", tmp_path / "theirs.csv"
    ours.write_text(as_csv(study(6, shift=0.5)))
    theirs.write_text(as_csv(study(6)))
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
    theirs.write_text(as_csv([{**row, "objective": "vae"} for row in one_cell(3)]))
    page, _ = write([{**row, "objective": "ae"} for row in one_cell(3)], tmp_path, published=theirs)
    assert "No setting here is in that table" in page.text


# Numbers of seeds


def test_all_pairs_are_what_one_at_a_time_gives():
    found = cells(study(6))
    pairs = {
        (r["better"], r["worse"]): r for r in study_seeds.every_pair(found, "recon", draws=500)
    }
    assert len(pairs) == 6 * 5 / 2
    by_label = {cell.label: taken(cell.runs, "recon").values for cell in found}
    for a, b in (
        ("beta_vae beta 1", "beta_vae beta 16"),
        ("beta_vae beta 1", "dip_vae_i lambda_od 1"),
    ):
        one = seeds_needed(by_label[a], by_label[b], draws=500, most=10)
        assert [pairs[a, b][f"n={n}"] for n in study_seeds.AT] == [
            one.probability[n - 1] for n in study_seeds.AT
        ]


def test_contrasts_put_the_better_first():
    for better, worse in study_seeds.contrasts(cells(study(3)), "recon"):
        means = [taken(cell.runs, "recon").values.mean() for cell in (better, worse)]
        assert means[0] <= means[1], "of recon less is better"


# Where runs come from


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("objective,seed\nvae,0\n", ConfigError, "no scores"),
        ("mig,seed\n0.1,0\n", ConfigError, "'objective'"),
        ("objective,mig\n", DataError, "no rows"),
        ("objective,mig\nvae,0.1,7\n", DataError, "longer"),
        ("objective,mig,status\nvae,0.1,diverged\n", ConfigError, "no scores"),
    ],
)
def test_tables_that_make_no_page(tmp_path, text, error, said):
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(error, match=said) as raised:
        study_source.read(file)
    assert "\n" not in str(raised.value)


def test_folders_without_runs(tmp_path):
    with pytest.raises(StoreError, match="neither a study"):
        study_source.read(tmp_path)
    with pytest.raises(StoreError, match="There is no study"):
        study_source.read(tmp_path / "nowhere")


def test_scores_are_told_from_what_training_logs(tmp_path):
    file = tmp_path / "table.csv"
    table = [
        {"objective": "vae", "seed": i, "recon": 3.0, "tc": 1.0, "mig": 0.1 + i, "mig.train": 0.2,
         "dci": 0.3, "dci.disentanglement": 0.3, "dci.completeness": 0.4}
        for i in range(3)
    ]  # fmt: skip
    file.write_text(as_csv(table))
    source = study_source.read(file)
    assert source.scores == ("mig", "dci", "dci.completeness"), "no part twice, no term"
    assert set(source.others) == {"recon", "tc", "mig.train", "dci.disentanglement"}
    with pytest.raises(ConfigError, match="mig"):
        study_source.read(file, ["mgi"])


def test_a_number_for_people():
    assert brief(0.0004) == "0.000"
    assert brief(float("inf")) == "∞"


# Models of a study


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "small"
    return small_study.train(folder, tiny)


@pytest.fixture(scope="module")
def page_of_study(trained, tmp_path_factory):
    out = tmp_path_factory.mktemp("page")
    study_page.report(trained.path, out)
    return Page((out / "index.html").read_text()), out


@pytest.mark.slow
def test_the_page_of_a_study_shows_its_models(trained, page_of_study):
    page, out = page_of_study
    assert "9 runs: 2 objectives in 3 settings, 3 seeds each" in page.text
    assert "40 steps of 8 images" in page.text
    assert "small <study>" in page.text
    assert "on cpu" in page.text
    best = study_models.chosen(cells(trained.table()), "mig")
    assert [one.cell.objective for one in best] == ["beta_vae", "beta_tcvae"]
    for one in best:
        assert one.id in page.text
        for kind in ("posteriors", "aggregate", "distances", "clouds", "thresholds", "latents"):
            assert rows(out, f"model-{one.cell.objective}-{kind}")
    named = {link.removeprefix("figures/") for link in page.links}
    assert {path.name for path in (out / "figures").iterdir()} <= named, "no file goes unseen"
    assert named - {""} <= {path.name for path in (out / "figures").iterdir()} | {
        link for link in page.links if link.startswith(("#", "data:"))
    }
    assert page.text.count("Reconstructions") == 2
    assert sum("moves from low to high" in image["alt"] for image in page.images) == 2 * 3


def test_curves_are_medians_and_ranges_over_seeds(trained):
    own = [cell for cell in cells(trained.table()) if cell.objective == "beta_vae"]
    drawn = training_curves(own, bands(trained, own))
    held = [r for r in drawn.rows if (r["strength"], r["term"]) == (4.0, "recon")]
    curves = [trained.curves(name) for name in own[1].runs["id"]]
    assert [r["step"] for r in held] == curves[0].steps
    values = np.stack([c["recon"][:, 0].numpy() for c in curves])
    for name, expected in (
        ("low", values.min(0)), ("median", np.median(values, 0)), ("high", values.max(0)),
    ):  # fmt: skip
        assert [r[name] for r in held] == pytest.approx(expected.tolist())
    assert {r["seeds"] for r in held} == {3}
    assert [axes.get_title(loc="left") for axes in drawn.figure.axes] == ["loss", "recon", "kl"]


def test_curves_of_a_population_are_read_once(trained, monkeypatch):
    read = []
    true = study_curves.read_weights
    monkeypatch.setattr(study_curves, "read_weights", lambda file: read.append(file) or true(file))
    own = cells(trained.table())
    bands(trained, own)
    populations = {row["population"] for row in trained.table()}
    assert len(populations) < len(trained.table())
    assert sorted(file.parent.name for file in read) == sorted(populations)


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
    (one,) = study_models.chosen(cells([*good, *bad]), score)
    assert one.id.startswith("a")
    # 0.1 0.2 0.5 0.6 0.9: odd, so that there is one in the middle, whichever way is better.
    assert (one.seed, one.value) == (3, 0.5)


def test_differences_are_how_far_pixels_are_off(trained):
    run = trained.run(trained.table()[0]["id"], device="cpu")
    image, model, off = study_models.with_differences(run, 4)
    assert (off == np.abs(image.astype(int) - model.astype(int))).all()
    data, drawn, apart = study_models.mean_images(run).astype(int)
    assert np.abs(np.abs(data - drawn) - apart).max() <= 1, "rounding alone"


def test_numbers_behind_clouds_and_thresholds(trained):
    run = trained.run(trained.table()[0]["id"], device="cpu")
    drawn = dict(study_factors.along_factors(run, "a model"))
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


def test_a_study_of_which_no_run_has_ended(tiny, tmp_path):
    def nobody(tasks):
        yield from (Failed(task.key, "no room on the disk") for task in tasks)

    small_study.train(tmp_path / "study", tiny, pool=nobody)
    with pytest.raises(StoreError, match="has ended yet"):
        study_source.read(tmp_path / "study")


@pytest.mark.slow
def test_a_study_without_scores_shows_its_losses(tiny, tmp_path):
    made = small_study.train(tmp_path / "study", tiny, metrics="[]", seeds="[0]", steps=10)
    study_page.report(made.path, tmp_path / "page")
    page = Page((tmp_path / "page" / "index.html").read_text())
    assert "has the best mean of recon" in page.text
    assert "could not be drawn" not in page.text


# The published study: numbers that are known of it


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
        if (r["objective"], r["strength"], r["score"]) == ("beta_vae", "16.0", "mig")
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
    assert "1,800 runs: 6 objectives in 36 settings, 50 seeds each, on dsprites." in page.text
    assert json.dumps(page.links).count("://") == 0
