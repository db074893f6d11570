"""TAD: areas by scikit-learn, differences by hand, and attributes that tell each other."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import mutual_info_score, roc_auc_score

from unknot.core.errors import DataError
from unknot.metrics import tad
from unknot.metrics.tad import detection, explained


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_areas_and_shares_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    codes = np.round(rng.normal(size=(80, 3)), 1)
    has = rng.random((80, 4)) < [0.5, 0.3, 0.9, 0.5]
    has[:2] = [[True] * 4, [False] * 4]
    ours = detection(torch.from_numpy(codes), torch.from_numpy(has)).numpy()
    theirs = [[roc_auc_score(a, c) for a in has.T] for c in codes.T]
    np.testing.assert_allclose(ours, theirs, atol=1e-12)
    shares = explained(torch.from_numpy(has)).numpy()
    expected = [[mutual_info_score(a, b) / mutual_info_score(a, a) for b in has.T] for a in has.T]
    np.testing.assert_allclose(shares, expected, atol=1e-9)


def data(n=4_000, flip=0.1):
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2, (n, 3))
    codes = np.where(rng.random((n, 3)) < flip, 1 - factors, factors).astype(float)
    return codes, factors


def test_differences_of_independent_detectors():
    """Codes that are right nine times in ten have an area of 0.9, and others one half."""
    codes, factors = data()
    score, total = tad(codes, factors), tad(codes, factors, protocol="paper")
    assert float(score) == pytest.approx(0.4, abs=0.02)
    assert float(total) == pytest.approx(3 * float(score))
    assert score["tad.captured"] == score["tad.attributes"] == 3
    assert score["tad.best"] == pytest.approx(0.9, abs=0.01)
    assert float(tad(-codes, factors)) == pytest.approx(float(score))


def test_a_second_detector_takes_the_difference_away():
    codes, factors = data()
    twice = np.column_stack([codes, codes[:, 0]])
    score = tad(twice, factors)
    assert score.parts["per_attribute"][0] == 0
    assert float(score) == pytest.approx(0.4 * 2 / 3, abs=0.02)


def test_poor_detectors_capture_nothing():
    codes, factors = data(flip=0.3)
    score = tad(codes, factors)
    assert (float(score), score["tad.captured"], score["tad.best"]) == (0, 0, 0.5)


def test_attributes_that_tell_each_other_are_left_out():
    codes, factors = data()
    score = tad(codes, np.column_stack([factors, factors[:, 0]]))
    assert score["tad.attributes"] == 2
    assert score.remarks[0].startswith("2 of 4 attributes left out")
    # Values of one factor exclude each other and are not left out for that.
    three = tad(codes, factors[:, 0] + factors[:, :1].T[0] * factors[:, 1][:, None].T[0])
    assert three["tad.attributes"] == 3


def test_narrow_latents_name_nothing_in_the_paper():
    codes, factors = data()
    narrow = tad(0.1 * codes, factors, protocol="paper")
    assert (float(narrow), narrow["tad.captured"]) == (0, 0)
    assert float(tad(0.1 * codes, factors)) == pytest.approx(float(tad(codes, factors)))


def test_one_latent_counts_from_guessing():
    codes, factors = data()
    assert float(tad(codes[:, :1], factors[:, :1])) == pytest.approx(0.4, abs=0.02)


def test_attributes_must_vary():
    with pytest.raises(DataError):
        tad(np.zeros((20, 2)), np.zeros((20, 1), dtype=int))


def test_a_perfect_code_of_many_values_is_remarked_on():
    """Of ten values in order, thresholds name the two at the ends and no others."""
    values = np.arange(10).repeat(20)[:, None]
    score = tad(values.astype(float), values)
    assert float(score) < 0.5
    assert score.remarks[0].startswith("1 of 1 factors have more than two values")
    two = (values > 4).astype(int)
    assert not any("two values" in one for one in tad(two.astype(float), two).remarks)
