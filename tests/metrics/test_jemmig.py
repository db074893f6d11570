import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information
from scipy.special import xlogy

from metrics.representations import ALIGNED, SIZES, expected, get
from unknot.core.errors import ConfigError
from unknot.metrics import jemmig
from unknot.metrics.jemmig import Quantized
from unknot.metrics.parts import information

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
    ours = jemmig(codes, values, protocol=information.Counting(bins=5))
    assert float(ours) == pytest.approx(metrics_information.jemmig(codes, values, 5), abs=1e-10)


def masses(mean, deviation, bins, reach):
    """Of each posterior in each bin, by the error function."""
    edges = [-math.inf, *(-reach + 2 * reach * i / bins for i in range(1, bins)), math.inf]
    below = [[0.5 * (1 + math.erf((e - m) / (deviation * 2**0.5))) for e in edges] for m in mean]
    return np.diff(np.array(below), axis=1)


def test_the_mass_of_posteriors_by_hand():
    """Two values, one code with them at -1 and 1, one that knows nothing; 8 bins from -2 to 2."""
    values = np.arange(200)[:, None] % 2
    mean = np.hstack([2.0 * values - 1, np.zeros((200, 1))])
    logvar = np.full((200, 2), 2 * math.log(0.3))
    score = jemmig(mean, values, logvar=logvar, protocol=Quantized(bins=8, reach=2.0))
    joint = masses([-1, 1], 0.3, 8, 2.0) / 2
    h = -xlogy(joint, joint).sum()
    i = xlogy(joint, joint / joint.sum(0) / 0.5).sum()
    assert score.parts["information"][:, 0] == pytest.approx([i, 0], abs=1e-12)
    assert score.parts["joint_entropies"][0, 0] == pytest.approx(h, abs=1e-12)
    assert float(score) == pytest.approx(1 - (h - i) / (math.log(2) + math.log(8)), abs=1e-12)


@pytest.mark.parametrize("name", ["perfect", "permuted", "flipped", "rotated", "missing"])
def test_narrow_posteriors_are_counted_codes(name):
    """As the deviations go to 0 all mass is in one bin: plain counting in the same bins."""
    codes, values = get(name)
    narrow = np.full_like(codes, -40.0)
    score = jemmig(codes, values, logvar=narrow, protocol="paper")
    bins = np.clip(np.floor((codes + 4) / 0.08), 0, 99)
    counted = metrics_information.tables(bins[::5], values[::5])
    assert score.parts["information"] == pytest.approx(counted[0], abs=1e-9)
    assert score.parts["joint_entropies"] == pytest.approx(counted[1], abs=1e-9)


def test_wide_posteriors_hold_more_beside_the_factor():
    codes, values = get("perfect")
    scores = [
        float(jemmig(codes, values, logvar=np.full_like(codes, v), protocol="paper"))
        for v in (-40.0, -6.0, -2.0, 0.0)
    ]
    assert scores[0] == pytest.approx(1, abs=1e-9)
    assert scores == sorted(scores, reverse=True)
    with pytest.raises(ConfigError, match="jemmig under the protocol of its paper reads whole"):
        jemmig(codes, values, protocol="paper")
