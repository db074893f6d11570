import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information

from metrics.representations import ALIGNED, SIZES, expected, get
from unknot.metrics import dcimig
from unknot.metrics.parts import information

H = [math.log(size) for size in SIZES]


@expected(
    ALIGNED
    | {
        "duplicated": 1.0,
        "rotated": (H[0] + H[1]) / sum(H),
        "missing": sum(H[:3]) / sum(H),
        "noise": 0.0,
        "outlier": 0.998,
    }
)
def test_reference_representation(name, value):
    assert float(dcimig(*get(name))) == pytest.approx(value, abs=0.005)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20)
def test_equals_the_slow_reference(seed, z, f):
    rng = np.random.default_rng(seed)
    codes, values = rng.normal(size=(40, z)), rng.integers(0, 3, (40, f))
    ours = dcimig(codes, values, protocol=information.Counting(bins=5))
    assert float(ours) == pytest.approx(metrics_information.dcimig(codes, values, 5), abs=1e-10)


@pytest.mark.parametrize(
    ("name", "value"),
    [("perfect", 1.0), ("duplicated", 1.0), ("rotated", (H[0] + H[1]) / sum(H)), ("noise", 0.0)],
)
def test_reference_representation_under_the_paper(name, value):
    assert float(dcimig(*get(name), protocol="paper")) == pytest.approx(value, abs=0.01)
