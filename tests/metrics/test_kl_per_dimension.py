import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.representations import ALL, expected, get
from unknot.core.errors import ConfigError, ShapeError
from unknot.metrics import kl_per_dimension, udr
from unknot.metrics.kl_per_dimension import Settings

ONE = 0.5 * (1 + 0.04 - 1 - np.log(0.04))
"""Of a code with mean square 1 and posterior variance 0.04."""
FOUR = dict.fromkeys(ALL, 4 * ONE)


def other(mean_square: float) -> float:
    return ONE + 0.5 * (mean_square - 1)


@expected(
    FOUR
    | {
        "rescaled": sum(other(a**2 + b**2) for a, b in ((0.5, 0), (2, 5), (3, 1), (0.2, 0.3))),
        "dead_first": 4 * ONE + other(1e-4),
        "dead_last": 4 * ONE + other(1e-4),
        "constant": 4 * ONE + other(0.49),
        "duplicated": 8 * ONE,
        "missing": 3 * ONE,
        # One row in a thousand at 20 instead of near 1.
        "outlier": 4 * ONE + 4 * 0.5 * 0.001 * 400,
    }
)
def test_reference_representation(name, value):
    """Every variance costs its logarithm, whether or not the code tells anything."""
    codes, values = get(name)
    score = kl_per_dimension(codes, values, logvar=np.full(codes.shape, np.log(0.04)))
    tolerance = {"noise": 0.1, "outlier": 0.5}.get(name, 0.001)
    assert float(score) == pytest.approx(value, abs=tolerance)


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_equals_the_divergence_of_draws(seed):
    """Monte Carlo over the posterior of one row, which all rows share."""
    rng = np.random.default_rng(seed)
    mean, logvar = rng.normal(size=3), rng.normal(size=3)
    ours = kl_per_dimension(np.tile(mean, (10, 1)), logvar=np.tile(logvar, (10, 1)))
    q = torch.distributions.Normal(torch.tensor(mean), torch.tensor(np.exp(logvar / 2)))
    z = q.icdf((torch.arange(20_000).double()[:, None] + 0.5) / 20_000)
    prior = torch.distributions.Normal(torch.zeros(3).double(), torch.ones(3).double())
    truth = (q.log_prob(z) - prior.log_prob(z)).mean(0)
    np.testing.assert_allclose(ours.parts["per_code"], truth, atol=2e-3)
    assert float(ours) == pytest.approx(float(truth.sum()), abs=5e-3)


def test_the_prior_costs_nothing_and_is_not_in_use():
    score = kl_per_dimension(np.zeros((10, 4)), logvar=np.zeros((10, 4)))
    assert float(score) == score["kl_per_dimension.active"] == 0
    mean = np.tile([np.sqrt(0.021), np.sqrt(0.019)], (10, 1))
    assert kl_per_dimension(mean, logvar=np.zeros((10, 2)))["kl_per_dimension.active"] == 1
    wide = kl_per_dimension(mean, logvar=np.zeros((10, 2)), protocol=Settings(threshold=0.001))
    assert wide["kl_per_dimension.active"] == 2


def test_its_parts_are_what_udr_asks_for():
    rng = np.random.default_rng(0)
    live = rng.normal(size=(200, 2))
    codes = np.hstack([live, 0.01 * rng.normal(size=(200, 1))])
    logvar = np.tile([-4.0, -4.0, 0.0], (200, 1))
    kl = kl_per_dimension(codes, logvar=logvar).parts["per_code"]
    score = udr([codes, -codes], kl=[kl, kl])
    np.testing.assert_array_equal(score.parts["active"], [2, 2])


def test_sigmas_are_mean_deviations():
    logvar = np.log(np.tile([[1.0, 4.0], [1.0, 16.0]], (5, 1)))
    sigma = kl_per_dimension(np.zeros((10, 2)), logvar=logvar).parts["sigma"]
    np.testing.assert_allclose(sigma, [1, 3])


def test_bad_input_is_one_clear_error():
    with pytest.raises(ConfigError, match="as `logvar`"):
        kl_per_dimension(np.zeros((20, 2)))
    with pytest.raises(ShapeError, match="Expected logvar of the shape of codes"):
        kl_per_dimension(np.zeros((20, 2)), logvar=np.zeros((20, 3)))


def test_an_interval_covers_the_value():
    rng = np.random.default_rng(0)
    score = kl_per_dimension(
        rng.normal(size=(200, 3)), logvar=rng.normal(size=(200, 3)), interval=0.9
    )
    assert score.interval[0] < float(score) < score.interval[1]


def test_lengths_of_means_and_variances_are_means_over_rows():
    codes = np.tile([[3.0, 4.0], [0.0, 1.0]], (5, 1))
    score = kl_per_dimension(codes, logvar=np.log(np.tile([[1.0, 4.0], [1.0, 16.0]], (5, 1))))
    assert score["kl_per_dimension.squared_norm"] == pytest.approx((25 + 1) / 2)
    assert score["kl_per_dimension.variance"] == pytest.approx((1 + 4 + 1 + 16) / 4)
