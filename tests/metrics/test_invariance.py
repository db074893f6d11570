"""What must not change a score: order, sign, unit and origin of codes, and the kind of array."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.representations import NO_CEILING, NO_FLOOR, SCORES, UNSUPERVISED
from unknot import metrics

RNG = np.random.default_rng(7)
# Even, so that no rank lies in the middle, on an edge of quantile bins.
N = 600
FACTORS = RNG.integers(0, 5, (N, 3))
MIXING = np.array([[1.0, 0.2, 0.0, 0.0, 0.3], [0.1, 1.0, 0.4, 0.0, 0.0], [0.0, 0.3, 1.0, 0.6, 0.0]])
CODES = FACTORS @ MIXING + 0.3 * RNG.normal(size=(N, 5))
Z = CODES.shape[1]

# Solvers stop early and trees break ties by the order of codes; counting is exact.
TOLERANCE = {
    "dci": 0.05,
    "efficiency": 0.05,
    "explicitness": 0.005,
    "beta_vae": 0.01,
    "unfairness": 0.02,
}
STUDY = ("mig", "modularity", "explicitness")
# Its threshold is in units of the codes.
IN_UNITS = ("active_units",)
# They compare how far codes move, so that codes may be measured in any unit, but all in the same.
IN_ONE_UNIT = ("axis_alignment", "distance_correlation", "linearity", "orientation")


def changed(permutation, signs, scales, shifts):
    return (CODES * signs * scales + shifts)[:, permutation]


@pytest.mark.parametrize(
    ("name", "protocol"),
    [(name, "unknot") for name in SCORES if name not in IN_UNITS]
    + [(name, "study2019") for name in STUDY],
)
@given(
    permutation=st.permutations(range(Z)),
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=Z, max_size=Z),
    scales=st.lists(st.floats(1e-3, 1e3), min_size=Z, max_size=Z),
    shifts=st.lists(st.floats(-5, 5), min_size=Z, max_size=Z),
)
@settings(max_examples=3)
def test_order_sign_scale_and_origin_of_codes(name, protocol, permutation, signs, scales, shifts):
    score = getattr(metrics, name)
    if name in IN_ONE_UNIT:
        scales = scales[0]
    before = score(CODES, FACTORS, protocol=protocol)
    after = score(changed(permutation, signs, scales, shifts), FACTORS, protocol=protocol)
    assert float(after) == pytest.approx(float(before), abs=TOLERANCE.get(name, 1e-6))


@pytest.mark.parametrize("name", SCORES)
def test_same_seed_same_score_and_inputs_are_left_alone(name):
    codes, factors = CODES.copy(), FACTORS.copy()
    score = getattr(metrics, name)
    assert score(codes, factors, seed=1).values == score(codes, factors, seed=1).values
    np.testing.assert_array_equal(codes, CODES)
    np.testing.assert_array_equal(factors, FACTORS)


@pytest.mark.parametrize("name", SCORES)
def test_torch_and_numpy_agree(name):
    score = getattr(metrics, name)
    by_torch = score(torch.from_numpy(CODES).float().double(), torch.from_numpy(FACTORS))
    by_numpy = score(CODES.astype(np.float32), FACTORS.astype(np.int16))
    assert by_torch.values == by_numpy.values


@pytest.mark.parametrize("name", SCORES)
def test_values_are_finite_and_named_after_the_file(name):
    cases = [(CODES, FACTORS[:, :1]), (CODES, FACTORS > 2), (CODES[:, :1], FACTORS[:, :1])]
    strange = (CODES[:, :1], np.ones_like(CODES), 1e-200 * CODES, 1e150 * CODES)
    for codes, factors in cases + [(c, FACTORS) for c in strange]:
        score = getattr(metrics, name)(codes, factors)
        assert all(np.isfinite(value) for value in score.values.values())
        assert all(np.isfinite(part).all() for part in score.parts.values())
        assert float(score) >= 0 or name == NO_FLOOR
        assert float(score) <= 1 + 1e-9 or name in (*UNSUPERVISED, NO_CEILING)
        assert {key.split(".")[0] for key in score.values} == {name}
