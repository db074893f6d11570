"""Choosing without labels in a study: UDR of its models beside its scores."""

import numpy as np
import pytest

import unknot
from unknot.core.errors import ConfigError
from unknot.metrics import udr
from unknot.report.model.latents import sample_rows


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    study = unknot.study(
        "small",
        data="soft_squares",
        net="linear",
        grid={"objective.beta": [1, 4, 16]},
        seeds=2,
        metrics=["mig", "gaussian_tc"],
        steps=20,
        out=tmp_path_factory.mktemp("blind") / "study",
    )
    study.run()
    return study


def test_criteria_stand_beside_the_best_by_labels(study):
    table, runs = study.blind_selection(), study.table()
    assert {*table["criterion"]} == {"gaussian_tc", "recon", "udr", "udr_ranks"}
    assert {*table["score"]} == {"mig"}
    assert (table["n"] == 3).all()
    means = runs.groupby("objective.beta")["mig"].mean()
    assert table["best"].to_numpy() == pytest.approx(means.max())
    recon = runs.groupby("objective.beta")["recon"].mean().idxmin()
    (row,) = table[table["criterion"] == "recon"].itertuples()
    assert row.chosen == pytest.approx(means[recon])
    assert row.lost == pytest.approx(means.max() - means[recon])


def test_udr_is_of_the_models_of_each_configuration(study):
    """Two models agree as much with one another as the other way round: both are chosen."""
    (row,) = study.blind_selection("mig", criteria=["udr_ranks"], among="runs").itertuples()
    runs = study.table()
    agreement = []
    for beta in runs["objective.beta"].unique():
        models = [study.load(name) for name in runs["id"][runs["objective.beta"] == beta]]
        rows = sample_rows(models[0], 1_000)
        q = [model.posteriors(rows) for model in models]
        means = [of.mean.double().reshape(-1, of.mean.shape[-1]) for of in q]
        kl = [of.kl().double().reshape(-1, of.mean.shape[-1]).mean(0) for of in q]
        agreement += [float(udr(means, kl=kl))] * 2
    best = np.isclose(agreement, max(agreement), atol=1e-6)
    assert best.sum() == 2
    assert row.n == 6
    assert row.chosen == pytest.approx(runs["mig"][best].mean())


def test_a_column_that_is_not_there_is_named(study):
    with pytest.raises(ConfigError, match="nothing"):
        study.blind_selection(criteria=["nothing"])
