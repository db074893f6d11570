"""Whether runs replicate others: planted shifts are found, as often as theory says."""

import math

import numpy as np
import pytest
from analysis.tables import run
from scipy import stats

from unknot.analysis import Results, compare
from unknot.analysis.replication import Pooled, replicate
from unknot.core.errors import DataError

BETAS = (1.0, 2.0, 4.0, 8.0)
SCORES = ("recon", *(f"score {k}" for k in range(11)))


def compared(shift, *, seed=0, ours=5, theirs=50, spacing=1.0, common=0.0):
    """Normal scores of unit spread over seeds, ours moved by ``shift``, cells ``spacing`` apart.

    A part ``common`` of the variance is the same for a seed in all cells.
    """
    random = np.random.default_rng(seed)

    def runs(count, moved):
        own = math.sqrt(1 - common)
        luck = random.standard_normal((count, len(SCORES))) * math.sqrt(common)
        return [
            run(
                objective,
                seed=i,
                objective__beta=beta,
                **{
                    score: spacing * k + moved + luck[i, j] + own * random.standard_normal()
                    for j, score in enumerate(SCORES)
                },
            )
            for objective in ("beta_vae", "beta_tcvae")
            for k, beta in enumerate(BETAS)
            for i in range(count)
        ]

    tables = runs(ours, shift), runs(theirs, 0.0)
    return compare(*(Results(t, list(SCORES), draws=2).summaries() for t in tables))


def shares(shift, studies=20):
    """How often a score is found equal, and how often different, over simulated studies."""
    pooled = [
        one for k in range(studies) for one in replicate(compared(shift, seed=k), draws=0).pooled
    ]
    return np.mean([one.equal for one in pooled]), np.mean([one.differs for one in pooled])


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5, 1.0])
def test_planted_shifts_are_found_as_often_as_theory_says(shift):
    cells = 2 * len(BETAS)
    error = math.sqrt((1 / 5 + 1 / 50) / cells)
    pooled = stats.norm(shift, error)
    width = 0.5 - stats.norm.ppf(0.95) * error
    far = stats.norm.ppf(0.975) * error
    equal, differs = shares(shift)
    # 240 scores: three standard errors of a share are 0.097 at most.
    assert equal == pytest.approx(pooled.cdf(width) - pooled.cdf(-width), abs=0.08)
    assert differs == pytest.approx(1 - pooled.cdf(far) + pooled.cdf(-far), abs=0.08)


def test_what_is_said_to_be_visible_is_seen_in_four_of_five():
    visible = replicate(compared(0.0), draws=0).pooled[0].visible
    assert shares(visible)[1] == pytest.approx(0.8, abs=0.08)


def test_three_standard_errors_hardly_see_a_shift_of_a_whole_deviation():
    planted = replicate(compared(1.0, ours=3), draws=0)
    within = planted.counts[0]
    assert within.ours > 0.7 * within.total
    assert replicate(compared(0.0, ours=3), draws=0).shifted[1.0] == pytest.approx(
        within.ours / within.total, abs=0.15
    )
    assert sum(one.verdict == "differs" for one in planted.pooled) >= len(SCORES) - 1


def test_runs_that_replicate_look_like_draws_from_the_published_ones():
    same = replicate(compared(0.0), draws=100)
    other = replicate(compared(0.0, spacing=3.0), draws=20)
    for count in same.counts:
        assert count.same is not None
        mean, low, high = count.same
        assert low <= mean <= high
        assert low - 2 <= count.ours <= count.total
    names = [count.name for count in other.counts]
    nearest = other.counts[names.index("configurations nearest to their own")]
    # Two objectives are alike here, so that half of the cells find their twin instead.
    assert nearest.ours <= nearest.total == 8
    within = other.counts[0]
    assert within.wrong is not None
    assert within.wrong < 0.1 * within.total < 0.9 * within.total < within.ours


def test_neighbors_are_another_setting_of_the_same_objective():
    far = replicate(compared(0.0, spacing=100.0), draws=5)
    names = {count.name: count for count in far.counts}
    assert names["pairs ordered as published"].ours == names["pairs ordered as published"].total
    assert names["values within three standard errors"].wrong == 0
    alone = replicate(
        compare(
            *(
                Results([run(mig=v, seed=i) for i, v in enumerate(values)], ["mig"]).summaries()
                for values in ([1.0, 2.0, 1.5], [1.0, 2.0, 3.0, 1.2, 1.4, 1.1])
            )
        )
    )
    assert alone.counts[0].wrong is None


def test_the_error_counts_seeds_that_are_lucky_in_all_configurations():
    studies = [replicate(compared(0.0, seed=k, common=0.5), draws=0).pooled for k in range(20)]
    differences = np.array([[one.difference for one in pooled] for pooled in studies])
    errors = np.array([[one.error for one in pooled] for pooled in studies])
    expected = math.sqrt((0.5 + 0.5 / 8) * (1 / 5 + 1 / 50))
    assert differences.std() == pytest.approx(expected, rel=0.15)
    assert errors.mean() == pytest.approx(expected, rel=0.15)


def test_the_error_of_one_draw_of_rows_is_not_pooled_away():
    found = compared(0.0)
    with_rows = replicate(found, row_variance={"recon": 0.04}, draws=0).pooled
    without = replicate(found, draws=0).pooled
    recon, plain = with_rows[0], without[0]
    assert (recon.error * recon.unit) ** 2 == pytest.approx((plain.error * plain.unit) ** 2 + 0.08)
    assert with_rows[1] == without[1]


def test_pooled_difference_by_hand():
    ours = [run(mig=v, seed=i) for i, v in enumerate([2.0, 4.0])]
    theirs = [run(mig=v, seed=i) for i, v in enumerate([1.0, 2.0, 3.0])]
    (one,) = replicate(
        compare(*(Results(t, ["mig"], draws=2).summaries() for t in (ours, theirs)))
    ).pooled
    assert (one.difference, one.unit, one.cells) == (1.0, 1.0, 1)
    assert one.error == pytest.approx(math.sqrt(1 / 2 + 1 / 3))
    assert one.verdict == "undecided"


def test_verdicts():
    assert Pooled("mig", 0.1, 0.1, 1.0, 4).verdict == "equal"
    assert Pooled("mig", 0.2, 0.08, 1.0, 4).verdict == "equal, though not by chance alone"
    assert Pooled("mig", 0.8, 0.1, 1.0, 4).verdict == "differs"
    assert Pooled("mig", 0.1, 0.5, 1.0, 4).verdict == "undecided"


def test_published_values_without_spread_are_refused():
    theirs = [run(mig=1.0, seed=i) for i in range(3)]
    with pytest.raises(DataError, match="nothing to test by"):
        replicate(compare(*(Results(theirs, ["mig"], draws=2).summaries() for _ in "ab")))
