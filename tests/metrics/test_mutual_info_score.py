import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information

from metrics import peers
from metrics.representations import ALIGNED, expected, get
from unknot.metrics import mutual_info_score
from unknot.metrics.parts.information import Counting

# Each of four codes twice: 8 of 56 ordered pairs know all of a factor.
PAIRS = (math.log(3) + math.log(4) + 2 * math.log(6)) * 2 / 56


def mixed() -> float:
    """I(a + b; a - b) of two independent factors of six values: the grid's 36 points are known."""
    sums = np.array([6 - abs(s - 5) for s in range(11)]) / 36
    entropy = -(sums * np.log(sums)).sum()
    return 2 * entropy - math.log(36)


@expected(
    dict.fromkeys([*ALIGNED, "missing", "noise", "outlier"], 0.0)
    | {"duplicated": PAIRS, "rotated": mixed() * 2 / 12}
)
def test_reference_representation(name, value):
    codes = get(name)[0].round(9)  # equal sums of a rotation are equal up to rounding only
    assert float(mutual_info_score(codes)) == pytest.approx(value, abs=0.01)


def test_it_sees_what_correlation_does_not():
    x = np.linspace(-1, 1, 1_000)[:, None]
    score = mutual_info_score(np.hstack([x, x**2]), protocol=Counting(bins=2, edges="quantile"))
    assert float(score) == pytest.approx(0, abs=1e-6)
    score = mutual_info_score(np.hstack([x, x**2]))
    assert float(score) == pytest.approx(math.log(10), abs=0.05)
    assert score["mutual_info_score.largest"] == float(score)


@given(st.integers(0, 1000), st.integers(2, 4))
@settings(max_examples=20)
def test_equals_the_slow_reference(seed, z):
    codes = np.random.default_rng(seed).normal(size=(40, z))
    bins = metrics_information.bins(codes, 5)
    pairs = metrics_information.tables(bins, bins)[0][~np.eye(z, dtype=bool)]
    ours = mutual_info_score(codes, protocol=Counting(bins=5))
    assert float(ours) == pytest.approx(pairs.mean(), abs=1e-10)
    assert ours["mutual_info_score.largest"] == pytest.approx(pairs.max(), abs=1e-10)


def test_independent_codes_are_nearly_0_with_few_rows_too():
    codes = np.random.default_rng(0).normal(size=(2_000, 4))
    assert float(mutual_info_score(codes, protocol="study2019")) > 0.05
    score = mutual_info_score(codes)
    assert float(score) < 0.015
    few = mutual_info_score(codes[:500])
    assert "information is overestimated" in few.remarks[0]


def test_one_code_has_no_pairs():
    score = mutual_info_score(np.arange(20.0)[:, None])
    assert score.values == {"mutual_info_score": 0, "mutual_info_score.largest": 0}


@pytest.mark.parametrize("case", peers.CASES)
def test_equals_the_study(case):
    """disentanglement_lib 1.5."""
    theirs = peers.golden(case)["disentanglement_lib"]["unsupervised"]["scores"]
    ours = float(mutual_info_score(peers.train(case)[0], protocol="study2019"))
    assert ours == pytest.approx(theirs["mutual_info_score"], abs=1e-9)
