"""Intervals over seeds: against scipy's, and how often they hold the truth."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from unknot.analysis.intervals import (
    COVERAGE,
    FEW,
    cut_off,
    describe_coverage,
    kept_bounds,
    mean_interval,
    median_interval,
    pooled_interval,
    welch_probability,
)

TOOL = Path(__file__).parents[2] / "tools" / "coverage.py"
spec = importlib.util.spec_from_file_location("coverage_tool", TOOL)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


@pytest.mark.parametrize("n", [5, 7, 50])
def test_the_interval_of_a_mean_is_students(n):
    values = np.random.default_rng(n).normal(size=n)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert mean_interval(values, 0.9) == pytest.approx(tuple(expected))


@pytest.mark.parametrize("values", [[], [0.1], [0.1, 0.5], [0.1, 0.2, 0.3, 0.4], [0.5] * 9])
def test_few_seeds_and_equal_ones_have_no_interval(values):
    assert np.isnan(mean_interval(np.array(values), 0.95)).all()
    assert len(values) >= FEW or np.isnan(median_interval(np.array(values), 0.95)).all()


@pytest.mark.parametrize("shape", COVERAGE)
@pytest.mark.parametrize("n", [5, 10, 50])
def test_the_coverage_that_pages_print_is_what_a_simulation_gives(shape, n):
    assert tool.coverage(shape, n, samples=3000) == pytest.approx(COVERAGE[shape][n], abs=0.017)


def test_normal_scores_are_covered_at_every_number_of_seeds():
    assert all(0.94 <= share <= 0.96 for share in COVERAGE["normal"].values())


@pytest.mark.parametrize("n", [6, 10, 51])
def test_the_median_is_covered_whatever_the_distribution(n):
    generator = np.random.default_rng(n)
    ends = [median_interval(generator.lognormal(size=n), 0.95) for _ in range(2000)]
    assert np.mean([low <= 1 <= high for low, high in ends]) > 0.94


def test_a_mean_of_means_by_simulation():
    """Three configurations of other spreads: the interval of the mean of their means."""
    generator, covered = np.random.default_rng(0), 0
    for _ in range(2000):
        samples = [generator.normal(mean, spread, n) for mean, spread, n in
                   ((1, 1, 5), (2, 3, 6), (3, 0.1, 9))]  # fmt: skip
        low, high = pooled_interval(samples, 0.95)
        covered += low < 2 < high
    assert covered / 2000 == pytest.approx(0.95, abs=0.015)


def test_welch_is_scipys():
    generator = np.random.default_rng(0)
    first, second = generator.normal(1, 1, 6), generator.normal(0, 3, 9)
    test = stats.ttest_ind(first, second, equal_var=False, alternative="greater")
    assert welch_probability(first, second) == pytest.approx(1 - test.pvalue)


def test_what_is_said_of_coverage_fits_the_number_of_seeds():
    assert "Simulated with 5 seeds, 95% (normal), 82% (skewed), 66% (bimodal)" in (
        describe_coverage(9, 0.95)
    )
    assert "Simulated with 50 seeds" in describe_coverage(1000, 0.95)
    assert "Simulated" not in describe_coverage(9, 0.9), "only 95 % was simulated"


# Bounds of scores


def test_an_interval_ends_where_its_score_does():
    near_one = np.array([0.9, 0.99, 1.0, 0.98, 0.9])
    low, high = mean_interval(near_one, 0.95)
    assert high > 1
    assert mean_interval(near_one, 0.95, (0, 1)) == (low, 1.0)
    assert mean_interval(1 - near_one, 0.95, (0, None)) == (0.0, pytest.approx(1 - low))
    assert mean_interval(near_one, 0.95, (0, None)) == (low, high)
    assert np.isnan(mean_interval(near_one[:4], 0.95, (0, 1))).all(), "no interval has no ends"
    assert np.isnan(cut_off(np.nan, np.nan, (0, 1))).all()


@pytest.mark.parametrize("n", [5, 10])
def test_cutting_intervals_off_changes_no_coverage(n):
    """Scores near their bound, where many intervals are cut off: they hold the mean as often."""
    samples = np.random.default_rng(0).beta(9, 0.5, (2_000, n))
    mean, hits, cut = 9 / 9.5, np.zeros(2, dtype=int), 0
    for values in samples:
        ends = [mean_interval(values, 0.95, bounds) for bounds in ((None, None), (0, 1))]
        hits += [low < mean < high for low, high in ends]
        cut += ends[0] != ends[1]
    assert hits[0] == hits[1]
    assert cut > 400


def test_a_bound_that_a_value_lies_beyond_is_none():
    per_cent = np.array([0.4, 31.0, 60.0])
    assert kept_bounds(per_cent, (0, 1)) == (0, None)
    assert kept_bounds(-per_cent, (0, 1)) == (None, 1)
    assert kept_bounds(per_cent / 100, (0, 1)) == (0, 1)
    assert kept_bounds(per_cent, (None, None)) == (None, None)
