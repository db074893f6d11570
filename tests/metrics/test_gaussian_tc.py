import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics import peers
from metrics.representations import ALIGNED, expected, get
from unknot.core.errors import DataError
from unknot.metrics import gaussian_tc

REST = ("rotated", "missing", "noise", "outlier")


@expected(dict.fromkeys([*ALIGNED, *REST], 0.0) | {"duplicated": math.inf})
def test_reference_representation(name, value):
    """Independent factors on any axes; it is blind to whether codes tell anything."""
    if math.isinf(value):
        with pytest.raises(DataError, match="infinite on these rows: a code is a linear function"):
            gaussian_tc(*get(name))
    else:
        assert float(gaussian_tc(*get(name))) == pytest.approx(value, abs=0.003)


def with_covariance(covariance, n=400):
    """Rows whose sample covariance is exactly this."""
    z = len(covariance)
    x = np.random.default_rng(0).normal(size=(n, z))
    x -= x.mean(0)
    x = np.linalg.solve(np.linalg.cholesky(np.cov(x.T).reshape(z, z)), x.T).T
    return x @ np.linalg.cholesky(covariance).T


@given(st.floats(-0.99, 0.99), st.floats(0.1, 10), st.floats(0.1, 10))
def test_two_codes_in_closed_form(r, a, b):
    codes = with_covariance(np.array([[a * a, r * a * b], [r * a * b, b * b]]))
    ours = gaussian_tc(codes, protocol="study2019")
    assert float(ours) == pytest.approx(-0.5 * math.log1p(-r * r), abs=1e-9)
    np.testing.assert_allclose(ours.parts["correlation"], [[1, r], [r, 1]], atol=1e-9)


def test_equal_correlations_in_closed_form():
    """One eigenvalue 1 + 3 r, three of 1 - r."""
    codes = with_covariance(0.6 * np.eye(4) + 0.4)
    value = -0.5 * (math.log(1 + 3 * 0.4) + 3 * math.log(0.6))
    assert float(gaussian_tc(codes, protocol="study2019")) == pytest.approx(value, abs=1e-9)


def test_monotone_maps_and_outliers_do_not_matter_to_the_default():
    codes = with_covariance(np.array([[1, 0.8], [0.8, 1]]), n=2_000)
    value = -0.5 * math.log(1 - 0.64)
    bent = np.stack([np.exp(codes[:, 0]), codes[:, 1] ** 3], axis=1)
    bent[0] = [1e6, -1e6]
    assert float(gaussian_tc(bent)) == pytest.approx(value, abs=0.03)
    assert float(gaussian_tc(bent, protocol="study2019")) > value + 1


def test_constant_codes_are_left_out_where_the_study_has_no_number():
    codes = with_covariance(np.array([[1, 0.5], [0.5, 1]]))
    more = np.hstack([codes, np.full((len(codes), 2), 0.3)])
    for protocol in ("study2019", "unknot"):
        plain, ours = gaussian_tc(codes, protocol=protocol), gaussian_tc(more, protocol=protocol)
        assert float(ours) == pytest.approx(float(plain), abs=1e-12)
        assert ours.remarks == ("2 of 4 codes are constant and were left out",)
    assert float(gaussian_tc(np.ones((20, 3)))) == 0


def test_fewer_rows_than_codes_is_an_error():
    with pytest.raises(DataError, match="give more rows than codes"):
        gaussian_tc(np.random.default_rng(0).normal(size=(12, 15)), protocol="study2019")


@pytest.mark.parametrize("case", peers.CASES)
def test_equals_the_study(case):
    """disentanglement_lib 1.5 and disent 0.8.0, which agree."""
    ours = float(gaussian_tc(peers.train(case)[0], protocol="study2019"))
    blocks = peers.golden(case)
    theirs = blocks["disentanglement_lib"]["unsupervised"]["scores"]["gaussian_total_correlation"]
    assert ours == pytest.approx(theirs, abs=1e-9)
    theirs = blocks["disent"]["unsupervised"]["scores"]["unsup.gauss_total_corr"]
    assert ours == pytest.approx(theirs, abs=1e-9)
