"""Pages of data without labels: what each criterion would choose, and what it cannot tell."""

import csv

import numpy as np
import pytest
import torch
from report import small_study
from report.study_pages import Page
from torch.distributions import Normal, kl_divergence

from unknot.analysis import Results
from unknot.metrics.udr import udr
from unknot.report.study import page as study_page
from unknot.report.study import without_labels
from unknot.report.study.without_labels import (
    LOSS,
    RANKS,
    UDR,
    Unlabelled,
    choices,
    describe_choices,
    measure_unlabelled,
    question_and_answer,
    total_loss,
)


def results_of(losses, kl=5.0, **more):
    """A configuration for each beta, with these losses over seeds."""
    return Results(
        [
            {"objective": "beta_vae", "objective.beta": beta, "objective.likelihood": "bernoulli",
             "seed": seed, "status": "done", "recon": loss - kl, "kl": kl, **more}
            for beta, of_beta in losses.items()
            for seed, loss in enumerate(of_beta)
        ],
        ["recon"],
    )  # fmt: skip


def known(results, udr_of, ranks_of):
    """What is measured of the configurations, with these values."""
    pairs = zip(results.configurations, udr_of, ranks_of, strict=True)
    return [
        Unlabelled(c, ("a", "b"), (3, 3), 4, tuple(udr), tuple(ranks)) for c, udr, ranks in pairs
    ]


def test_each_criterion_chooses_by_its_own_value():
    results = results_of({1.0: [20.0, 21.0], 4.0: [30.0, 31.0], 16.0: [50.0, 51.0]})
    measured = known(results, [(0.2, 0.3), (0.6, 0.7), (0.4, 0.5)], [(0.1,), (0.2,), (0.9,)])
    chosen = choices(results, measured)
    assert {name: choice.label for name, choice in chosen.items()} == {
        LOSS: "beta_vae beta 1", UDR: "beta_vae beta 4", RANKS: "beta_vae beta 16",
    }  # fmt: skip
    assert chosen[UDR].id == "b", "the model that the others agree with most"
    assert "separate it from all others" in chosen[LOSS].sure
    text = describe_choices(results, measured)
    assert text.startswith("The loss recon + kl would choose beta_vae beta 1, UDR would choose")
    assert "They disagree." in text
    assert "nothing says which configuration is best" in text
    same = known(results, [(0.9, 0.9), (0.6, 0.7), (0.4, 0.5)], [(0.9,), (0.2,), (0.1,)])
    assert "They agree." in describe_choices(results, same)


def test_seeds_that_overlap_decide_nothing():
    results = results_of({1.0: [20.0, 31.0], 4.0: [21.0, 30.0]})
    assert "do not separate it from 1 other" in choices(results, [])[LOSS].sure
    measured = known(results, [(0.2, 0.4), (0.3, 0.5)], [(0.2, 0.3), (0.4, 0.5)])
    chosen = choices(results, measured)
    assert chosen[UDR].sure == "its models overlap with those of 1 other"
    assert chosen[RANKS].sure == "its models are above all others"
    alike = known(results, [(0.2, 0.4), (0.3, 0.5)], [(0.0991, 0.0992), (0.0981, 0.0982)])
    assert choices(results, alike)[RANKS].rivals == 1, "no difference to speak of"


def test_the_page_asks_first_and_answers_with_its_uncertainty():
    results = results_of({1.0: [20.0, 31.0], 4.0: [21.0, 30.0]}, data="faces")
    measured = known(results, [(0.2, 0.4), (0.3, 0.5)], [(0.4, 0.5), (0.2, 0.3)])
    asked, answer = question_and_answer(results, measured)
    assert asked == "Which of 2 configurations for faces, without labels?"
    assert "UDR would choose beta_vae beta 4 but cannot tell it from 1 other" in answer
    assert "agreement of seeds would choose beta_vae beta 1." in answer
    assert answer.endswith("They disagree. No labels say which is best.")
    nothing = question_and_answer(results_of({1.0: [20.0]}), [])[1]
    assert nothing == "No labels say which is best."


def test_collapsed_models_are_not_chosen_though_they_agree():
    results = results_of({1.0: [20.0, 21.0], 4.0: [30.0, 31.0]})
    collapsed = results_of({16.0: [1.0, 1.0]}, kl=0.001).configurations
    measured = known(results, [(0.2,), (0.3,)], [(0.2,), (0.1,)])
    measured.append(Unlabelled(collapsed[0], ("c",), (0, 0), 4, (1.0,), (1.0,)))
    assert choices(results, measured)[UDR].label == "beta_vae beta 4"
    assert choices(results, measured)[RANKS].label == "beta_vae beta 1"
    both = Results([*rows(results), *rows(results_of({16.0: [1.0, 1.0]}, kl=0.001))], ["recon"])
    assert choices(both, [])[LOSS].label == "beta_vae beta 1"


def rows(results):
    names = results.table
    return [{n: names[n][i] for n in names} for i in range(len(names["objective"]))]


def test_losses_of_different_kinds_are_not_compared():
    gaussian = results_of({4.0: [3.0, 4.0]}, **{"objective.likelihood": "gaussian"})
    mixed = [*rows(results_of({1.0: [20.0, 21.0]})), *rows(gaussian)]
    assert total_loss(Results(mixed, ["recon"])) == []
    blurred = results_of(
        {1.0: [20.0, 21.0], 4.0: [3.0, 4.0]}, **{"objective.likelihood": "overlap"}
    )
    assert total_loss(blurred) == [], "that is no density of images"
    learnt = [{**row, "objective": "sigma_vae"} for row in rows(results_of({1.0: [20.0, 21.0]}))]
    assert total_loss(Results(learnt, ["recon"])) == []
    assert choices(Results(mixed, ["recon"]), []) == {}


def test_one_seed_has_no_agreement():
    results = results_of({1.0: [20.0], 4.0: [30.0]})
    measured = [Unlabelled(c, ("a",), (2,), 4, (), ()) for c in results.configurations]
    assert {*choices(results, measured)} == {LOSS}
    assert np.isnan(measured[0].mean(UDR))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two configurations of three seeds, on pictures without labels."""
    folder = tmp_path_factory.mktemp("unlabelled")
    x, y = np.divmod(np.arange(36), 6)
    pictures = np.zeros((36, 8, 8, 1), np.uint8)
    for i in range(36):
        pictures[i, x[i] : x[i] + 3, y[i] : y[i] + 3] = 250
    np.savez(folder / "images.npz", images=pictures)
    options = {"steps": 60, "metrics": "[]", "grids": small_study.TWO_STRENGTHS}
    return small_study.train(folder / "study", folder / "images.npz", **options)


@pytest.mark.slow
def test_the_page_has_the_numbers_of_the_models(made, tmp_path):
    said = []
    study_page.report(made.path, tmp_path / "page", say=said.append)
    assert any(text.startswith("comparing 6 models without labels: about") for text in said)
    assert any("1 MB of codes" in text for text in said)
    page = Page((tmp_path / "page" / "index.html").read_text())
    assert "Without labels: what each criterion would choose" in page.text
    assert "could not be drawn" not in page.text
    with (tmp_path / "page" / "figures" / "without-labels.csv").open() as opened:
        table = {float(row["swept_value"]): row for row in csv.DictReader(opened)}
    for beta in (1.0, 4.0):
        runs = [made.run(r["id"]) for r in made.table() if r["objective.beta"] == beta]
        posteriors = [run.posteriors(torch.arange(36)) for run in runs]
        codes = [q.mean.reshape(36, -1).double() for q in posteriors]
        kl = [kl_of(q) for q in posteriors]
        row = table[beta]
        assert float(row["udr"]) == pytest.approx(float(udr(codes, kl=kl, protocol="paper")))
        assert float(row["agreement"]) == pytest.approx(float(udr(codes, kl=kl)))
        assert float(row["active"]) == pytest.approx(
            np.mean([int((k >= 0.05).sum()) for k in kl]), abs=1e-6
        )


def kl_of(q):
    mean, deviation = q.mean.double(), (0.5 * q.logvar.double()).exp()
    divergence = kl_divergence(Normal(mean, deviation), Normal(0.0, 1.0))
    return divergence.reshape(-1, mean.shape[-1]).mean(0)


def test_labelled_data_and_tables_have_no_such_section(tiny, tmp_path):
    labelled = small_study.train(tmp_path / "study", tiny, seeds="[0, 1]", steps=10)
    assert measure_unlabelled(labelled, Results(labelled.table(), ["mig"])) == []
    assert choices(Results({"objective": ["vae", "ae"], "mig": [0.1, 0.2]}), []) == {}


def test_large_studies_are_told_why_not(made, monkeypatch):
    monkeypatch.setattr(without_labels, "MOST_MODELS", 5)
    with pytest.raises(without_labels.DataError, match="up to 5 of a study; here are 6"):
        measure_unlabelled(made, Results(made.table(), ["recon"]))
