import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information

from metrics.representations import ALIGNED, expected, get
from unknot.metrics import modularity
from unknot.metrics.parts import information


@expected(
    ALIGNED
    | {
        "duplicated": 1.0,
        "rotated": (1 + 1 + 2 / 3 + 2 / 3) / 4,
        "missing": 1.0,
        "noise": 0.0,
        "outlier": 1.0,
    }
)
def test_reference_representation(name, value):
    assert float(modularity(*get(name))) == pytest.approx(value, abs=0.005)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20)
def test_equals_the_slow_reference(seed, z, f):
    rng = np.random.default_rng(seed)
    codes, values = rng.normal(size=(40, z)), rng.integers(0, 3, (40, f))
    ours = modularity(codes, values, protocol=information.Counting(bins=5))
    assert float(ours) == pytest.approx(metrics_information.modularity(codes, values, 5), abs=1e-10)


def test_noise_is_not_modular():
    """Counting noise alone makes the study's score of pure noise high."""
    assert float(modularity(*get("noise"), protocol="study2019")) > 0.5
    score = modularity(*get("noise"))
    assert float(score) == 0
    assert score.remarks == ("4 of 4 latents say nothing about any factor and were left out",)


def test_a_constant_code_scores_zero_in_the_study_instead_of_dividing_by_zero():
    score = modularity(*get("constant"), protocol="study2019")
    assert score.parts["per_code"].tolist() == pytest.approx([0, 1, 1, 1, 1])
    assert float(score) == pytest.approx(0.8)
