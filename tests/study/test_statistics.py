"""Statistics of a study's table: cells, intervals, ranks, strengths, fronts, comparisons."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from unknot.core.errors import ConfigError, DataError
from unknot.study.cells import cells, converged, pick, score_names, taken
from unknot.study.comparison import compare
from unknot.study.fronts import front, undominated
from unknot.study.ranking import best_strengths, lower_is_better, ranking
from unknot.study.statistics import (
    beats,
    correlations,
    improvement,
    resampled,
    shares,
    summaries,
    with_strength,
)

NAN = math.nan


def run(objective="beta_vae", **values):
    """One row; two underscores are a dot."""
    return {"objective": objective, **{k.replace("__", "."): v for k, v in values.items()}}


def seeds(values, objective="beta_vae", **setting):
    return [run(objective, seed=i, mig=v, **setting) for i, v in enumerate(values)]


# Cells


def test_cells_are_what_differs_in_nothing_but_the_seed():
    rows = [
        run(objective__beta=b, seed=s, steps=100, mig=b + s, id=f"{b}{s}")
        for s, b in itertools.product((0, 1), (16, 2, 4))
    ]
    found = cells(rows)
    assert [(c.label, c.strength, c.axis) for c in found] == [
        ("beta_vae beta 2", 2, "objective.beta"),
        ("beta_vae beta 4", 4, "objective.beta"),
        ("beta_vae beta 16", 16, "objective.beta"),
    ]
    assert found[0].runs["mig"] == [2, 3]
    assert found[0].settings == {"objective": "beta_vae", "objective.beta": 2, "steps": 100}


def test_an_axis_that_others_follow_is_the_strength():
    rows = [
        run("dip", objective__decay=0.0, objective__od=od, objective__d=10 * od, mig=0.1)
        for od in (5, 1)
    ]
    assert [(c.label, c.strength) for c in cells(rows)] == [("dip od 1", 1), ("dip od 5", 5)]


def test_two_axes_that_cross_are_named_both():
    rows = [run(objective__a=a, objective__b=b, mig=1.0) for a in (1, 2) for b in (3, 4)]
    found = cells(rows)
    assert [c.strength for c in found] == ["a 1, b 3", "a 1, b 4", "a 2, b 3", "a 2, b 4"]
    assert {c.axis for c in found} == {""}


def test_axes_of_one_dataset_and_objective_are_its_own():
    """Beta is all that differs on one dataset, though datasets differ too."""
    rows = [run(data=d, objective__beta=b, mig=1.0) for d in ("cars3d", "dsprites") for b in (1, 4)]
    rows += [run("ae", data="dsprites", mig=1.0)]
    found = [(c.data, c.label, c.strength) for c in cells(rows)]
    assert found == [
        ("cars3d", "beta_vae beta 1", 1),
        ("cars3d", "beta_vae beta 4", 4),
        ("dsprites", "beta_vae beta 1", 1),
        ("dsprites", "beta_vae beta 4", 4),
        ("dsprites", "ae", ""),
    ]


def test_schedules_are_settings_of_their_own():
    table = {
        "objective.name": ["annealed_vae"] * 2,
        "objective.c": [{"kind": "linear", "end": 25.0}, {"kind": "linear", "end": 5.0}],
        "mig": [0.1, 0.2],
    }
    assert [c.label for c in cells(table)] == ["annealed_vae c 5", "annealed_vae c 25"]
    assert cells(table)[0].axis == "objective.c.end"


def test_settings_and_scores_are_told_apart():
    (cell,) = cells([run(seed=0, seconds=3.0, steps=5, mig=0.1, dci__completeness=0.2, id="a")])
    assert score_names(cell.runs) == ["mig", "dci.completeness"]


def test_what_is_missing_is_counted_by_its_reason():
    rows = [
        run(status="done", mig=0.5),
        run(status="done", mig=NAN),
        run(status="done"),
        run(status="diverged", mig=9.0),
        run(status="done", diverged=1200, mig=9.0),
        run(status="failed"),
        run(status="planned"),
        run(status="done", mig=math.inf, diverged=False),
    ]
    (cell,) = cells(rows)
    found = taken(cell.runs, "mig")
    assert found.values.tolist() == [0.5]
    assert (found.runs, found.diverged, found.undefined, found.unfinished) == (8, 2, 3, 2)
    (summary,) = summaries(rows, ["mig"])
    assert summary.mean == 0.5
    assert summary.missing == "2 diverged, 3 undefined, 2 unfinished"


def test_tables_that_do_not_tell():
    with pytest.raises(ConfigError, match="no column 'objective'"):
        cells({"mig": [0.1]})
    with pytest.raises(ConfigError, match="did you mean 'mig'"):
        summaries(seeds([0.1]), ["migs"])
    with pytest.raises(ConfigError, match="The table has no scores"):
        summaries([run(seed=0)])
    with pytest.raises(ConfigError, match=r"such as 0\.95"):
        summaries(seeds([0.1]), level=95.0)
    with pytest.raises(ConfigError, match=r"no setting .+; did you mean"):
        pick(seeds([0.1], objective__beta=1), {"objective.betas": 1})
    with pytest.raises(ConfigError, match=r"no run with objective\.beta 3"):
        pick(seeds([0.1], objective__beta=1), {"objective.beta": 3})
    with pytest.raises(DataError, match="All 2 runs of the table diverged"):
        converged([run(status="diverged")] * 2)


# Numbers of a cell


def test_a_cell_in_numbers():
    (found,) = summaries(seeds([1.0, 2.0, 4.0, 9.0]))
    assert (found.n, found.mean, found.median) == (4, 4, 3)
    assert (found.low, found.q1, found.q3, found.high) == (1, 1.75, 5.25, 9)
    assert found.sd == pytest.approx(math.sqrt(38 / 3))
    assert found.se == pytest.approx(found.sd / 2)
    assert found.row()["objective"] == "beta_vae"
    assert "settings" not in found.row()


def test_one_seed_has_no_spread_and_none_no_mean():
    one, none = summaries([*seeds([0.5]), run("ae", seed=0)], ["mig"])
    assert (one.mean, one.median, one.low) == (0.5, 0.5, 0.5)
    assert all(math.isnan(v) for v in (one.sd, one.mean_low, one.median_high, one.se))
    assert none.n == 0
    assert all(math.isnan(v) for v in (none.mean, none.sd, none.q1, none.se))


def test_intervals_by_counting_all_draws():
    """Every way to draw four of four seeds with replacement."""
    values = [0.1, 0.2, 0.4, 0.9]
    every = np.array(list(itertools.product(values, repeat=4)))
    (found,) = summaries(seeds(values), level=0.8, draws=60_000)
    for name, drawn in (("mean", every.mean(1)), ("median", np.median(every, axis=1))):
        low, high = np.quantile(drawn, (0.1, 0.9))
        # Values of draws are discrete: a quantile is one of them or a neighbour.
        assert getattr(found, f"{name}_low") == pytest.approx(low, abs=0.026)
        assert getattr(found, f"{name}_high") == pytest.approx(high, abs=0.026)
    (cell,) = cells(seeds(values))
    (drawn,) = resampled(cell, ["mig"], 60_000)
    assert drawn.mean(1).std() == pytest.approx(every.mean(1).std(), rel=0.01)
    assert np.bincount((10 * drawn).round().astype(int).ravel())[[1, 2, 4, 9]] == pytest.approx(
        60_000, rel=0.02
    )


def test_coverage_is_what_the_documentation_says():
    """Five seeds of normal scores: intervals of 95 % hold the truth in 84 of 100 cells."""
    values = np.random.default_rng(3).normal(size=(1000, 5))
    rows = [r for b, own in enumerate(values) for r in seeds(own.tolist(), objective__beta=b)]
    found = summaries(rows, draws=500)
    covered = np.mean([s.mean_low < 0 < s.mean_high for s in found])
    assert covered == pytest.approx(0.838, abs=0.03)


def test_other_cells_and_scores_change_nothing():
    alone = seeds([0.1, 0.5, 0.2], objective__beta=1)
    beside = [*seeds([0.3, 0.9, 0.4, 0.5], objective__beta=2), *alone]
    beside = [{**r, "sap": i / 10} for i, r in enumerate(beside)]
    (own,) = summaries(alone)
    same = next(s for s in summaries(beside) if (s.strength, s.score) == (1, "mig"))
    assert (same.mean_low, same.mean_high) == (own.mean_low, own.mean_high)
    assert summaries(alone, seed=1)[0].mean_low != own.mean_low or (
        summaries(alone, seed=1)[0].median_high != own.median_high
    )


def test_cells_are_drawn_independently_and_scores_together():
    rows = [
        {**r, "twice": 2 * r["mig"]}
        for b in (1, 2)
        for r in seeds(np.linspace(0, 1, 20).tolist(), objective__beta=b)
    ]
    first, second = cells(rows)
    mig, twice = (d.mean(1) for d in resampled(first, ["mig", "twice"], 4000))
    assert twice == pytest.approx(2 * mig)
    (other,) = (d.mean(1) for d in resampled(second, ["mig"], 4000))
    assert abs(np.corrcoef(mig, other)[0, 1]) < 0.05


# Ranks


def test_ranks_wins_and_ties():
    table = {
        "objective": list("aabbcc"),
        "mig": [0.1, 0.3, 0.4, 0.6, 0.2, 0.2],
        "sap": [1.0] * 6,
        "recon": [5.0, 5, 9, 9, 7, 7],
    }
    found = ranking(table)
    assert found.objectives == ("a", "b", "c")
    assert found.means[:, 0] == pytest.approx([0.2, 0.5, 0.2])
    assert found.ranks.T.tolist() == [[2.5, 1, 2.5], [2, 2, 2], [1, 3, 2]]
    assert found.mean_rank.tolist() == pytest.approx([5.5 / 3, 2, 6.5 / 3])
    assert found.winners("sap") == ("a", "b", "c")
    assert found.wins() == {"a": (1, 1), "b": (1, 1), "c": (0, 1)}
    assert found.first[:, 1] == pytest.approx([1 / 3] * 3)
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
    assert lower_is_better(score) == less
    assert ranking(rows, [score]).winners(score) == (("a",) if less else ("b",))
    strengths = [{**row, "objective.beta": row[score], "objective": "vae"} for row in rows]
    assert best_strengths(strengths, [score])[0].strength == (1 if less else 2)
    costly = [{**row, "cost": 1.0} for row in strengths]
    assert front(costly, score, cost="cost").on.tolist() == [less, not less]


def test_what_is_better_may_be_said():
    rows = [run("a", mig=1.0), run("b", mig=2.0)]
    assert ranking(rows, ["mig"], lower=["mig"]).winners("mig") == ("a",)


def test_strengths_weigh_the_same_whatever_their_seeds():
    rows = [*seeds([0.0] * 9, objective__beta=1), *seeds([1.0], objective__beta=2)]
    found = ranking([*rows, *seeds([0.4], "ae")])
    assert found.means[:, 0] == pytest.approx([0.5, 0.4])


def test_how_often_an_objective_is_first_by_counting_all_draws():
    a, b = [0.1, 0.4, 0.6], [0.2, 0.3, 0.5]
    means = [[np.mean(t) for t in itertools.product(s, repeat=3)] for s in (a, b)]
    apart = np.array([x - y for x, y in itertools.product(*means)]).round(9)
    chance = ((apart > 0) + 0.5 * (apart == 0)).mean()
    found = ranking([*seeds(a, "a"), *seeds(b, "b")], draws=40_000)
    assert found.first[:, 0] == pytest.approx([chance, 1 - chance], abs=0.01)
    assert found.mean_rank_low.tolist() == [1, 1]
    assert found.mean_rank_high.tolist() == [2, 2]


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
        *seeds([0.1, 0.4, 0.6], objective__beta=1),
        *seeds([0.2, 0.3, 0.5], objective__beta=4),
        *seeds([0.0, 0.0, 0.1], objective__beta=9),
    ]
    rows = [{**r, "recon": r["objective.beta"]} for r in rows]
    mig, recon = best_strengths(rows, draws=40_000)
    assert (mig.strength, mig.axis) == (1, "objective.beta")
    assert mig.mean == pytest.approx(1.1 / 3)
    assert sum(mig.shares.values()) == pytest.approx(1)
    every = [np.array([np.mean(t) for t in itertools.product(s, repeat=3)]).round(9)
             for s in ([0.1, 0.4, 0.6], [0.2, 0.3, 0.5], [0.0, 0.0, 0.1])]  # fmt: skip
    tops = np.array([
        np.equal(t, max(t)) / np.equal(t, max(t)).sum() for t in itertools.product(*every)
    ])  # fmt: skip
    assert list(mig.shares.values()) == pytest.approx(tops.mean(0), abs=0.01)
    assert mig.share == mig.shares[1]
    assert mig.likely == (1, 4)
    assert (recon.strength, recon.share, recon.likely) == (1, 1, (1,))
    assert recon.row()["likely"] == "1.0"


def test_strengths_of_one_seed_have_no_interval():
    rows = [*seeds([0.1], objective__beta=1), *seeds([0.3], objective__beta=2)]
    (best,) = best_strengths([*rows, run("ae", seed=0)], ["mig"])
    assert (best.strength, best.share) == (2, 1)
    assert math.isnan(best.mean_low)


# Fronts


@given(st.integers(0, 10_000), st.integers(1, 12))
@settings(max_examples=60)
def test_undominated_by_comparing_all_pairs(seed, n):
    rng = np.random.default_rng(seed)
    gain, cost = rng.integers(0, 5, n).astype(float), rng.integers(0, 5, n).astype(float)
    beaten = [
        any(
            gain[j] >= gain[i] and cost[j] <= cost[i] and (gain[j] > gain[i] or cost[j] < cost[i])
            for j in range(n)
        )
        for i in range(n)
    ]
    assert undominated(gain, cost).tolist() == [not b for b in beaten]


def test_a_front_and_how_sure_it_is():
    rows = [
        *seeds([0.1, 0.1], objective__beta=1),
        *seeds([0.5, 0.5], objective__beta=2),
        *seeds([0.2, 0.2], objective__beta=3),
    ]
    rows = [{**r, "recon": float(r["objective.beta"])} for r in rows]
    rows[4]["recon"] = 0.5  # one seed of beta 3, mean 1.75: below 2 but above 1
    found = front(rows, "mig", draws=4000)
    assert found.on.tolist() == [True, True, True]
    # Its mean is 3, 1.75 or 0.5 in a quarter, a half and a quarter; at 0.5 it also beats beta 1.
    assert found.share == pytest.approx([0.75, 1, 0.75], abs=0.03)
    assert [r["on_front"] for r in found.rows()] == [True] * 3
    assert found.rows()[2]["recon"] == 1.75


def test_fronts_of_scores_of_which_less_is_better_and_of_nothing():
    rows = [run(o, recon=r, loss=q) for o, r, q in (("a", 1.0, 3.0), ("b", 2.0, 1.0))]
    assert front(rows, "loss").on.tolist() == [True, True]
    assert front([*rows, run("c", recon=3.0, loss=2.0)], "loss").on.tolist() == [True, True, False]
    found = front([*rows, run("c", recon=3.0)], "loss")
    assert (len(found.cells), found.remarks) == (2, ("1 cells without both were left out",))
    with pytest.raises(DataError, match="No cell has both 'mig' and 'recon'"):
        front([run(mig=0.1, recon=None), run("b", mig=None, recon=1.0)], "mig")


# Scores together


def test_diverged_runs_take_no_part_in_correlations_and_shares():
    rng = np.random.default_rng(0)
    rows = [
        run(objective__beta=b, seed=s, mig=(m := b + rng.normal()), sap=2 * m + 1)
        for b in (1, 2) for s in range(5)
    ]  # fmt: skip
    wild = [run(objective__beta=2, seed=9, mig=1e9, sap=-1e9, status="diverged")]
    found = correlations([*rows, *wild])
    assert found.between("mig", "sap") == pytest.approx((1, 0))
    assert found.remarks == ("1 runs that diverged were left out",)
    assert (found.spearman == correlations(rows).spearman).all()
    (mig, sap) = shares([*rows, *wild])
    assert mig.shares == shares(rows)[0].shares == pytest.approx(sap.shares)
    assert list(mig.shares) == ["objective", "strength", "seed"]
    assert mig.remarks == ("1 runs that diverged were left out",)


def test_scores_that_do_not_vary_have_no_shares():
    rows = [{**r, "same": 1.0} for r in seeds([0.1, 0.2])]
    assert [found.score for found in shares(rows)] == ["mig"]


def test_strengths_as_a_column():
    rows = [run(objective__beta=b, seed=s, mig=0.0) for s in (0, 1) for b in (4, 2)]
    assert with_strength(rows)["strength"] == [2, 2, 4, 4]


# Two settings


def test_improvement_is_the_share_of_pairs():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 6, 7).tolist(), rng.integers(2, 8, 9).tolist()
    labels, chance = improvement([*seeds(a, "a"), *seeds(b, "b"), run("c", seed=0)], "mig")
    assert labels == ["a", "b", "c"]
    u = stats.mannwhitneyu(a, b, method="asymptotic").statistic
    assert chance[0, 1] == pytest.approx(u / 63)
    assert chance[1, 0] == pytest.approx(1 - u / 63)
    assert chance[2].tolist() == [0.5] * 3
    assert np.diag(chance).tolist() == [0.5] * 3


def test_beats_says_what_it_left_out():
    rows = [*seeds([0.5, 0.6, 0.7], objective__beta=4), *seeds([0.1, 0.2], objective__beta=1)]
    rows += [run(objective__beta=1, status="diverged", mig=99.0)]
    found = beats(rows, {"objective.beta": 4}, {"objective.beta": 1}, "mig", draws=100)
    assert found.difference == pytest.approx(0.45)
    assert found.needed == 1
    assert found.remarks[0] == "1 runs without 'mig' were left out"
    with pytest.raises(DataError, match="at least two seeds"):
        beats(rows, {"objective.beta": 4}, {"objective.beta": 4, "seed": 0}, "mig")


# Beside published values


def published_and_ours(theirs, ours, **setting):
    known = [
        *seeds(theirs, objective__beta=1.0, steps=300_000),
        *seeds([9.0, 9.5], objective__beta=2.0, steps=300_000),
    ]
    own = seeds(ours, objective__beta=1, **setting)
    return summaries(known, draws=2), summaries(own, draws=2)


def test_differences_in_standard_errors_of_both():
    known, own = published_and_ours([1.0, 2.0, 3.0, 4.0], [6.0, 8.0, 10.0])
    found = compare(own, known)
    (one,) = found.differences
    error = math.sqrt((5 / 3) / 4 + 4 / 3)
    assert one.difference == 5.5
    assert one.z == pytest.approx(5.5 / error)
    assert one.flagged
    assert found.within == 0
    assert found.only_published == ("beta_vae beta 2, mig",)
    row = found.rows()[0]
    assert (row["ours_n"], row["published_n"], row["flagged"]) == (3, 4, True)
    t = stats.ttest_ind([6, 8, 10], [1, 2, 3, 4], equal_var=False).statistic
    assert one.z == pytest.approx(t)


def test_settings_that_differ_are_said_and_others_do_not_match():
    known, own = published_and_ours([1.0, 2.0], [1.0, 2.0], steps=20_000, net="conv64")
    (one,) = compare(own, known).differences
    assert one.differs == ("steps 20000, not 300000",)
    assert (one.z, one.flagged) == (0, False)
    elsewhere = [replace(s, data="cars3d") for s in own]
    found = compare(elsewhere, known)
    assert found.differences == ()
    assert found.only_ours == ("beta_vae, mig",)
    assert math.isnan(found.within)


def test_values_without_spread():
    known, own = published_and_ours([1.0, 1.0], [1.0])
    (one,) = compare(own, known).differences
    assert math.isnan(one.z)
    assert not one.flagged
    known, own = published_and_ours([1.0, 1.0], [2.0, 2.0])
    (one,) = compare(own, known).differences
    assert one.z == math.inf
    assert one.flagged


def test_chance_flags_as_often_as_the_documentation_says():
    """Three seeds against fifty of one normal distribution: 7 of 100."""
    rng = np.random.default_rng(0)
    flagged = []
    known, own = published_and_ours([0.0, 1.0], [0.0, 1.0])
    for _ in range(4000):
        a, b = rng.normal(size=3), rng.normal(size=50)
        one = replace(own[0], mean=float(a.mean()), sd=float(a.std(ddof=1)), n=3)
        other = replace(known[0], mean=float(b.mean()), sd=float(b.std(ddof=1)), n=50)
        flagged.append(compare([one], [other]).differences[0].flagged)
    assert np.mean(flagged) == pytest.approx(0.067, abs=0.012)
