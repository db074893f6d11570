import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_rest

from metrics.representations import ALIGNED, expected, get
from unknot.metrics import irs
from unknot.metrics.irs import Settings


@expected(
    ALIGNED | {"duplicated": 1.0, "rotated": 0.75, "missing": 1.0, "noise": 0.0, "outlier": 0.98}
)
def test_reference_representation(name, value):
    assert float(irs(*get(name))) == pytest.approx(value, abs=0.01)


def test_the_rotated_code_under_the_paper_is_weighted_by_deviation():
    """Largest deviations: the extreme level in standard deviations, root 2 times it if rotated."""
    alone = [(n - 1) / 2 / math.sqrt((n**2 - 1) / 12) for n in (3, 4)]
    mixed = math.sqrt(2) * 2.5 / math.sqrt(35 / 12)
    expected_ = (sum(alone) + 2 * mixed * 0.5) / (sum(alone) + 2 * mixed)
    assert float(irs(*get("rotated"), protocol="paper")) == pytest.approx(expected_, abs=1e-9)


@given(st.integers(0, 1000), st.floats(0.5, 1))
@settings(max_examples=20)
def test_equals_the_slow_reference(seed, quantile):
    rng = np.random.default_rng(seed)
    codes, values = rng.normal(size=(40, 3)), rng.integers(0, 4, (40, 2))
    codes[:, 2] = 0.1
    ours = irs(codes, values, protocol=Settings(quantile=quantile))
    assert float(ours) == pytest.approx(metrics_rest.irs(codes, values, quantile), abs=1e-10)


def test_noise_scores_nothing_unlike_in_the_study():
    assert float(irs(*get("noise"), protocol="study2019")) > 0.3
    assert float(irs(*get("noise"))) == 0


def test_a_code_of_one_value_is_left_out():
    codes, values = get("constant")
    for protocol in ("study2019", "paper", "unknot"):
        assert float(irs(codes, values, protocol=protocol)) == pytest.approx(1, abs=1e-9)
    nothing = irs(np.ones((60, 2)), values[:60], protocol="study2019")
    assert float(nothing) == 0
