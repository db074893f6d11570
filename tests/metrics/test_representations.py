"""Expected values of the classic scores under ``study2019`` on every reference representation.

Those of the default protocol stand in the tests of each score.
"""

import math

import pytest

from metrics.representations import ALL, SIZES, get
from unknot import metrics

# One outlier stretches 20 bins of equal width until neighbouring values share one: of four values
# two, of six each two.
SQUEEZED = (1 + 0.75 + 2 * math.log(3) / math.log(6)) / 4
# A rotated code reaches sqrt(2) as far as the two it mixes, and half as far while one of their
# factors is held; codes weigh by how far they reach.
REACH = [(size - 1) / 2 / math.sqrt((size**2 - 1) / 12) for size in SIZES]
FAR = math.sqrt(2) * REACH[2]
IRS_ROTATED = (REACH[0] + REACH[1] + 2 * FAR * 0.5) / (REACH[0] + REACH[1] + 2 * FAR)
ONE = dict.fromkeys(ALL, 1.0)
EXPECTED = {
    # Score by representation, and how much chance may move it.
    "mig": (
        ONE | {"duplicated": 0, "rotated": 0.5, "missing": 0.75, "noise": 0, "outlier": SQUEEZED},
        0.015,
    ),
    # A constant code counts as 0, a dead one as whatever its noise gives.
    "modularity": (ONE | {"constant": 0.8, "rotated": (2 + 2 * 2 / 3) / 4, "noise": 0.65}, 0.08),
    "factor_vae": (
        ONE | {"rotated": 0.75, "missing": 0.75, "noise": 0.25, "outlier": (1 - 0.001) ** 64},
        0.03,
    ),
    "beta_vae": (ONE | {"rotated": 0.75, "noise": 0.25}, 0.03),
    "irs": (ONE | {"rotated": IRS_ROTATED, "noise": 0.35}, 0.01),
    "explicitness": (ONE | {"missing": 0.875, "noise": 0.5}, 0.02),
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("score", EXPECTED)
def test_study2019(score, name):
    values, tolerance = EXPECTED[score]
    found = getattr(metrics, score)(*get(name), protocol="study2019")
    assert float(found) == pytest.approx(values[name], abs=tolerance)


@pytest.mark.parametrize("name", ALL)
def test_sap_of_study2019_is_far_below_one(name):
    """One line per value names the outer values of an ordered factor and few between."""
    low, high = {"duplicated": (0, 1e-9), "noise": (0, 0.02)}.get(name, (0.3, 0.5))
    assert low <= float(metrics.sap(*get(name), protocol="study2019")) <= high
