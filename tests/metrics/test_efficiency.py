import math

import numpy as np
import pytest
import torch

from metrics.representations import ALIGNED, SIZES, expected, factors, get, perfect
from unknot.core.errors import ConfigError, DataError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import efficiency
from unknot.metrics.efficiency import PROTOCOLS, Settings, predict
from unknot.metrics.parts.learners import bin_codes

QUICK = Settings(("linear",), labels=(10, 100, 1_000), test_samples=500)


@expected(
    ALIGNED
    # What trees need more labels for: boundaries across both codes.
    | {"duplicated": 1.0, "rotated": 0.898, "missing": 1.0, "noise": 0.0, "outlier": 1.0}
)
def test_reference_representation(name, value):
    """A hundred labels are enough where one code tells each factor."""
    score = efficiency(*get(name))
    assert float(score) == pytest.approx(value, abs=0.01)
    assert score["efficiency.chance"] == pytest.approx(np.mean(1 / np.array(SIZES)), abs=0.02)
    best = {"noise": 0.22, "missing": 0.78, "rotated": 0.98}.get(name, 1.0)
    assert score["efficiency.boosting_1440"] == pytest.approx(best, abs=0.02)


def test_a_noisy_threshold_is_learnt_to_the_best_there_is():
    """Two values through noise of deviation 1/2: at most the normal distribution at 1."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2, (15_000, 1))
    codes = values + 0.5 * rng.normal(size=values.shape)
    score = efficiency(codes, values)
    best = 0.5 * (1 + math.erf(1 / math.sqrt(2)))
    for learner in ("boosting", "linear"):
        assert score[f"efficiency.{learner}_10000"] == pytest.approx(best, abs=0.015)
    assert score["efficiency.chance"] == pytest.approx(0.5, abs=0.02)
    assert score.protocol["rows"] == 10_000
    assert score.protocol["test_rows"] == 5_000
    assert not score.remarks


@pytest.mark.parametrize(("rows", "share"), [(100, 0.97), (1_000, 0.999)])
def test_boosting_of_bins_is_scikit_learns(rows, share):
    """Of a hundred rows many splits are equally good: its own seeds differ in 2 % there."""
    from sklearn.ensemble import GradientBoostingClassifier

    rng = np.random.default_rng(0)
    codes = rng.normal(size=(rows + 2_000, 3))
    level = np.digitize(codes @ [1.0, 0.5, 0.0] + 0.3 * rng.normal(size=len(codes)), [-1, 0, 1])
    x, x_held = torch.from_numpy(codes).split([rows, 2_000])
    ours = predict("boosting", PROTOCOLS["unknot"], x, level[:rows], x_held, 0)
    few, few_held = bin_codes(x.numpy(), x_held.numpy(), 128)
    trees = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(few, level[:rows])
    assert np.mean(ours == trees.predict(few_held)) >= share


def test_the_share_is_that_of_the_two_accuracies():
    codes, values = get("rotated")
    score = efficiency(codes, values)
    few, most, chance = (
        score[f"efficiency.{key}"] for key in ("linear_100", "linear_1440", "chance")
    )
    assert score["efficiency.linear"] == pytest.approx((few - chance) / (most - chance))
    plain = efficiency(codes, values, protocol=QUICK)
    assert float(plain) == pytest.approx(
        plain["efficiency.linear_100"] / plain["efficiency.linear_1000"]
    )
    table = plain.parts["linear"]
    assert table.shape == (3, 4)
    np.testing.assert_array_equal(plain.parts["labels"], [10, 100, 1_000])
    assert plain["efficiency.linear_10"] == pytest.approx(table[0].mean())


def test_codes_that_tell_nothing_are_efficient_in_the_study_and_said_to_be_chance():
    codes, values = get("noise")
    study = efficiency(codes, values, protocol=QUICK)
    assert float(study) > 0.9
    assert "no more than chance" in study.remarks[-1]


def test_the_study_learns_from_ten_labels_of_which_all_may_be_one_value():
    """Its two learners at sizes that end soon, on a factor with a rare value."""
    rng = np.random.default_rng(1)
    values = np.stack([rng.random(400) < 0.02, rng.integers(0, 3, 400)], axis=1)
    codes = values + 0.1 * rng.normal(size=values.shape)
    study = Settings(("boosting", "linear cv"), labels=(10, 100, 200), test_samples=200)
    score = efficiency(codes, values, protocol=study)
    assert score["efficiency.boosting_200"] > 0.95
    assert score["efficiency.linear_cv_200"] > 0.95
    assert score["efficiency.linear_cv_200"] >= score["efficiency.linear_cv_10"]
    assert "scikit_learn" in score.protocol


def test_given_rows_are_shuffled_before_labels_are_counted():
    """In the order of a grid the first hundred rows would hold one value of the first factor."""
    test = (perfect()[::7], factors()[::7])
    score = efficiency(perfect(), factors(), protocol=QUICK, test=test)
    assert score.protocol["test_rows"] == len(test[0])
    assert score.parts["linear"][1, 0] > 0.9


def test_a_grid_of_codes():
    space = FactorSpace(("a", "b", "c", "d"), SIZES, ("ordered",) * 4)
    grid = Representation.whole(space, torch.from_numpy(perfect()[: space.size]))
    score = efficiency(grid)
    assert score.protocol["rows"] == 288
    assert score.remarks == ("288 labels stand in for 10,000",)
    assert float(score) == pytest.approx(1, abs=0.1)


def test_bad_input_is_one_clear_error():
    codes, values = get("perfect")
    with pytest.raises(DataError, match="100 labels with more, and has 67 rows"):
        efficiency(codes[:100], values[:100])
    for learners, labels in ((("linear",), (10, 50)), ((), (100, 200))):
        with pytest.raises(ConfigError, match="needs a learner, and labels with 100"):
            Settings(learners, labels=labels)
    study = Settings(("boosting",), labels=(10, 100, 200), test_samples=200)
    with pytest.raises(DataError, match="do not fit trees"):
        efficiency(1e200 * codes, values, protocol=study)
