import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics import peers
from metrics.representations import ALIGNED, expected, get
from metrics.test_gaussian_tc import REST, with_covariance
from unknot.metrics import wasserstein_tc

EQUAL_PAIRS = 2 - math.sqrt(2)
"""Eigenvalues 2 and 0 for each pair: 2 - 2 (4 roots of 2) / 8."""


@expected(dict.fromkeys([*ALIGNED, *REST], 0.0) | {"duplicated": EQUAL_PAIRS})
def test_reference_representation(name, value):
    assert float(wasserstein_tc(*get(name))) == pytest.approx(value, abs=0.001)


@given(st.floats(-0.99, 0.99), st.floats(0.1, 5))
def test_two_codes_in_closed_form(r, a):
    """Roots of the eigenvalues 1 + r and 1 - r, in units of the variance."""
    codes = with_covariance(a * a * np.array([[1, r], [r, 1]]))
    ours = wasserstein_tc(codes, protocol="study2019")
    raw = a * a * (4 - 2 * (math.sqrt(1 + r) + math.sqrt(1 - r)))
    assert float(ours) == ours["wasserstein_tc.raw"] == pytest.approx(raw, abs=1e-7)
    assert ours["wasserstein_tc.normalized"] == pytest.approx(raw / (2 * a * a), abs=1e-7)


@given(st.integers(0, 1000), st.integers(1, 6))
@settings(max_examples=20)
def test_equals_a_matrix_root(seed, z):
    """The root of the product of both covariances, which is not symmetric, by its definition."""
    from scipy.linalg import sqrtm

    rng = np.random.default_rng(seed)
    codes = rng.normal(size=(60, z)) @ rng.normal(size=(z, z))
    c = np.cov(codes.T).reshape(z, z)
    value = 2 * np.trace(c) - 2 * np.trace(np.real(sqrtm(c @ np.diag(np.diag(c)))))
    assert float(wasserstein_tc(codes, protocol="study2019")) == pytest.approx(value, abs=1e-6)


def test_equal_codes_reach_the_largest_value():
    x = np.random.default_rng(0).normal(size=(100, 1))
    for z in (2, 9):
        value = 2 - 2 / math.sqrt(z)
        assert float(wasserstein_tc(x.repeat(z, axis=1))) == pytest.approx(value, abs=1e-7)


def test_shrinking_codes_lower_the_raw_distance_only():
    codes = with_covariance(np.array([[1, 0.5], [0.5, 1]]))
    large, small = (wasserstein_tc(c, protocol="study2019") for c in (codes, 0.1 * codes))
    assert float(small) == pytest.approx(float(large) / 100)
    key = "wasserstein_tc.normalized"
    assert small[key] == pytest.approx(large[key])


def test_huge_tiny_and_constant_codes_have_a_number_under_the_study():
    codes = with_covariance(np.array([[1, 0.5], [0.5, 1]]))
    plain = wasserstein_tc(codes, protocol="study2019")["wasserstein_tc.normalized"]
    huge = wasserstein_tc(1e150 * codes, protocol="study2019")
    assert huge["wasserstein_tc.normalized"] == pytest.approx(plain)
    for nothing in (np.ones((20, 2)), 1e-200 * codes):
        assert float(wasserstein_tc(nothing, protocol="study2019")) == 0


@pytest.mark.parametrize("case", peers.CASES)
def test_equals_the_study(case):
    """disentanglement_lib 1.5."""
    ours = wasserstein_tc(peers.train(case)[0], protocol="study2019")
    theirs = peers.golden(case)["disentanglement_lib"]["unsupervised"]["scores"]
    for key, name in (("raw", ""), ("normalized", "_norm")):
        value = theirs[f"gaussian_wasserstein_correlation{name}"]
        assert ours[f"wasserstein_tc.{key}"] == pytest.approx(value, abs=1e-9)
