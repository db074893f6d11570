"""Unfairness: interventions on a grid in closed form, and groups of given rows."""

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingClassifier

from metrics.representations import get
from unknot.core import noise
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.core.representation import Representation
from unknot.metrics import unfairness
from unknot.metrics.unfairness import Settings, total_variation

SPACE = FactorSpace(("a", "b", "c"), (3, 4, 2), ("ordered",) * 3)
LARGE = 20
"""Copies of the grid: one more factor without an effect."""
GRID = FactorSpace((*SPACE.names, "d"), (*SPACE.sizes, LARGE), ("ordered",) * 4)


def grid(codes) -> Representation:
    values = GRID.factors(torch.arange(GRID.size)).double()
    return Representation.whole(GRID, codes(values).float())


def test_one_code_for_each_factor_is_fair():
    score = unfairness(grid(lambda v: v))
    assert float(score) == pytest.approx(0, abs=1e-12)
    assert score["unfairness.accuracy"] == 1


def test_a_code_that_another_factor_hides():
    """Where c is 1 the code of a is 0, so a = 0 is predicted there always, and else in a third.

    Over all values 0 has the share 2/3 and the others 1/6: 1/3 away from both.
    """
    score = unfairness(grid(lambda v: torch.stack([v[:, 0] * (1 - v[:, 2]), v[:, 2]], dim=1)))
    table = score.parts["table"]
    assert table[0, 2] == pytest.approx(1 / 3, abs=0.03)
    assert table[0, 1] == pytest.approx(0, abs=1e-12)
    assert table[2].max() == 0
    assert np.diag(table).max() == 0
    apart = table[~np.eye(4, dtype=bool)].reshape(4, 3)
    assert float(score) == pytest.approx(apart.mean())
    assert score["unfairness.max_sensitive"] == pytest.approx(apart.max(1).mean())
    assert score["unfairness.max_pair"] == pytest.approx(apart.max())


def test_codes_that_tell_nothing_are_fair_and_useless():
    score = unfairness(grid(lambda v: torch.zeros(len(v), 2)))
    assert float(score) == 0
    assert score["unfairness.accuracy"] < 0.4


def test_total_variation_by_hand():
    rng = np.random.default_rng(0)
    predicted, group = rng.integers(0, 4, 200), rng.integers(0, 3, 200)
    counts = np.array(
        [[((predicted == p) & (group == g)).sum() for g in range(3)] for p in range(4)]
    )
    overall = counts.sum(1) / counts.sum()
    expected = np.abs(counts / counts.sum(0) - overall[:, None]).sum(0).mean() / 2
    ours = total_variation(torch.from_numpy(predicted), torch.from_numpy(group))
    assert ours.item() == pytest.approx(expected)
    assert total_variation(torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0, 1, 1])).item() == 0.5


def test_the_paper_boosts_trees():
    """Predictions of scikit-learn's trees, one intervention after the other."""
    mixed = grid(lambda v: torch.stack([v[:, 0] + v[:, 1], v[:, 2]], dim=1))
    settings = Settings("boosting", samples=600, test_samples=200, points=300)
    score = unfairness(mixed, protocol=settings)
    values = GRID.factors(torch.arange(GRID.size)).numpy()
    codes = mixed.codes(torch.arange(GRID.size)).numpy()
    train = noise.integers(0, "metric/rows", 0, 600, high=GRID.size).numpy()
    points = noise.integers(0, "metric/points", 0, 300, high=GRID.size).numpy()
    model = GradientBoostingClassifier(random_state=0).fit(codes[train], values[train, 0])
    shares = []
    for b in range(4):
        moved = values[points].copy()
        moved[:, 1] = b
        at = GRID.index(torch.from_numpy(moved)).numpy()
        shares.append(np.bincount(model.predict(codes[at]), minlength=3) / len(points))
    expected = np.abs(np.array(shares) - np.mean(shares, axis=0)).sum(1).mean() / 2
    assert score.parts["table"][0, 1] == pytest.approx(expected, abs=0.02)
    assert expected > 0.1


def test_given_rows_are_grouped():
    """Five copies of a full grid are independent factors: one code each is nearly fair."""
    fair, guesses = unfairness(*get("perfect")), unfairness(*get("noise"))
    assert float(fair) < 0.05
    assert "stand in" in fair.remarks[0]
    assert fair["unfairness.accuracy"] == 1
    assert float(guesses) > float(fair)
    codes, values = get("perfect")
    assert float(unfairness(codes, np.column_stack([values[:, 3], values[:, 3]]))) > 0.8


def test_refusals():
    codes, values = get("perfect")
    assert unfairness(codes, values[:, :1]).remarks[-1].startswith("one factor")
    with pytest.raises(DataError, match="Too few rows to compare predictions"):
        unfairness(codes[:60], np.column_stack([values[:60, 3], np.arange(60) // 3]))
