import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import metrics_information

from metrics.representations import ALIGNED, expected, factors, get, perfect
from unknot.metrics import mig
from unknot.metrics.mig import PROTOCOLS, Settings
from unknot.metrics.parts import information


@expected(
    ALIGNED | {"duplicated": 0.0, "rotated": 0.5, "missing": 0.75, "noise": 0.0, "outlier": 0.998}
)
def test_reference_representation(name, value):
    assert float(mig(*get(name))) == pytest.approx(value, abs=0.005)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=20)
def test_equals_the_slow_reference(seed, z, f):
    rng = np.random.default_rng(seed)
    codes, values = rng.normal(size=(40, z)), rng.integers(0, 3, (40, f))
    ours = mig(codes, values, protocol=Settings(information.Counting(bins=5)))
    assert float(ours) == pytest.approx(metrics_information.mig(codes, values, 5), abs=1e-10)


def test_the_ceiling_of_twenty_bins_on_dsprites():
    """20 equal bins cannot tell 32 or 40 values apart: at best ln 20 of ln 32."""
    sizes = (3, 6, 40, 32, 32)
    values = np.stack([np.arange(15_360) // 2**k * 7 % n for k, n in enumerate(sizes)], axis=1)
    rng = np.random.default_rng(0)
    values = np.stack([rng.permutation(column) for column in values.T], axis=1)
    codes = np.hstack([values.astype(float), np.zeros((len(values), 5))])
    study = Settings(replace(information.STUDY, samples=None))
    score = mig(codes, values, protocol=study)
    best = (1 + 1 + math.log(20) / math.log(40) + 2 * math.log(20) / math.log(32)) / 5
    assert 0.88 < score.ceiling < best
    assert score.ceiling == pytest.approx(float(score), abs=1e-12)
    assert score.relative == pytest.approx(1)


def noisy() -> np.ndarray:
    return perfect() + 0.1 * np.random.default_rng(5).normal(size=perfect().shape)


def test_one_outlier_in_a_thousand_does_not_collapse_the_default_bins():
    """Equal widths squeeze all other values into a few bins: 0.72 becomes 0.31 for others."""
    far = noisy()
    far[::1000] *= 20
    assert float(mig(far, factors(), protocol="study2019")) < 0.8
    assert float(mig(far, factors())) == pytest.approx(float(mig(noisy(), factors())), abs=0.01)


def test_outliers_do_not_raise_the_default_score():
    """Dividing by the entropy of the code rewards a code that outliers have emptied."""
    codes = perfect() + 0.5 * np.random.default_rng(5).normal(size=perfect().shape)
    far = codes.copy()
    far[::1000] *= 20
    gains = {
        name: float(mig(far, factors(), protocol=name))
        - float(mig(codes, factors(), protocol=name))
        for name in ("carbonneau", "unknot")
    }
    assert gains["carbonneau"] > 0.05
    assert abs(gains["unknot"]) < 0.01


def test_every_value_of_a_factor_counts():
    """Binning a factor of 40 values into 20 merges them, and the score rises."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 40, (4_000, 2))
    codes = values + rng.normal(size=values.shape)
    each = Settings(information.Counting(bins=20))
    merged = Settings(information.Counting(bins=20, factor_bins=20))
    assert len(np.unique(values[:, 0])) == 40
    each_, merged_ = (mig(codes, values, protocol=p) for p in (each, merged))
    assert each_.parts["factor_entropies"] == pytest.approx(math.log(40), abs=0.01)
    assert float(merged_) > float(each_) + 0.02


def test_the_interval_covers_the_value_and_narrows_with_rows():
    codes, values = noisy(), factors()
    score = mig(codes, values, protocol="study2019", interval=0.9)
    low, high = score.interval
    assert low < float(score) < high
    assert score.protocol["level"] == 0.9
    few = mig(codes[::8], values[::8], protocol="study2019", interval=0.9)
    assert few.interval[1] - few.interval[0] > 1.5 * (high - low)


def test_one_code_and_one_factor():
    values = factors()[:, :1]
    assert float(mig(values.astype(float), values)) == pytest.approx(1)


def test_a_gap_in_shares_of_all_information():
    """Of two codes, one with all of a factor and one with its half, the first leads by a third."""
    level = np.tile(np.arange(4), 200)[:, None]
    codes = np.hstack([level, level // 2]).astype(float)
    score = mig(codes, level, protocol=replace(PROTOCOLS["study2019"], normalizer="sum"))
    assert float(score) == pytest.approx(1 / 3)
    assert float(mig(codes, level, protocol="study2019")) == pytest.approx(1 / 2)
