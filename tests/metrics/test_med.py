import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import mutual_info_score

from metrics.representations import ALIGNED, expected, factors, get
from unknot.core.errors import ConfigError
from unknot.metrics import med
from unknot.metrics.med import PROTOCOLS, Settings
from unknot.metrics.parts import information


@expected(
    # Copies serve one factor each; codes that mix two halve their share. Its value is our own.
    ALIGNED | {"duplicated": 1.0, "rotated": 0.788, "missing": 1.0, "noise": 0.0, "outlier": 1.0}
)
def test_reference_representation(name, value):
    assert float(med(*get(name))) == pytest.approx(value, abs=0.005)


def test_a_mixed_code_under_the_paper():
    """Two of four codes tell two factors alike: each is 1 - ln 2 / ln 4 disentangled."""
    score = med(*get("rotated"), protocol="paper")
    assert float(score) == pytest.approx((1 + 1 + 0.5 + 0.5) / 4, abs=1e-6)
    np.testing.assert_allclose(score.parts["per_code"], [1, 1, 0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(score.parts["importance"].sum(0), 1)


def test_completeness_counts_copies():
    score = med(*get("duplicated"))
    assert float(score) == pytest.approx(1)
    assert score["med.completeness"] == pytest.approx(1 - math.log(2) / math.log(8), abs=1e-6)


def test_the_best_codes_of_each_factor():
    """Of two codes for the first factor the pure one stays; the only one of the second stays."""
    values = factors()[:, 2:]
    mixed = values[:, 0] + 0.5 * (values[:, 1] > 2)
    codes = np.stack([mixed, values[:, 0], values[:, 1]], axis=1)
    score = med(codes, values)
    np.testing.assert_array_equal(score.parts["kept"], [False, True, True])
    assert score["med.top"] == pytest.approx(1)
    assert float(score) < 0.98
    two = med(codes, values, protocol=replace(PROTOCOLS["unknot"], top=2))
    assert two["med.top"] == pytest.approx(float(two))


@given(st.integers(0, 1000), st.integers(2, 4), st.integers(2, 3))
@settings(max_examples=15)
def test_equals_the_slow_reference(seed, z, f):
    """DCI's sums over scikit-learn's information of the same bins, divided by factor."""
    rng = np.random.default_rng(seed)
    codes, values = rng.normal(size=(60, z)), rng.integers(0, 3, (60, f))
    bins = [np.digitize(c, np.histogram(c, 20)[1][:-1]) for c in codes.T]
    table = np.array([[mutual_info_score(v, b) for v in values.T] for b in bins])
    table /= table.sum(0)
    per_code = 1 - stats.entropy(table.T, base=f)
    per_factor = 1 - stats.entropy(table, base=z)
    score = med(codes, values, protocol="paper")
    assert float(score) == pytest.approx(np.average(per_code, weights=table.sum(1)), abs=1e-9)
    assert score["med.completeness"] == pytest.approx(per_factor.mean(), abs=1e-9)
    best = {}
    for j in np.argsort(-per_code):
        best.setdefault(table[j].argmax(), j)
    kept = list(best.values())
    top = np.average(per_code[kept], weights=table[kept].sum(1))
    assert score["med.top"] == pytest.approx(top, abs=1e-9)


def test_a_factor_that_no_code_knows_does_not_weigh():
    """Divided by the sum over codes, noise counts as much as knowledge."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, (2_000, 3))
    codes = values[:, :2].astype(float)
    assert float(med(codes, values)) > 0.99
    assert float(med(codes, values, protocol="paper")) < 0.85


def test_nothing_known_is_said():
    score = med(np.ones((50, 2)), np.arange(50)[:, None] % 5)
    assert set(score.values.values()) == {0}
    assert "no code tells anything" in " ".join(score.remarks)
    with pytest.raises(ConfigError, match="got top = 0"):
        med(*get("noise"), protocol=Settings(information.UNKNOT, top=0))


def test_an_interval_covers_the_value():
    codes, values = get("rotated")
    score = med(codes[::8], values[::8], protocol="paper", interval=0.9)
    assert score.interval[0] < float(score) < score.interval[1]
