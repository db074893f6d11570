import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from metrics import peers
from metrics.representations import ALIGNED, N, expected, factors, get, perfect
from unknot.core import noise
from unknot.metrics import mcc

HALF = 1 / math.sqrt(2)
REST = {"duplicated": 1.0, "rotated": (2 + 2 * HALF) / 4, "missing": 0.75, "noise": 0.025}


@expected(ALIGNED | REST | {"outlier": 0.997})
def test_reference_representation(name, value):
    assert float(mcc(*get(name))) == pytest.approx(value, abs=0.01)


@expected(ALIGNED | REST | {"outlier": 1 / math.sqrt(1 + 400 * 3 / N)})
def test_reference_representation_by_pearson(name, value):
    """Three rows at 20 deviations add their squares to the variance."""
    assert float(mcc(*get(name), protocol="paper")) == pytest.approx(value, abs=0.015)


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 4))
@settings(max_examples=30)
def test_is_the_best_of_all_assignments(seed, z, f):
    """Every injection of the smaller side into the larger, one by one."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (30, f))
    codes = rng.normal(size=(30, z)) + values[:, rng.integers(0, f, z)]
    table = np.abs(np.corrcoef(codes.T, values.T)[:z, z:])
    if z < f:
        best = max(table[range(z), p].sum() for p in itertools.permutations(range(f), z))
    else:
        best = max(table[p, range(f)].sum() for p in itertools.permutations(range(z), f))
    score = mcc(codes, values, protocol="paper")
    assert float(score) == pytest.approx(best / f, abs=1e-10)
    chosen = score.parts["code_of_factor"]
    assert len(set(chosen[chosen >= 0])) == (chosen >= 0).sum() == min(z, f)


def test_the_assignment_is_not_greedy():
    """The best single pair, code 0 and the first factor, is left where it would waste code 1."""
    other, a, b = perfect()[:, 1:].T
    codes = np.stack([0.72 * a + 0.69 * b, 0.7 * a + 0.7 * other], axis=1)
    score = mcc(codes, factors()[:, 2:], protocol="paper")
    assert score.parts["code_of_factor"].tolist() == [1, 0]
    assert float(score) == pytest.approx((HALF + 0.69 / math.hypot(0.72, 0.69)) / 2, abs=1e-9)


def test_missing_codes_count_nothing_and_are_marked():
    score = mcc(perfect()[:, [2]], factors())
    assert float(score) == pytest.approx(0.25)
    assert score.parts["code_of_factor"].tolist() == [-1, -1, 0, -1]
    assert score.parts["per_factor"] == pytest.approx([0, 0, 1, 0])


def test_a_monotone_map_costs_pearson_only():
    codes = np.exp(3 * perfect())
    assert float(mcc(codes, factors())) == pytest.approx(1)
    assert float(mcc(codes, factors(), protocol="paper")) < 0.8


def test_the_interval_covers_the_value():
    score = mcc(perfect()[::9] + get("noise")[0][::9], factors()[::9], interval=0.9)
    assert score.interval[0] < float(score) < score.interval[1]


@pytest.mark.parametrize("case", peers.CASES)
def test_the_table_equals_the_reference(case):
    """Absolute correlations in plain NumPy."""
    score = mcc(*peers.train(case), protocol="paper")
    theirs = peers.golden(case)["own"]["abs_pearson_cbd"]["matrices"]
    np.testing.assert_allclose(
        score.parts["table"].T, theirs["abs_pearson_factors_by_codes"], atol=1e-9
    )
    best = np.max(score.parts["table"], axis=0).mean()
    if case == "A":
        assert float(score) == pytest.approx(best, abs=1e-12)
    assert float(score) <= best + 1e-12


@pytest.mark.parametrize(("name", "value"), [("perfect", 1), ("rotated", 1), ("missing", 0.75)])
def test_linear_of_reference_representation(name, value):
    """A rotation keeps all there is; nothing predicts a missing factor."""
    for protocol in ("paper", "unknot"):
        score = mcc(*get(name), protocol=protocol)
        assert score["mcc.linear"] == pytest.approx(value, abs=0.02)
        assert score["mcc.linear_held_out"] == pytest.approx(value, abs=0.02)


@given(st.integers(0, 1000), st.integers(1, 6), st.integers(1, 3))
@settings(max_examples=20)
def test_linear_is_the_correlation_with_least_squares(seed, z, f):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (60, f))
    codes = rng.normal(size=(60, z)) + values @ rng.normal(size=(f, z))
    score = mcc(codes, values, protocol="paper")
    order = noise.permutation(0, "metric/mcc", 0, 60, 1)[:, 0].numpy()
    for part, train, test in (
        ("linear_per_factor", order, order),
        ("linear_held_out_per_factor", order[:30], order[30:]),
    ):
        model = LinearRegression().fit(codes[train], values[train])
        predicted = model.predict(codes[test])
        expected = [
            np.corrcoef(a, b)[0, 1] for a, b in zip(predicted.T, values[test].T, strict=True)
        ]
        assert score.parts[part] == pytest.approx(np.maximum(expected, 0), abs=1e-8)


def test_held_out_takes_the_assignment_of_the_other_half():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (80, 3))
    codes = rng.normal(size=(80, 7)) + values @ rng.normal(size=(3, 7))
    order = noise.permutation(0, "metric/mcc", 0, 80, 1)[:, 0].numpy()
    tables = [
        np.abs(np.corrcoef(codes[half].T, values[half].T)[:7, 7:])
        for half in (order[:40], order[40:])
    ]
    best = max(itertools.permutations(range(7), 3), key=lambda p: tables[0][p, range(3)].sum())
    score = mcc(codes, values, protocol="paper")
    assert score["mcc.held_out"] == pytest.approx(tables[1][best, range(3)].mean(), abs=1e-10)


def test_many_codes_of_noise_fit_in_sample_alone():
    """Of z codes and n rows, noise correlates with its prediction by the root of z / (n - 1)."""
    rng = np.random.default_rng(1)
    score = mcc(rng.normal(size=(200, 80)), rng.integers(0, 5, (200, 4)), protocol="paper")
    assert score["mcc.linear"] == pytest.approx(math.sqrt(80 / 199), abs=0.05)
    assert score["mcc.linear_held_out"] < 0.2
    assert score["mcc.held_out"] < float(score)
