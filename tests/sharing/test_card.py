"""The model card says what is known of a model, and nothing that is not."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

import unknot
from unknot import objectives
from unknot.core import registry
from unknot.core.errors import ConfigError
from unknot.report.model.latents import Latents, measure_latents
from unknot.runs.records import Record
from unknot.sharing import card


@pytest.fixture(scope="module")
def run(tiny):
    return unknot.train(
        "arrays",
        objectives.BetaVAE(beta=2.0),
        "linear",
        latents=3,
        data_settings={"path": str(tiny)},
        steps=2,
        batch=8,
        device="cpu",
        progress=False,
    )


def text_of(run, records=(), **options):
    usual = {"license": "mit", "address": "hub:me/model", "errors": {"PyTorch": 1e-7}, "trials": 16}
    return card.card(run, measure_latents(run)[0], records, **(usual | options))


def section(text, name):
    return re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]


RECORD = Record(
    id="a",
    seed=0,
    metric="dci",
    protocol={"name": "study2019", "version": 3, "rows": 10_000, "seed": 7},
    values={"dci": 0.25, "dci.completeness": 0.5},
    ceiling=None,
    remarks=["2 of 3 codes | did not vary"],
    unknot="9.8.7",
)


def test_front_matter_is_that_of_the_hub(run):
    _, front, _ = text_of(run, license="cc-by-4.0").split("---\n", 2)
    assert front.splitlines() == [
        "license: cc-by-4.0",
        "library_name: unknot",
        "tags:",
        "- disentanglement",
        "- representation-learning",
        "- beta-vae",
    ]


def test_an_unnamed_license_is_unknown_and_said_to_be(run):
    text = text_of(run, license="unknown")
    assert "\nlicense: unknown\n" in text
    assert "Nobody has named one" in section(text, "License")


@pytest.mark.parametrize("license", ["MIT", "mit\ntags: x", "", "a b", None])
def test_other_words_are_no_license(license):
    with pytest.raises(ConfigError, match="identifier of the hub"):
        card.check_license(license)


@pytest.mark.parametrize("name", registry.names("objectives"))
def test_formula_and_paper_are_those_of_the_docstring(name):
    doc = registry.doc("objectives", name)
    text = card.objective_text(doc)
    formulas = re.findall(r"\$\$.*?\$\$", doc.partition("Paper:")[0], re.DOTALL)
    assert all(formula in text for formula in formulas)
    assert f"*Paper.* {registry.paper('objectives', name)}" in text.replace("\n", " ")
    assert not re.search(r"^(Paper|Equation|Differs):", text, re.MULTILINE)


def test_scores_come_with_protocol_version_and_remarks(run):
    scores = section(text_of(run, [RECORD]), "Scores")
    assert re.search(
        r"\| dci \| 0\.25 \| [\d.e-]+ \| study2019 v3 \| 10,000 \| 7 \| 2 of 3 codes \\\| did",
        scores,
    )
    assert re.search(
        r"\| dci.completeness \| 0\.5 \| [\d.e-]+ \| study2019 v3 \| 10,000 \|", scores
    )
    assert "unknot 9.8.7" in scores


def test_a_score_that_shuffled_codes_reach_is_no_better_than_chance(run):
    low, high = replace(RECORD, metric="mig", values={"mig": 0.001}), 0.9
    told = section(text_of(run, [low]), "Scores")
    assert re.search(r"^\| mig \| 0\.001 \|.*\| no better than chance;", told, re.MULTILINE)
    assert "no better" not in section(text_of(run, [replace(low, values={"mig": high})]), "Scores")
    # Where lower is better, or no factors are read, there is no such level.
    units = replace(RECORD, metric="active_units", values={"active_units": 0.0}, remarks=[])
    assert re.search(
        r"^\| active\\_units \| 0 \|  \|.*\|  \|$",
        section(text_of(run, [units]), "Scores"),
        re.MULTILINE,
    )


def test_a_model_that_draws_nothing_follows_no_factor(run):
    """Codes of any encoder vary with what is in the images; what is decoded is all the same."""
    first = run.dataset.space.names[0]
    latents = Latents(np.ones(3), np.zeros(3), np.ones(3), np.eye(3), contrast=0.5)
    usual = {"license": "mit", "address": "a", "errors": {}, "trials": 1}
    text = card.card(run, latents, [], **usual)
    assert f"| {card.escape(first)} | 100% |" in section(text, "Latents")
    text = card.card(run, replace(latents, contrast=0.001), [], **usual)
    assert "100%" not in section(text, "Latents")
    assert "draws the same for all images" in section(text, "What it is not good for")
    assert "follow" not in section(text, "What it is not good for")


def test_settings_and_factors_are_there_and_paths_are_not(run, tiny):
    text = text_of(run)
    assert "beta = 2.0" in section(text, "Training")
    assert str(tiny.parent) not in text
    rows = re.findall(r"^\| (\S+) \| 4 \| ordered \|$", section(text, "Data"), re.MULTILINE)
    assert len(rows) == 3
    assert 'unknot.load("hub:me/model")' in text


def limits(run, records=(RECORD,), **changes):
    latents = Latents(np.ones(3), np.zeros(3), np.ones(3), np.eye(3))
    return card.limits(run, replace(latents, **changes), records)


def test_a_model_that_follows_all_factors_is_not_said_to_lack_one(run):
    text = " ".join(limits(run))
    assert "inactive" not in text
    assert "follow" not in text


def test_inactive_latents_and_factors_that_none_follows_are_named(run):
    first, second, third = map(card.escape, run.dataset.space.names)
    explained = np.array([[0.9, 0.0, 0.0], [0.1, 0.15, 0.1], [0.0, 0.0, 0.9]])
    text = limits(run, kl=np.array([1.0, 1.0, 0.01]), explained=explained)
    assert any(line.startswith("z2 is inactive") for line in text)
    (lost,) = [line for line in text if line.startswith("No latent follows")]
    assert (first in lost, second in lost, third in lost) == (False, True, True)
    assert "z1 follows no factor clearly." in text


def test_what_was_not_looked_at_is_said(run):
    text = " ".join(limits(run, records=()))
    assert "not scored" in text
    assert "No images were held out" in text
    assert "seed 0" in text
    assert "not scored" not in " ".join(limits(run))
    faint = " ".join(limits(run, contrast=0.2))
    assert "Reconstructions have 20% of the variance of the images" in faint


def test_data_without_factors_or_that_is_not_there(run, tmp_path):
    images = torch.rand(16, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    settings = {"steps": 2, "batch": 4, "progress": False, "device": "cpu"}
    plain = unknot.train(images, "vae", "linear", out=tmp_path / "run", **settings)
    assert "nothing says what its latents mean" in text_of(plain)
    assert "share" not in section(text_of(plain), "Latents")
    gone = unknot.load(tmp_path / "run", device="cpu")
    assert not gone.has_data
    text = text_of(gone)
    assert "latents are those of the prior" in section(text, "Latents")
    assert "the data was not there" in section(text, "What it is not good for")


def test_names_from_anywhere_are_no_markdown(make_run, frame):
    run = make_run(frame.rename(columns={"gene 0": "<b>|`"}), objectives.VAE(likelihood="poisson"))
    assert "<b>" not in text_of(run)
