"""Properties of all tables: with ties, with single seeds, with scores that are missing."""

import math

import numpy as np
import pytest
from analysis.tables import run
from hypothesis import given
from hypothesis import strategies as st

from unknot.analysis import Results
from unknot.analysis.intervals import FEW, SPARSE
from unknot.core.errors import DataError

SCORE = st.integers(0, 3).map(float)
"""Few values, so that most tables have ties."""
SEEDS = st.integers(1, 6)


@st.composite
def tables(draw, seeds=SEEDS, score=SCORE):
    """Two or three objectives of one to three strengths, each of one to six seeds."""
    rows = []
    for objective in "abc"[: draw(st.integers(2, 3))]:
        for beta in range(draw(st.integers(1, 3))):
            rows += [
                run(objective, objective__beta=beta, seed=seed, mig=draw(score), sap=draw(score))
                for seed in range(draw(seeds))
            ]
    return rows


def results(rows, **options):
    return Results(rows, ["mig", "sap"], draws=50, **options)


@given(tables())
def test_ranks_are_shared_and_none_is_lost(rows):
    found = results(rows).ranking
    n = len(found.objectives)
    assert found.ranks.sum(0) == pytest.approx([n * (n + 1) / 2] * 2)
    for k, score in enumerate(found.scores):
        best = found.means[:, k].round(12).max()
        tied = [o for o, mean in zip(found.objectives, found.means[:, k], strict=True)
                if round(mean, 12) == best]  # fmt: skip
        assert list(found.winners(score)) == tied
    alone = sum(wins for wins, _ in found.wins().values())
    assert alone == sum(len(found.winners(score)) == 1 for score in found.scores)


@given(tables(seeds=st.sampled_from([1, 4, 9, 10, 10, 10, 10, 10])))
def test_probabilities_of_being_first_add_up(rows):
    results_ = results(rows)
    enough = min(one.size for one in results_.configurations) >= SPARSE
    first = results_.ranking.first.sum(0)
    assert first == pytest.approx([1, 1]) if enough else np.isnan(first).all()
    for best in results_.best_values:
        assert sum(best.shares.values()) == pytest.approx(1)
        assert math.isnan(best.share) == (best.likely == ())
    for winner in results_.winners:
        assert math.isnan(winner.share) != enough
        assert not enough or 0 <= winner.share <= 1
        means = [one.sample(winner.score).values.mean() for one in results_.configurations]
        assert winner.mean == pytest.approx(max(means))
        assert winner.worst_mean == pytest.approx(min(means))
        assert winner.tied == sum(round(m, 12) == round(winner.mean, 12) for m in means)


@given(tables())
def test_less_is_better_is_more_of_the_negative(rows):
    turned = [{**row, "mig": -row["mig"]} for row in rows]
    up, down = results(rows), results(turned, lower=["mig"])
    assert down.ranking.ranks.tolist() == up.ranking.ranks.tolist()
    assert down.ranking.first == pytest.approx(up.ranking.first, nan_ok=True)
    assert [best.swept_value for best in down.best_values] == [
        best.swept_value for best in up.best_values
    ]
    assert [winner.best.label for winner in down.winners] == [
        winner.best.label for winner in up.winners
    ]


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_mean_and_no_rank(rows, random):
    mixed = list(rows)
    random.shuffle(mixed)
    one, other = results(rows), results(mixed)
    means = [
        {(s.label, s.score): (round(s.mean, 9), s.median, s.n) for s in r.summaries()}
        for r in (one, other)
    ]
    assert means[0] == means[1]
    ranks = [
        dict(zip(r.ranking.objectives, r.ranking.ranks.tolist(), strict=True)) for r in (one, other)
    ]
    assert ranks[0] == ranks[1]


@given(tables())
def test_numbers_of_a_configuration_are_in_order(rows):
    for found in results(rows).summaries():
        assert found.low <= found.q1 <= found.median <= found.q3 <= found.high
        assert found.low <= found.mean <= found.high
        if found.n >= FEW and found.low < found.high:
            assert found.mean_low < found.mean < found.mean_high
            assert found.n < 6 or found.low <= found.median_low <= found.median_high <= found.high
        else:
            assert math.isnan(found.mean_low)


@given(tables(seeds=st.integers(1, FEW - 1)))
def test_few_seeds_say_nothing_about_chance(rows):
    found = results(rows)
    for summary in found.summaries():
        assert math.isnan(summary.mean_low)
        assert math.isnan(summary.median_low)
        if summary.n == 1:
            assert summary.mean == summary.median == summary.low == summary.high
            assert math.isnan(summary.sd)
            assert math.isnan(summary.se)
    assert np.isnan(found.ranking.first).all()
    assert np.isnan(found.ranking.mean_rank_low).all()
    assert all(math.isnan(best.share) for best in found.best_values)
    assert all(math.isnan(winner.share) for winner in found.winners)
    assert found.contrasts("mig") == []
    assert found.seed_pairs("mig") == []
    if found.varies("mig") and max(one.size for one in found.configurations) == 1:
        with pytest.raises(DataError, match="one model"):
            found.variance_shares(["mig"])


@given(tables())
def test_shares_of_variance_add_up(rows):
    found = results(rows)
    if max(one.size for one in found.configurations) < 2:
        return
    shares = found.variance_shares()
    varied = [score for score in ("mig", "sap") if len({row[score] for row in rows}) > 1]
    assert [one.score for one in shares] == varied
    for one in shares:
        assert sum(one.shares.values()) == pytest.approx(1)
        assert sum(one.corrected.values()) == pytest.approx(1)
        assert all(share >= -1e-12 for share in one.shares.values())


@given(tables(seeds=st.integers(FEW, 6)))
def test_of_a_tie_no_number_of_seeds_shows_an_order(rows):
    equal = [{**row, "mig": 2.0} for row in rows]
    found = results(equal)
    pairs = found.seed_pairs("mig", draws=20)
    assert len(pairs) == math.comb(len(found.configurations), 2)
    for pair in pairs:
        assert [pair[f"n={n}"] for n in (1, 3, 5, 10)] == [0.5] * 4
        assert pair["difference"] == 0


@given(tables(score=st.none() | SCORE))
def test_missing_scores_are_counted_and_never_averaged(rows):
    found = Results([*rows, run("a", mig=None, sap=1.0)], ["mig", "sap"], draws=20)
    for summary in found.summaries():
        assert summary.runs == summary.n + summary.undefined
        assert math.isnan(summary.mean) == (summary.n == 0)
        if summary.n:
            assert summary.mean == pytest.approx(np.mean(summary.values))
    ranks = found.ranking
    assert (np.isnan(ranks.ranks) == np.isnan(ranks.means)).all()
