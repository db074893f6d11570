"""MIG from nearest neighbours."""

import numpy as np
import pytest

from metrics import peers
from metrics.representations import ALIGNED, expected, factors, get, perfect
from unknot.core.errors import ConfigError
from unknot.metrics import mig
from unknot.metrics.mig import Neighbors
from unknot.metrics.parts.facts import pick_protocol, protocols_for


@expected(
    ALIGNED | {"duplicated": 0.0, "rotated": 0.5, "missing": 0.75, "noise": 0.005, "outlier": 0.998}
)
def test_reference_representation(name, value):
    score = mig(*get(name), protocol=Neighbors())
    assert float(score) == pytest.approx(value, abs=0.005)
    assert score.ceiling == pytest.approx(1, abs=1e-9)


def test_forty_values_have_no_ceiling_unlike_in_twenty_bins():
    values = np.stack([np.arange(4_000) % 40, np.arange(4_000) // 40 % 4], axis=1)
    codes = values.astype(float)
    assert float(mig(codes, values, protocol="study2019")) < 0.92
    assert float(mig(codes, values, protocol=Neighbors())) == pytest.approx(1, abs=1e-9)


def test_outliers_do_not_matter():
    codes = perfect() + 0.1 * np.random.default_rng(5).normal(size=perfect().shape)
    far = codes.copy()
    far[::1000] *= 20
    near, away = (float(mig(c, factors(), protocol=Neighbors())) for c in (codes, far))
    assert away == pytest.approx(near, abs=0.01)


def test_the_record_says_how():
    codes, values = get("noise")
    score = mig(codes, values, protocol=Neighbors(neighbors=4, samples=500), seed=3)
    record = score.protocol
    assert (record["name"], record["neighbors"], record["rows"]) == ("custom", 4, 500)
    with pytest.raises(ConfigError, match="its own Settings; got Neighbors"):
        pick_protocol("mig_sup", protocols_for("mig_sup"), Neighbors())


def test_the_interval_covers_the_value():
    codes = perfect()[::8] + 0.3 * get("noise")[0][::8]
    score = mig(codes, factors()[::8], protocol=Neighbors(), interval=0.9)
    assert score.interval[0] < float(score) < score.interval[1]


@pytest.mark.parametrize("case", peers.CASES)
def test_equals_the_gaps_of_the_reference(case):
    """Of latent_quantization at 9a420a3, whose information exceeds the entropy by up to 1e-4."""
    theirs = peers.golden(case)["infomec_and_tripod"]["infomec_continuous"]["matrices"]
    ours = mig(*peers.train(case), protocol=Neighbors())
    gaps = theirs["gap_of_two_largest_nmi_per_factor"]
    np.testing.assert_allclose(ours.parts["per_factor"], gaps, atol=2e-4)
