from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information

from metrics.representations import ALIGNED, SIZES, expected, get
from unknot.metrics import mig, mig_sup
from unknot.metrics.mig import Settings
from unknot.metrics.mig_sup import PROTOCOLS
from unknot.metrics.parts import information


@expected(
    ALIGNED | {"duplicated": 1.0, "rotated": 0.5, "missing": 1.0, "noise": 0.0, "outlier": 0.998}
)
def test_reference_representation(name, value):
    assert float(mig_sup(*get(name))) == pytest.approx(value, abs=0.005)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20)
def test_equals_the_slow_reference(seed, z, f):
    rng = np.random.default_rng(seed)
    codes, values = rng.normal(size=(40, z)), rng.integers(0, 3, (40, f))
    ours = mig_sup(codes, values, protocol=Settings(information.Counting(bins=5)))
    assert float(ours) == pytest.approx(metrics_information.mig_sup(codes, values, 5), abs=1e-10)


def test_dead_codes_count_in_the_paper_and_the_ceiling_says_so():
    score = mig_sup(*get("constant"), protocol="paper")
    assert float(score) == pytest.approx(0.8)
    assert score.ceiling == pytest.approx(0.8)
    assert score.relative == pytest.approx(1)
    assert "left out" in mig_sup(*get("constant")).remarks[0]


def test_without_a_normaliser_it_is_in_nats():
    """A perfect code tells of its factor as much as there is to know."""
    plain = replace(PROTOCOLS["paper"], normalizer="none")
    score = mig_sup(*get("perfect"), protocol=plain)
    assert float(score) == pytest.approx(np.mean(np.log(SIZES)))
    assert float(mig(*get("perfect"), protocol=plain)) == pytest.approx(np.mean(np.log(SIZES)))
