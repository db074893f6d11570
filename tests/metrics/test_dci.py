import math
from dataclasses import replace

import numpy as np
import pytest

from metrics import peers
from metrics.representations import ALIGNED, expected, get
from unknot.metrics import dci
from unknot.metrics.dci import Settings
from unknot.metrics.parts.facts import lower_is_better

# A factor that nothing predicts spreads its importance evenly over the three codes: each then
# serves its own factor and a third of the missing one.
THIRDS = np.array([0.75, 0.25])
# The penalty 0.02 comes off each weight, so two codes that share a factor weigh more than one.
SHARED = 2 * (math.sqrt(0.5) - 0.02)
ROTATED = (2 * 0.98 * 1 + 2 * SHARED * 0.5) / (2 * 0.98 + 2 * SHARED)
MISSING = 1 + (THIRDS * np.log(THIRDS)).sum() / math.log(4)


@expected(
    ALIGNED | {"duplicated": 1.0, "rotated": 0.75, "missing": MISSING, "noise": 0.0, "outlier": 1.0}
)
def test_disentanglement_of_reference_representation(name, value):
    score = dci(*get(name))
    assert float(score) == pytest.approx(value, abs=0.02)
    assert score["dci.disentanglement"] == float(score)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("perfect", 1.0),
        ("duplicated", 1 - math.log(2) / math.log(8)),
        ("rotated", 0.75),
        ("missing", 0.75),
    ],
)
def test_completeness_of_reference_representation(name, value):
    assert dci(*get(name))["dci.completeness"] == pytest.approx(value, abs=0.03)


@pytest.mark.parametrize(
    ("name", "d", "c"),
    [("perfect", 1, 1), ("dead_first", 1, 1), ("rotated", ROTATED, 0.75), ("missing", 1, 0.75)],
)
def test_the_lasso_of_the_paper(name, d, c):
    score = dci(*get(name), protocol="paper", test=get(name))
    assert score["dci.disentanglement"] == pytest.approx(d, abs=0.005)
    assert score["dci.completeness"] == pytest.approx(c, abs=0.02)


@pytest.mark.parametrize("protocol", ["paper", "carbonneau", "unknot"])
@pytest.mark.parametrize("name", ["dead_first", "constant"])
def test_dead_first_code_does_not_zero_dci(name, protocol):
    """Leaving the loop at the first code without importance gives a perfect code D = 0."""
    score = dci(*get(name), protocol=protocol)
    assert float(score) == pytest.approx(1, abs=0.01)
    assert score["dci.completeness"] == pytest.approx(1, abs=0.01)


def test_weights_of_noise_are_flagged():
    """The few weights that a lasso keeps on noise look perfectly disentangled."""
    score = dci(*get("noise"), protocol="paper")
    assert score["dci.informativeness"] < 0.05
    assert "describe noise" in score.remarks[0]


def test_no_importance_at_all_is_zero_and_not_nan():
    """Where every weight is zero others crash."""
    score = dci(*get("noise"), protocol="carbonneau")
    assert (float(score), score["dci.completeness"]) == (0, 0)
    assert "no code has any importance" in score.remarks[0]
    codes, values = np.ones((60, 2)), get("perfect")[1][:60]
    for protocol in ("paper", "unknot", Settings("boosting", trees=2)):
        assert float(dci(codes, values, protocol=protocol)) == 0


def test_trees_are_seeded():
    codes, values = get("rotated")
    codes, values = codes[::4], values[::4]
    for protocol in ("unknot", Settings("boosting", trees=3)):
        first, again, other = (
            dci(codes, values, protocol=protocol, seed=seed) for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(first.parts["importance"], again.parts["importance"])
        assert not np.array_equal(first.parts["importance"], other.parts["importance"])


def test_a_given_test_set_is_what_informativeness_is_measured_on():
    codes, values = get("perfect")
    wrong = (codes[:200], values[:200][::-1].copy())
    score = dci(codes, values, test=wrong)
    assert score["dci.train_informativeness"] > 0.99
    assert score["dci.informativeness"] < 0.6
    assert score.protocol["test_rows"] == 200


@pytest.mark.slow
@pytest.mark.parametrize(("name", "d"), [("perfect", 1), ("constant", 1), ("rotated", 0.75)])
def test_boosting(name, d):
    codes, values = get(name)
    score = dci(codes, values, protocol="study2019", test=(codes[:200], values[:200]))
    assert float(score) == pytest.approx(d, abs=0.03)


def test_bins_of_a_forest_tell_few_values_apart():
    """Where a code has no more values than bins, the trees are the same."""
    draw = np.random.default_rng(0)
    factors = draw.integers(0, 8, (3000, 2))
    codes = np.round(factors @ [[4, 3], [-3, 4]] + draw.normal(0, 3, (3000, 2)))
    assert all(16 < len(np.unique(code)) <= 128 for code in codes.T)
    forest = Settings("forest", trees=5, leaf=0.01)
    exact, same, coarse = (
        dci(codes, factors, protocol=replace(forest, bins=bins)) for bins in (None, 128, 16)
    )
    assert dict(exact.values) == dict(same.values)
    assert float(exact) != float(coarse)
    assert float(exact) == pytest.approx(float(coarse), abs=0.03)


def test_bins_do_not_tear_clumps_apart():
    """Bins of equally many rows would: a clump of 94 rows would lose some to its neighbours."""
    draw = np.random.default_rng(0)
    factors = draw.integers(0, 32, (3000, 2))
    score = dci(factors + draw.normal(0, 0.01, (3000, 2)), factors)
    assert score["dci.informativeness"] == score["dci.train_informativeness"] == 1
    assert float(score) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(("protocol", "name"), [("unknot", "rotated"), ("paper", "missing")])
def test_the_error_is_what_informativeness_lacks(protocol, name):
    score = dci(*get(name), protocol=protocol)
    assert score["dci.error"] == pytest.approx(1 - score["dci.informativeness"], abs=1e-3)
    assert lower_is_better("dci.error")
    assert not lower_is_better("dci.informativeness")


@pytest.mark.slow
@pytest.mark.parametrize("case", peers.CASES)
def test_the_forest_of_tripod(case):
    """Split and drawn codes differ from the reference's: equal within a few percent."""
    theirs = peers.golden(case)["infomec_and_tripod"]["tripod_dci_random_forest"]["scores"]
    ours = dci(*peers.train(case), protocol="hsu2024")
    assert ours.protocol["rows"] == 9_000
    assert float(ours) == pytest.approx(theirs["D"], abs=0.02)
    assert ours["dci.completeness"] == pytest.approx(theirs["C"], abs=0.02)
    assert ours["dci.informativeness"] == pytest.approx(theirs["I"], abs=0.03)
