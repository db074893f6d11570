"""Readout: least squares and logistic regression by scikit-learn, and rows beyond those learnt."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

import unknot
from metrics.representations import expected, get
from unknot.core.factor_table import FactorTable
from unknot.metrics import readout

SIZES = (3, 8, 5)
GRID = np.indices(SIZES).reshape(3, -1).T.repeat(8, axis=0)


def table(values: np.ndarray, kinds) -> FactorTable:
    levels = tuple(tuple(range(size)) for size in SIZES)
    return FactorTable(("shape", "angle", "x"), kinds, levels, torch.from_numpy(values))


KINDS = ("nominal", "cyclic", "ordered")


def codes_of(values: np.ndarray) -> np.ndarray:
    shape, angle, x = values.T
    turn = 2 * np.pi * angle / SIZES[1]
    return np.column_stack([*(shape == s for s in range(3)), np.cos(turn), np.sin(turn), x]).astype(
        float
    )


PERFECT = dict.fromkeys(
    ("perfect", "permuted", "rescaled", "flipped", "dead_first", "dead_last", "constant"), 1.0
)


@expected(PERFECT | {"duplicated": 1, "rotated": 1, "missing": 0.75, "noise": 0, "outlier": 0.57})
def test_reference_representation(name, value):
    score = readout(*get(name))
    assert float(score) == pytest.approx(value, abs=0.1 if name == "outlier" else 0.01)
    assert float(score) == score["readout.r2"]


def test_each_kind_of_factor_is_read_in_its_own_way():
    score = readout(codes_of(GRID), table(GRID, KINDS))
    assert score.parts["per_factor"] == pytest.approx([1, 1, 1])
    assert score["readout.accuracy"] == score["readout.r2"] == pytest.approx(1)
    assert score["readout.forest_accuracy"] == 1
    # As numbers, an angle is no line of its sine and cosine.
    as_numbers = readout(codes_of(GRID), table(GRID, KINDS), protocol="paper")
    assert as_numbers.parts["per_factor"][1] < 0.8
    assert "readout.accuracy" not in as_numbers.values


def test_r2_is_of_least_squares_in_units_of_the_variance_of_all_values():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, (500, 2))
    codes = values @ rng.normal(size=(2, 4)) + rng.normal(size=(500, 4))
    test = (codes[:200], np.minimum(values[:200], 3))
    score = readout(codes[200:], values[200:], test=test)
    model = LinearRegression().fit(codes[200:], values[200:])
    error = ((model.predict(test[0]) - test[1]) ** 2).mean(0)
    assert score.parts["per_factor"] == pytest.approx(1 - error / np.arange(6).var(), abs=1e-9)


def test_lines_go_on_and_trees_do_not():
    """Of positions beyond those learnt, trees say the last one they know."""
    inside, outside = GRID[GRID[:, 1] < 4], GRID[GRID[:, 1] >= 4]
    score = readout(inside.astype(float), inside, test=(outside.astype(float), outside))
    assert score.parts["per_factor"] == pytest.approx([1, 1, 1])
    missed = ((outside[:, 1] - 3) ** 2).mean() / np.arange(8).var()
    assert score.parts["forest_per_factor"][1] == pytest.approx(1 - missed)


def test_codes_that_tell_nothing_get_what_the_mean_gets():
    score = readout(np.ones((len(GRID), 2)), table(GRID, KINDS))
    assert score["readout.r2"] == pytest.approx(0, abs=0.02)
    assert score["readout.accuracy"] == pytest.approx(1 / 3, abs=0.05)


def test_a_part_is_read_by_what_the_training_part_taught():
    run = unknot.train(
        "soft_squares",
        net="linear",
        steps=3,
        split={"kind": "range", "factors": ["x"], "test": 0.25, "validation": 0.1},
        progress=False,
    )
    (test,) = run.score("readout", part="test")
    (train,) = run.score("readout", part="train")
    assert test.protocol["test_rows"] > 0
    assert test.part == "test"
    assert test.values["readout"] < train.values["readout"]
