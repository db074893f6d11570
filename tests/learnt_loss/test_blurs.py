"""Blurs over sizes and weights: the numbers of table 6.1, and limits that are known."""

import pytest

from unknot.core.errors import ShapeError
from unknot.data.xysquares import XYSquares
from unknot.learnt_loss.blurs import plan_blurs, score_blurs
from unknot.learnt_loss.learn import agreement

SAMPLING = {"traversals": 4, "pairs": 2000}


def test_radius_31_is_table_6_1():
    """Of Michlo 2022: linear and rank along factors, of a Gaussian and a box kernel."""
    data = XYSquares().load()
    plan = plan_blurs(data, ["gaussian", "box"], [31], [1.0])
    gaussian, box = (score.correlations for score in score_blurs(data, plan, **SAMPLING))
    assert (gaussian.factor_linear, gaussian.factor_rank) == pytest.approx((0.84, 0.88), abs=0.01)
    assert (box.factor_linear, box.factor_rank) == pytest.approx((0.96, 0.97), abs=0.01)


def test_without_weight_pixels_are_left():
    data = XYSquares().load()
    plan = plan_blurs(data, ["box"], [7], [0.0])
    (score,) = score_blurs(data, plan, **SAMPLING)
    assert score.correlations == agreement(data, lambda x: x, **SAMPLING)


def test_combinations_and_their_alphas():
    data = XYSquares().load()
    plan = plan_blurs(data, ["box", "gaussian"], [1, 3], [0.5, 2.0])
    assert [(kernel, radius, loss.alpha) for kernel, radius, _, loss in plan] == [
        (kernel, radius, weight * elements)
        for kernel in ("box", "gaussian")
        for radius, elements in ((1, 9), (3, 49))
        for weight in (0.5, 2.0)
    ]
    with pytest.raises(ShapeError, match="radius 64 reaches further"):
        plan_blurs(data, ["box"], [1, 64], [1.0])
