import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information

from metrics.representations import ALIGNED, SIZES, expected, get
from unknot.metrics import jemmig, tables

H, B = [math.log(size) for size in SIZES], math.log(20)
DUPLICATED = np.mean([1 - h / (h + B) for h in H])
ROTATED = (1 + 1 + 2 * (1 - math.log(36) / (math.log(6) + B))) / 4
MISSING = (3 + 1 - (H[0] + H[3]) / (H[3] + B)) / 4


@expected(
    ALIGNED
    | {
        "duplicated": DUPLICATED,
        "rotated": ROTATED,
        "missing": MISSING,
        "noise": 0.0,
        "outlier": 0.997,
    }
)
def test_reference_representation(name, value):
    assert float(jemmig(*get(name))) == pytest.approx(value, abs=0.005)


def test_of_equally_good_codes_the_leaner_one_counts():
    """Codes 0 and 1 know the factor completely; the second holds a coin toss beside it."""
    factors_ = np.arange(400)[:, None] % 2
    lean, fat = factors_.astype(float), factors_ + 2.0 * (np.arange(400)[:, None] // 2 % 2)
    scores = [float(jemmig(np.hstack(pair), factors_)) for pair in ((lean, fat), (fat, lean))]
    assert scores[0] == pytest.approx(scores[1], abs=1e-12)
    assert scores[0] == pytest.approx(1 - math.log(2) / (math.log(2) + B), abs=0.005)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20)
def test_equals_the_slow_reference(seed, z, f):
    rng = np.random.default_rng(seed)
    codes, values = rng.normal(size=(40, z)), rng.integers(0, 3, (40, f))
    ours = jemmig(codes, values, protocol=tables.Counting(bins=5))
    assert float(ours) == pytest.approx(metrics_information.jemmig(codes, values, 5), abs=1e-10)
