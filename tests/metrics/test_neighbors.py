import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from metrics import peers
from metrics.representations import factors, get, perfect
from unknot.core.errors import ConfigError
from unknot.metrics.parts.neighbors import neighbor_information


def estimate(codes, levels, k=3):
    return neighbor_information(torch.as_tensor(codes).double(), torch.as_tensor(levels), k).numpy()


def slow(code, level, k):
    """Ross 2014, row by row."""
    terms = []
    rows = [i for i in range(len(code)) if (level == level[i]).sum() > 1]
    for i in rows:
        away = np.abs(code[rows] - code[i])
        own = np.sort(away[level[rows] == level[i]])
        kth = own[min(k, len(own) - 1)]
        terms.append(digamma((own < kth).sum()) - digamma((away < kth).sum()) - digamma(len(own)))
    return max(digamma(len(rows)) + np.mean(terms), 0) if rows else 0.0


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4))
@settings(max_examples=30)
def test_equals_the_slow_reference(seed, k, classes):
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, classes + 1, (25, 2))
    codes = rng.normal(size=(25, 2)) + levels
    ours = estimate(codes, levels, k)
    for j in range(2):
        for f in range(2):
            assert ours[j, f] == pytest.approx(slow(codes[:, j], levels[:, f], k), abs=1e-9)


def test_equals_scikit_learn_which_adds_noise_to_repeated_values():
    from sklearn.feature_selection import mutual_info_classif

    rng = np.random.default_rng(0)
    levels = rng.integers(0, 5, (500, 1))
    codes = rng.normal(size=(500, 3)) + levels * [0, 1, 3]
    theirs = mutual_info_classif(codes, levels[:, 0], n_neighbors=4, random_state=0)
    np.testing.assert_allclose(estimate(codes, levels, 4)[:, 0], theirs, atol=1e-6)


def test_a_repeated_factor_gets_its_entropy():
    """Exactly ln 6 but for the digamma function: psi(n) - psi(n / 6)."""
    table = estimate(perfect(), factors(), 10)
    n = len(factors())
    exact = [digamma(n) - digamma(n / size) for size in (3, 4, 6, 6)]
    np.testing.assert_allclose(table, np.diag(exact), atol=1e-9)


def test_equal_up_to_rounding_is_equal():
    codes, _ = get("rotated")
    table, rounded = estimate(codes, factors(), 10), estimate(codes.round(6), factors(), 10)
    np.testing.assert_allclose(table, rounded, atol=1e-9)
    assert table[2, 2] == pytest.approx(table[2, 3], abs=1e-9)


def test_two_uniform_stretches_in_closed_form():
    """Stretches of length 1 that overlap by a half: half of the rows are told apart."""
    rng = np.random.default_rng(0)
    levels = np.arange(20_000)[:, None] % 2
    codes = rng.uniform(size=levels.shape) + 0.5 * levels
    assert estimate(codes, levels, 5)[0, 0] == pytest.approx(math.log(2) / 2, abs=0.01)


def test_constants_and_lonely_levels_tell_nothing():
    assert estimate(np.ones((20, 2)), np.arange(20)[:, None] % 2).tolist() == [[0], [0]]
    assert estimate(np.arange(20.0)[:, None], np.arange(20)[:, None]).tolist() == [[0]]


def test_no_neighbours_is_an_error():
    with pytest.raises(ConfigError, match="1 or more nearest neighbours, such as 10; got 0"):
        estimate(np.ones((20, 2)), np.arange(20)[:, None] % 2, 0)


@pytest.mark.parametrize("case", peers.CASES)
def test_equals_the_reference(case):
    """latent_quantization at 9a420a3, whose noise moves distances that are equal in float32."""
    codes, values = peers.train(case)
    matrices = peers.golden(case)["infomec_and_tripod"]["infomec_continuous"]["matrices"]
    whole = [-sum(p * math.log(p) for p in np.bincount(k) / len(k)) for k in values.T]
    theirs = np.array(matrices["nmi_factors_by_codes"]).T * whole
    np.testing.assert_allclose(estimate(codes, values.astype(int), 10), theirs, atol=1e-4)
