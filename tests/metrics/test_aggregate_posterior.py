import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from metrics.representations import ALL, expected, get
from unknot.core.errors import ConfigError, DataError
from unknot.metrics import aggregate_posterior

QUANTILES = stats.norm.ppf((np.arange(2_000) + 0.5) / 2_000)[:, None]


def flat(codes: np.ndarray, variance: float) -> np.ndarray:
    return np.full(codes.shape, math.log(variance))


def gaussian(*variances: float, shift: float = 0.0) -> float:
    return sum(0.5 * (v - 1 - math.log(v)) for v in variances) + 0.5 * shift


SPREAD = 1.04
DUPLICATED = [2.04, 0.04] * 4


@expected(
    dict.fromkeys(ALL, gaussian(*[SPREAD] * 4))
    | {
        "rescaled": gaussian(0.29, 4.04, 9.04, 0.08, shift=25 + 1 + 0.09),
        "dead_first": gaussian(*[SPREAD] * 4, 0.04 + 1e-4),
        "dead_last": gaussian(*[SPREAD] * 4, 0.04 + 1e-4),
        "constant": gaussian(*[SPREAD] * 4, 0.04, shift=0.49),
        "duplicated": gaussian(*DUPLICATED),
        "missing": gaussian(*[SPREAD] * 3),
        # Three rows of 2,160 at 20: variance 1.56 more.
        "outlier": gaussian(*[SPREAD + 3 / 2160 * 400] * 4),
    }
)
def test_reference_representation(name, value):
    """Codes of variance 1 with posteriors of variance 0.04."""
    codes, values = get(name)
    score = aggregate_posterior(codes, values, logvar=flat(codes, 0.04))
    assert float(score) == pytest.approx(
        value, abs={"noise": 0.01, "outlier": 0.02}.get(name, 1e-3)
    )


def test_posteriors_that_make_up_the_prior_are_at_no_distance():
    means = math.sqrt(0.75) * QUANTILES
    score = aggregate_posterior(means, logvar=flat(means, 0.25))
    for key, value in score.values.items():
        assert value == pytest.approx(0, abs=0.01), key
    np.testing.assert_allclose(score.parts["covariance"], [[1]], atol=2e-3)


@given(st.integers(0, 1000))
@settings(max_examples=8)
def test_moments_are_those_of_drawn_samples(seed):
    rng = np.random.default_rng(seed)
    means = rng.gamma(1.0, size=(50, 2)) @ rng.normal(size=(2, 2)) / 2
    logvar = rng.normal(size=(50, 2)) - 1
    drawn = means + np.exp(logvar / 2) * rng.normal(size=(8_000, 50, 2))
    drawn = drawn.reshape(-1, 2)
    parts = aggregate_posterior(means, logvar=logvar).parts
    np.testing.assert_allclose(parts["mean"], drawn.mean(0), atol=0.02)
    np.testing.assert_allclose(parts["covariance"], np.cov(drawn.T), atol=0.06)
    np.testing.assert_allclose(parts["skewness"], stats.skew(drawn), atol=0.08)
    np.testing.assert_allclose(parts["kurtosis"], stats.kurtosis(drawn), atol=0.4)
    distances = [stats.kstest(column, "norm").statistic for column in drawn[::7].T]
    np.testing.assert_allclose(parts["distribution"], distances, atol=0.02)


def test_two_peaks_have_the_moments_of_the_textbook():
    """N(+-1, 0.25): variance 1.25, excess kurtosis -2 / 1.25^2, no skewness."""
    means = np.tile([[1.0], [-1.0]], (10, 1))
    score = aggregate_posterior(means, logvar=flat(means, 0.25))
    assert score.parts["variance"] == pytest.approx(1.25)
    assert score["aggregate_posterior.kurtosis"] == pytest.approx(2 / 1.25**2)
    assert score["aggregate_posterior.skewness"] == pytest.approx(0, abs=1e-12)
    assert score["aggregate_posterior.wasserstein"] == pytest.approx((math.sqrt(1.25) - 1) ** 2)


def test_a_point_is_half_a_distribution_away():
    means = np.zeros((10, 1))
    score = aggregate_posterior(means, logvar=flat(means, 1e-12))
    assert score["aggregate_posterior.distribution"] == pytest.approx(0.5, abs=0.025)
    assert score["aggregate_posterior.wasserstein"] == pytest.approx(1, abs=1e-5)


@given(st.integers(0, 100))
@settings(max_examples=10)
def test_the_gaussian_of_its_moments_is_a_lower_bound(seed):
    """Of the divergence of the mixture itself, here by quadrature in one dimension."""
    rng = np.random.default_rng(seed)
    means, logvar = 2 * rng.normal(size=(10, 1)), rng.normal(size=(10, 1)) - 1
    t = np.linspace(-30, 30, 60_001)
    mixture = stats.norm.pdf(t, means, np.exp(logvar / 2)).mean(0)
    true = np.trapezoid(mixture * (np.log(np.maximum(mixture, 1e-300)) - stats.norm.logpdf(t)), t)
    assert float(aggregate_posterior(means, logvar=logvar)) <= true + 1e-6


def test_torch_in_numpy_out_and_bad_input():
    codes = torch.zeros(20, 2)
    assert aggregate_posterior(codes, logvar=torch.zeros(20, 2)).parts["mean"].shape == (2,)
    with pytest.raises(ConfigError, match="aggregate_posterior reads whole posteriors"):
        aggregate_posterior(codes)
    with pytest.raises(DataError, match="is not a finite number"):
        aggregate_posterior(codes, logvar=torch.full((20, 2), -2000.0))


def test_an_interval_covers_the_value():
    rng = np.random.default_rng(0)
    score = aggregate_posterior(
        rng.normal(size=(100, 2)), logvar=rng.normal(size=(100, 2)), interval=0.9
    )
    assert score.interval[0] < float(score) < score.interval[1]
