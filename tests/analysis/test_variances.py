import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from metrics import study2019
from sklearn.linear_model import LinearRegression

from unknot.analysis import split_table, variance_shares
from unknot.core.errors import DataError


def one_hot(labels):
    known = sorted(set(labels))
    return np.array([[label == k for k in known] for label in labels], dtype=float)


@pytest.mark.parametrize("dataset", study2019.DATASETS)
@pytest.mark.parametrize("score", ["beta_vae", "mig", "dci.d"])
def test_regression_of_the_published_models(dataset, score):
    """R squared of one-hot predictors, as the study explains its scores."""
    table = study2019.table(dataset)
    groups = list(zip(table["objective"], table["swept_value"], strict=True))
    fits = [one_hot(labels) for labels in (table["objective"], groups)]
    r2 = [LinearRegression().fit(x, table[score]).score(x, table[score]) for x in fits]
    found = variance_shares(table, score)
    assert found.groups == {"objective": 6, "swept_value": 36}
    assert found.shares["objective"] == pytest.approx(r2[0], abs=1e-9)
    assert found.shares["swept_value"] == pytest.approx(r2[1] - r2[0], abs=1e-9)
    assert sum(found.shares.values()) == pytest.approx(1)
    assert sum(found.corrected.values()) == pytest.approx(1)


def test_the_seed_is_what_is_left_within_settings():
    """Mean deviation over the 50 seeds of a setting, published for dSprites."""
    table = study2019.table("dsprites_full")
    settings_ = list(zip(table["objective"], table["swept_value"], strict=True))
    published = {"beta_vae": 0.042, "factor_vae": 0.073, "mig": 0.043, "sap": 0.016, "dci.d": 0.050}
    for score, mean in published.items():
        parts = split_table({"setting": settings_, score: table[score]}, "setting").values()
        spread = [np.std(part[score], ddof=1) for part in parts]
        assert np.mean(spread) == pytest.approx(mean, abs=0.0006), score
        within = 49 * np.sum(np.square(spread)) / (1800 * np.var(table[score]))
        assert variance_shares(table, score).shares["seed"] == pytest.approx(within)


@given(st.integers(0, 1000))
@settings(max_examples=20)
def test_nested_sums_of_squares_of_any_table(seed):
    """Against regression, with settings of different sizes, and a third column."""
    rng = np.random.default_rng(seed)
    labels = {"a": rng.integers(0, 2, 30), "b": rng.integers(0, 3, 30), "c": rng.integers(0, 2, 30)}
    x = rng.normal(size=30) + labels["a"]
    found = variance_shares({**labels, "x": x}, "x", by=["a", "b", "c"], rest="else")
    before, columns = 0.0, []
    for name in labels:
        columns.append(labels[name].tolist())
        design = one_hot(list(zip(*columns, strict=True)))
        r2 = LinearRegression().fit(design, x).score(design, x)
        assert found.shares[name] == pytest.approx(r2 - before, abs=1e-9)
        before = r2
    assert found.shares["else"] == pytest.approx(1 - before, abs=1e-9)


def test_chance_is_taken_off():
    """Of pure noise 35 of 107 degrees of freedom explain a third; corrected, nothing."""
    rng = np.random.default_rng(0)
    setting = np.arange(108) // 3
    shares, corrected = [], []
    for _ in range(200):
        found = variance_shares(
            {"objective": setting // 6, "swept_value": setting, "x": rng.normal(size=108)}, "x"
        )
        shares.append(1 - found.shares["seed"])
        corrected.append(1 - found.corrected["seed"])
    assert np.mean(shares) == pytest.approx(35 / 107, abs=0.01)
    assert np.mean(corrected) == pytest.approx(0, abs=0.02)


def test_known_effects_are_found():
    """Effects of variance 4, 1 and 0.25 on 400 models."""
    rng = np.random.default_rng(1)
    objective = np.repeat(np.arange(2), 200)
    swept = np.tile(np.repeat(np.arange(2), 100), 2)
    x = 4.0 * objective + 2.0 * swept + 0.5 * rng.normal(size=400)
    found = variance_shares({"objective": objective, "swept_value": swept, "x": x}, "x")
    expected = np.array([4, 1, 0.25]) / 5.25
    assert list(found.shares.values()) == pytest.approx(expected, abs=0.01)
    assert repr(found).startswith("x: objective 76 %")


def test_models_without_the_score_are_left_out():
    table = {"objective": list("aabb"), "x": [1.0, 2, 4, None]}
    found = variance_shares(table, "x", by=["objective"])
    assert found.n == 3
    assert found.remarks == ("1 models without 'x' were left out",)
    assert (
        variance_shares({"objective": list("aab"), "x": [1.0, 2, 4]}, "x", by=["objective"]).shares
        == found.shares
    )


@pytest.mark.parametrize("nan", [float("nan"), np.float32("nan"), None])
def test_models_without_a_setting_are_one_group(nan):
    x = [1.0, 2, 4, 5]
    known = variance_shares({"swept_value": [1.0, 1.0, 0.0, 0.0], "x": x}, "x", by=["swept_value"])
    # Two objects: a dictionary takes no NaN for another one.
    missing = [1.0, 1.0, nan, None if nan is None else type(nan)("nan")]
    found = variance_shares({"swept_value": missing, "x": x}, "x", by=["swept_value"])
    assert found.groups == {"swept_value": 2}
    assert found.shares == known.shares


def test_tables_that_cannot_tell():
    with pytest.raises(DataError, match="'x' does not vary over 3 models"):
        variance_shares({"objective": list("aab"), "x": [1.0] * 3}, "x", by=["objective"])
    with pytest.raises(DataError, match="does not vary over 0 models"):
        variance_shares({"objective": ["a"], "x": [None]}, "x", by=["objective"])
    with pytest.raises(DataError, match="the seed cannot be told from it"):
        variance_shares({"objective": list("abc"), "x": [1.0, 2, 3]}, "x", by=["objective"])
