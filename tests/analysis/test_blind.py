"""Selecting without labels: choices by hand, ties, directions and runs that lack a value."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from unknot.analysis import Results
from unknot.analysis.blind import blind_selection
from unknot.core.errors import ConfigError

RNG = np.random.default_rng(0)
NAMES = ("objective", "objective.beta", "seed", "mig", "elbo", "recon", "flat")


def rows():
    return [
        dict(zip(NAMES, ("b", beta, seed, *RNG.normal(size=2), RNG.random(), 1.0), strict=True))
        for beta in (1, 2, 4, 8)
        for seed in range(5)
    ]


TABLE = rows()
RESULTS = Results(TABLE, ["mig"], lower=["recon"])


def column(name, table=TABLE):
    return np.array([row[name] for row in table])


def test_among_runs_it_is_the_row_with_the_best_criterion():
    elbo, recon = RESULTS.blind_selection(["elbo", "recon"], among="runs")
    mig = column("mig")
    assert elbo.n == recon.n == 20
    assert elbo.chosen == mig[column("elbo").argmax()]
    assert recon.chosen == mig[column("recon").argmin()]
    assert elbo.best == recon.best == mig.max()
    assert elbo.lost == mig.max() - elbo.chosen
    assert elbo.regained == pytest.approx((elbo.chosen - mig.mean()) / (mig.max() - mig.mean()))
    assert elbo.correlation == pytest.approx(spearmanr(mig, column("elbo"))[0])
    assert recon.correlation == pytest.approx(-spearmanr(mig, column("recon"))[0])


def test_among_configurations_means_over_seeds_are_compared():
    (choice,) = RESULTS.blind_selection(["elbo"], ["mig"])
    means = [[np.mean(column(n).reshape(4, 5), axis=1)] for n in ("mig", "elbo")]
    mig, elbo = np.concatenate(means)
    assert (choice.n, choice.chosen) == (4, pytest.approx(mig[elbo.argmax()]))
    assert choice.best == pytest.approx(mig.max())


def test_of_a_score_that_should_be_low_the_best_is_the_lowest():
    (choice,) = RESULTS.blind_selection(["elbo"], ["recon"], among="runs")
    assert choice.best == column("recon").min()
    assert choice.lost == pytest.approx(choice.chosen - choice.best)
    (perfect,) = RESULTS.blind_selection(["recon"], ["recon"], among="runs")
    assert (perfect.lost, perfect.regained, perfect.correlation) == (0, 1, pytest.approx(1))


def test_a_criterion_that_cannot_tell_gives_the_mean():
    (choice,) = RESULTS.blind_selection(["flat"], ["mig"], among="runs")
    assert choice.chosen == pytest.approx(column("mig").mean())
    assert choice.regained == pytest.approx(0)
    assert math.isnan(choice.correlation)


def test_runs_that_lack_a_value_are_left_out():
    table = [dict(row) for row in TABLE]
    best = int(column("elbo").argmax())
    table[best]["elbo"] = None
    table[(best + 1) % 20]["mig"] = None
    (choice,) = blind_selection(Results(table, ["mig"]), ["elbo"], ["mig"], among="runs")
    kept = [r for r in table if r["elbo"] is not None and r["mig"] is not None]
    assert choice.n == 18
    assert choice.chosen == column("mig", kept)[column("elbo", kept).argmax()]


def test_of_two_there_is_nothing_to_choose_and_columns_must_be_there():
    assert Results(TABLE[:2], ["mig"]).blind_selection(["elbo"], among="runs") == []
    with pytest.raises(ConfigError, match="udr"):
        RESULTS.blind_selection(["udr"])
