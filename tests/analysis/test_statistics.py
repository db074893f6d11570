"""Statistics of a study's table: configurations in numbers, scores together, and the bootstrap."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
from analysis.tables import configurations, correlations, run, seeds, shares, summaries
from hypothesis import given
from hypothesis import strategies as st

from unknot.analysis import Results
from unknot.analysis.statistics import bootstrap_indices, resampled
from unknot.core import noise
from unknot.core.errors import DataError

# Numbers of a configuration


def test_a_configuration_in_numbers():
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


def test_resampled_seeds_by_counting_all_draws():
    """Every way to draw four of four seeds with replacement."""
    values = [0.1, 0.2, 0.4, 0.9]
    every = np.array(list(itertools.product(values, repeat=4)))
    (one,) = configurations(seeds(values))
    (drawn,) = resampled(one, ["mig"], 60_000, 0)
    assert drawn.mean(1).std() == pytest.approx(every.mean(1).std(), rel=0.01)
    assert np.bincount((10 * drawn).round().astype(int).ravel())[[1, 2, 4, 9]] == pytest.approx(
        60_000, rel=0.02
    )


def test_other_cells_and_scores_change_nothing():
    alone = seeds([0.1, 0.5, 0.2, 0.7, 0.3], objective__beta=1)
    beside = [*seeds([0.3, 0.9, 0.4, 0.5, 0.4], objective__beta=2), *alone]
    beside = [{**r, "sap": i / 10} for i, r in enumerate(beside)]
    first, second = (Results(rows).means(["mig"])[1] for rows in (alone, beside))
    assert (first[:, 0] == second[:, 0]).all()
    assert (Results(alone, seed=1).means(["mig"])[1] != first).any()


def test_cells_are_drawn_independently_and_scores_together():
    rows = [
        {**r, "twice": 2 * r["mig"]}
        for b in (1, 2)
        for r in seeds(np.linspace(0, 1, 20).tolist(), objective__beta=b)
    ]
    first, second = configurations(rows)
    mig, twice = (d.mean(1) for d in resampled(first, ["mig", "twice"], 4000, 0))
    assert twice == pytest.approx(2 * mig)
    (other,) = (d.mean(1) for d in resampled(second, ["mig"], 4000, 0))
    assert abs(np.corrcoef(mig, other)[0, 1]) < 0.05


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
    assert list(mig.shares) == ["objective", "swept_value", "seed"]
    assert mig.remarks == ("1 runs that diverged were left out",)


def test_scores_that_do_not_vary_have_no_shares():
    rows = [{**r, "same": 1.0} for r in seeds([0.1, 0.2])]
    assert [found.score for found in shares(rows)] == ["mig"]


# Two settings


def test_a_count_of_seeds_says_what_it_left_out():
    rows = [*seeds([0.5, 0.6, 0.7], objective__beta=4), *seeds([0.1, 0.2], objective__beta=1)]
    rows += [run(objective__beta=1, status="diverged", mig=99.0)]
    found = Results(rows).seeds_needed(
        {"objective.beta": 4}, {"objective.beta": 1}, "mig", draws=100
    )
    assert found.difference == pytest.approx(0.45)
    assert found.needed == 1
    assert found.remarks[0] == "1 runs without 'mig' were left out"
    with pytest.raises(DataError, match="at least two seeds"):
        Results(rows).seeds_needed({"objective.beta": 4}, {"objective.beta": 4, "seed": 0}, "mig")


# The bootstrap


@given(
    st.integers(-(2**63), 2**63 - 1), st.text(max_size=20),
    st.integers(1, 9), st.integers(0, 9), st.integers(1, 2**40),
)  # fmt: skip
def test_indices_are_those_of_noise(seed, stream, draws, n, high):
    ours = bootstrap_indices(seed, stream, draws, n, high=high)
    assert ours.tolist() == noise.integers(seed, stream, 0, draws, n, high=high).tolist()


def test_analysis_needs_no_torch():
    code = "import sys, unknot.analysis.published; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "unknot.analysis.statistics" in done.stdout.split()
    assert not {"torch", "pandas", "matplotlib"} & set(done.stdout.split())
