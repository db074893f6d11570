"""Soft ranks against a general solver, hard ranks and finite differences."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import rankdata, spearmanr

from unknot.core import noise
from unknot.learnt_loss.soft_rank import pearson, soft_rank


def normal(*shape, seed=0):
    return noise.normal(seed, "values", 0, *shape, dtype=torch.float64)


def nearest_point(target):
    """The projection by sequential quadratic programming, over all orders of 1 to n as corners."""
    n = len(target)
    corners = np.array([*itertools.permutations(range(1, n + 1))], dtype=float)
    start = np.full(len(corners), 1 / len(corners))
    found = minimize(
        lambda share: 0.5 * ((share @ corners - target) ** 2).sum(),
        start,
        jac=lambda share: corners @ (share @ corners - target),
        bounds=[(0, 1)] * len(corners),
        constraints={
            "type": "eq",
            "fun": lambda share: share.sum() - 1,
            "jac": lambda share: np.ones(len(corners)),
        },
        options={"maxiter": 500, "ftol": 1e-14},
    )
    return found.x @ corners


@pytest.mark.parametrize("strength", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_ranks_are_the_nearest_point_of_the_permutahedron(n, strength):
    values = normal(n, seed=n)
    expected = nearest_point(values.numpy() / strength)
    assert soft_rank(values, strength).numpy() == pytest.approx(expected, abs=1e-5)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30))
def test_a_small_strength_gives_ranks_with_ties_in_the_middle(values):
    ranks = soft_rank(torch.tensor(values, dtype=torch.float64), 1e-3)
    assert ranks.numpy() == pytest.approx(rankdata(values), abs=1e-9)


def test_a_large_strength_moves_and_scales():
    values = normal(50)
    soft = soft_rank(values, 1e4)
    torch.testing.assert_close(soft, values / 1e4 - (values / 1e4).mean() + 25.5)


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=20), st.floats(0.01, 10))
def test_ranks_keep_the_order_and_stay_in_the_permutahedron(values, strength):
    hard = torch.tensor(values, dtype=torch.float64)
    soft, n = soft_rank(hard, strength), len(values)
    assert soft.sum().item() == pytest.approx(n * (n + 1) / 2)
    assert (soft[hard.argsort(stable=True)].diff() > -1e-9).all()
    # Majorised by 1 to n: the sum of any k of them is at least 1 + ... + k.
    least = torch.arange(1, n + 1).double().cumsum(0)
    assert (soft.sort().values.cumsum(0) > least - 1e-6).all()


@pytest.mark.parametrize("strength", [0.05, 0.3, 2.0])
def test_gradients_match_finite_differences(strength):
    values = normal(3, 7).requires_grad_()
    assert torch.autograd.gradcheck(lambda v: soft_rank(v, strength), values, eps=1e-7, atol=1e-5)


def test_rows_do_not_mix_and_any_leading_shape_is_welcome():
    values = normal(2, 3, 9)
    whole = soft_rank(values, 0.3)
    assert torch.equal(whole[1, 2], soft_rank(values[1, 2], 0.3))
    assert soft_rank(values.float(), 0.3).dtype == torch.float32


def test_the_correlation_of_ranks_is_spearmans():
    a, b = normal(200), (normal(200, seed=1) * 2).round()
    b = b + a.round()
    ours = pearson(soft_rank(a, 1e-6), soft_rank(b, 1e-6)).item()
    assert ours == pytest.approx(spearmanr(a.numpy(), b.numpy()).statistic, abs=1e-9)
    assert pearson(a, b).item() == pytest.approx(np.corrcoef(a, b)[0, 1])


def test_the_correlation_can_be_climbed():
    """Steps along the gradient alone put values into a given order."""
    target = torch.arange(12.0).double()[torch.randperm(12, generator=torch.manual_seed(0))]
    values = normal(12).requires_grad_()
    for _ in range(200):
        rank = pearson(soft_rank(values, 0.5), target)
        (gradient,) = torch.autograd.grad(rank, values)
        with torch.no_grad():
            values += 2.0 * gradient
    assert torch.equal(values.argsort().argsort(), target.argsort().argsort())
