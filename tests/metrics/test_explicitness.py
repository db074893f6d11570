import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_rest

from metrics.representations import ALIGNED, expected, get
from unknot.metrics import explicitness
from unknot.metrics.explicitness import area_under_curve


@expected(
    ALIGNED | {"duplicated": 1.0, "rotated": 1.0, "missing": 0.75, "noise": 0.0, "outlier": 0.997}
)
def test_reference_representation(name, value):
    score = explicitness(*get(name))
    assert float(score) == pytest.approx(value, abs=0.04 if value < 0.9 else 0.005)
    assert score["explicitness.auc"] == pytest.approx((1 + float(score)) / 2)


def test_one_class_against_the_rest_misses_middle_values():
    """Unnormalised, the middle of an ordered factor is a coin toss; normalised it is found."""
    codes, values = get("perfect")
    paper, study = (explicitness(codes, values, protocol=p) for p in ("paper", "study2019"))
    assert 0.7 < float(paper) < 0.9
    assert float(study) > 0.99


def test_a_constant_code_is_not_divided_by_its_deviation():
    codes, values = get("constant")
    plain, _ = get("perfect")
    for protocol in ("study2019", "carbonneau", "unknot"):
        with_, without = (explicitness(c, values, protocol=protocol) for c in (codes, plain))
        assert float(with_) == pytest.approx(float(without), abs=1e-3)


def test_two_classes():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (300, 1))
    codes = values + 0.1 * rng.normal(size=(300, 1))
    for protocol in ("study2019", "paper", "carbonneau", "unknot"):
        assert float(explicitness(codes, values, protocol=protocol)) == pytest.approx(1, abs=1e-6)


def test_classes_absent_from_the_test_rows_are_skipped():
    codes, values = get("perfect")
    first = values[:, 0] == 0
    score = explicitness(codes, values, test=(codes[first], values[first]))
    assert score.parts["per_factor"][0] == 0.5
    assert score.parts["per_factor"][1:] == pytest.approx(1, abs=0.01)


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_the_area_equals_the_count_of_pairs(seed):
    rng = np.random.default_rng(seed)
    level = np.concatenate([[0, 1, 2], rng.integers(0, 3, 20)])
    beliefs = rng.random((23, 3)).round(1)
    ours = area_under_curve(np.arange(3), torch.from_numpy(beliefs), level)
    pairs = [metrics_rest.area_under_curve(beliefs[:, c], level == c) for c in range(3)]
    assert ours == pytest.approx(np.mean(pairs))
