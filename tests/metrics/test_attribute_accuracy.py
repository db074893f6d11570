"""Attributes named by the difference of their mean codes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from metrics.representations import get
from unknot.core.errors import DataError
from unknot.metrics import attribute_accuracy
from unknot.metrics.attribute_accuracy import hinge_bias


@pytest.mark.parametrize("protocol", ["paper", "kumar", "unknot"])
def test_two_normal_clouds_are_told_apart_as_their_distance_says(protocol):
    """Means two deviations apart: half a distance on either side, so Phi(1) are right."""
    rng = np.random.default_rng(0)
    has = rng.integers(0, 2, (40_000, 1))
    codes = rng.normal(size=(40_000, 3)) + has * [2.0, 0.0, 0.0]
    score = attribute_accuracy(codes, has, protocol=protocol)
    assert float(score) == pytest.approx(norm.cdf(1), abs=0.01)
    assert score["attribute_accuracy.majority"] == pytest.approx(0.5, abs=0.01)
    assert score["attribute_accuracy.chance"] == pytest.approx(0.5, abs=0.01)


def test_chance_and_majority_of_a_rare_attribute():
    """One in ten has it: naming none is right in 0.9, drawing at random in 0.81 + 0.01."""
    has = (np.arange(5_000) % 10 == 0)[:, None]
    score = attribute_accuracy(np.random.default_rng(0).normal(size=(5_000, 4)), has)
    assert score["attribute_accuracy.majority"] == pytest.approx(0.9, abs=0.02)
    assert score["attribute_accuracy.chance"] == pytest.approx(0.82, abs=0.02)
    assert float(score) == pytest.approx(0.9, abs=0.02)
    perfect = attribute_accuracy(has.astype(float), has)
    assert float(perfect) == 1


def test_a_factor_of_more_values_is_an_attribute_each():
    """The ends of a line can be cut off, what is between them cannot."""
    codes, values = get("perfect")
    parts = attribute_accuracy(codes[:, :1], values[:, :1]).parts
    assert len(parts["per_attribute"]) == 3
    assert parts["per_attribute"][[0, 2]] == pytest.approx(1)
    assert parts["per_attribute"][1] == pytest.approx(parts["majority"][1], abs=0.05)


@given(st.integers(0, 10_000), st.integers(3, 30))
@settings(max_examples=40)
def test_no_other_bias_has_a_smaller_hinge_loss(seed, n):
    rng = np.random.default_rng(seed)
    sides = rng.normal(size=n) * rng.choice([0.1, 1, 10])
    y = np.where(rng.permutation(n) < rng.integers(1, n), 1.0, -1.0)

    def loss(bias):
        return np.maximum(0, 1 - y * (sides + bias)).sum()

    ours = hinge_bias(torch.from_numpy(sides)[:, None], torch.from_numpy(y > 0)[:, None]).item()
    assert loss(ours) <= min(map(loss, [*(y - sides), *np.linspace(-30, 30, 601)])) + 1e-9


def test_what_no_row_has_cannot_be_learnt():
    values = np.zeros((20, 1), int)
    values[15:] = 1
    codes = np.arange(20.0)[:, None]
    with pytest.raises(DataError):
        attribute_accuracy(codes[:15], values[:15], test=(codes[15:], values[15:]))
