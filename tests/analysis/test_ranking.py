"""Ranks of objectives and best strengths: ties, which way is better, and how sure they are."""

import math

import numpy as np
import pytest
from analysis.tables import best_values, front, ranking, run, seeds

from unknot.analysis import Results
from unknot.analysis.intervals import mean_interval
from unknot.core.errors import ConfigError
from unknot.metrics import lower_is_better

SWEPT = {
    1: [0.1, 0.4, 0.6, 0.6, 0.4] * 2,
    4: [0.2, 0.3, 0.5, 0.5, 0.3] * 2,
    9: [0.0, 0.0, 0.1, 0.0, 0.1] * 2,
}

# Ranks


def test_ranks_wins_and_ties():
    table = {
        "objective": list("aabbcc"),
        "mig": [0.1, 0.3, 0.4, 0.6, 0.2, 0.2],
        "sap": [1.0] * 6,
        "recon": [5.0, 5, 9, 9, 7, 7],
    }
    found = ranking(table, lower=["recon"])
    assert found.objectives == ("a", "b", "c")
    assert found.means[:, 0] == pytest.approx([0.2, 0.5, 0.2])
    assert found.ranks.T.tolist() == [[2.5, 1, 2.5], [2, 2, 2], [1, 3, 2]]
    assert found.mean_rank.tolist() == pytest.approx([5.5 / 3, 2, 6.5 / 3])
    assert found.winners("sap") == ("a", "b", "c")
    assert found.wins() == {"a": (1, 1), "b": (1, 1), "c": (0, 1)}
    assert found.rows()[0]["recon.rank"] == 1


LOWER_TOO = (
    "recon", "gaussian_tc@study2019", "wasserstein_tc.raw", "wasserstein_tc.raw@paper",
    "mutual_info_score.largest", "aggregate_posterior", "aggregate_posterior.skewness@paper",
    "elbo.error", "log_likelihood.error@paper",
)  # fmt: skip
HIGHER = ("mig@study2019", "elbo", "elbo@paper", "log_likelihood", "dci.completeness", "lossless")


@pytest.mark.parametrize("score", [*LOWER_TOO, *HIGHER])
def test_less_may_be_better_under_any_protocol_and_of_any_part(score):
    rows = [run(name, seed=s, **{score: v}) for name, v in (("a", 1.0), ("b", 2.0)) for s in (0, 1)]
    less = score in LOWER_TOO
    lower = [score] if lower_is_better(score) else []
    assert lower == [score] * less
    assert ranking(rows, [score], lower=lower).winners(score) == (("a",) if less else ("b",))
    strengths = [{**row, "objective.beta": row[score], "objective": "vae"} for row in rows]
    assert best_values(strengths, [score], lower=lower)[0].swept_value == (1 if less else 2)
    costly = [{**row, "cost": 1.0} for row in strengths]
    assert front(costly, score, cost="cost", lower=lower).on.tolist() == [less, not less]


def test_what_is_better_may_be_said():
    rows = [run("a", mig=1.0), run("b", mig=2.0)]
    assert ranking(rows, ["mig"], lower=["mig"]).winners("mig") == ("a",)


def test_strengths_weigh_the_same_whatever_their_seeds():
    rows = [*seeds([0.0] * 9, objective__beta=1), *seeds([1.0], objective__beta=2)]
    found = ranking([*rows, *seeds([0.4], "ae")])
    assert found.means[:, 0] == pytest.approx([0.5, 0.4])


def test_how_often_an_objective_is_first():
    a, b = SWEPT[1], SWEPT[4]
    means = [_means_of_draws(s) for s in (a, b)]
    apart = np.subtract.outer(*means).round(9)
    chance = ((apart > 0) + 0.5 * (apart == 0)).mean()
    found = ranking([*seeds(a, "a"), *seeds(b, "b")], draws=40_000)
    assert found.first[:, 0] == pytest.approx([chance, 1 - chance], abs=0.01)
    assert found.mean_rank_low.tolist() == [1, 1]
    assert found.mean_rank_high.tolist() == [2, 2]
    few = ranking([*seeds(a[:9], "a"), *seeds(b, "b")])
    assert np.isnan(few.first).all()
    assert np.isnan(few.mean_rank_low).all()


def _means_of_draws(values):
    """Of many ways to draw as many with replacement, each rounded."""
    return np.random.default_rng(0).choice(values, (2000, len(values))).mean(1).round(9)


def test_a_score_that_an_objective_lacks_has_no_rank_there():
    rows = [*seeds([0.1, 0.2], "a"), *seeds([0.3, 0.4], "b")]
    rows = [{**r, "sap": 1.0 if r["objective"] == "a" else None} for r in rows]
    found = ranking(rows)
    assert np.isnan(found.ranks[1, 1])
    assert found.winners("sap") == ("a",)
    assert found.mean_rank.tolist() == [2, 1]
    assert found.remarks == ("not in the mean rank, for want of runs: sap",)
    assert np.isnan(ranking(rows, ["sap"]).mean_rank).all()


def test_levels_of_two_datasets_are_not_averaged():
    rows = [run(data=d, mig=0.1) for d in ("dsprites", "cars3d")]
    with pytest.raises(ConfigError, match="one dataset; got dsprites, cars3d"):
        ranking(rows)


# Strengths


def test_the_best_strength_and_how_sure_it_is():
    rows = [
        {**r, "recon": beta}
        for beta, values in SWEPT.items()
        for r in seeds(values, objective__beta=beta)
    ]
    mig, recon = best_values(rows, draws=40_000, lower=["recon"])
    assert (mig.swept_value, mig.axis) == (1, "objective.beta")
    assert mig.mean == pytest.approx(0.42)
    assert (mig.mean_low, mig.mean_high) == pytest.approx(mean_interval(np.array(SWEPT[1]), 0.95))
    assert sum(mig.shares.values()) == pytest.approx(1)
    first, second = (_means_of_draws(SWEPT[beta]) for beta in (1, 4))  # beta 9 is never first
    apart = np.subtract.outer(first, second)
    chance = ((apart > 0) + 0.5 * (apart == 0)).mean()
    assert list(mig.shares.values()) == pytest.approx([chance, 1 - chance, 0], abs=0.01)
    assert mig.share == mig.shares[1]
    assert mig.likely == (1, 4)
    assert (recon.swept_value, recon.share, recon.likely) == (1, 1, (1,))
    assert recon.row()["likely"] == "1.0"


@pytest.mark.parametrize("n", [1, 2, 9])
def test_strengths_of_few_seeds_have_no_interval(n):
    rows = [
        *seeds([0.1] * n, objective__beta=1),
        *seeds([0.3, 0.2, 0.4, 0.3][:n], objective__beta=2),
    ]
    (best,) = best_values([*rows, run("ae", seed=0)], ["mig"])
    assert (best.swept_value, best.likely) == (2, ())
    assert math.isnan(best.share)
    assert math.isnan(best.mean_low)


def test_a_winner_is_named_unless_it_shares_its_place():
    rows = [
        run("a", objective__beta=beta, seed=seed, mig=value, sap=0.5)
        for beta, value in ((1, 0.2), (2, 0.7))
        for seed in range(2)
    ]
    assert [winner.label for winner in Results(rows, ["mig", "sap"], draws=20).winners] == [
        "a beta 2",
        "2 configurations alike",
    ]


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, 95.0])
def test_a_level_is_a_probability(level):
    with pytest.raises(ConfigError, match=r"level is a probability such as 0\.95"):
        Results({"objective": ["vae"], "seed": [0], "mig": [0.1]}, level=level)
