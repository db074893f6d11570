"""Triplet losses by hand, against finite differences, and where gradients are delicate."""

import math

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck

from unknot.objectives.parts.triplets import distance, triplet, violations

DRAW = torch.Generator().manual_seed(5)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def test_norms_are_those_of_numpy():
    difference = randn(2, 6, 4)
    for norm, order in (("l1", 1), ("l2", 2)):
        expected = np.linalg.norm(difference.numpy(), ord=order, axis=-1)
        np.testing.assert_allclose(distance(difference, norm), expected)


def test_the_hard_margin_is_zero_when_it_is_kept():
    """Michlo 2022, 5.1."""
    near, far = torch.tensor([1.0, 1.0]), torch.tensor([11.0, 12.0])
    assert triplet(near, far, margin="hard", psi=10.0) == 0
    assert violations(near, far, margin="hard", psi=10.0) == 0
    assert triplet(near, far, margin="hard", psi=10.5) == 0.25
    assert violations(near, far, margin="hard", psi=10.5) == 0.5


def test_the_soft_margin_is_ln_of_1_plus_exp_and_does_not_overflow():
    """Michlo 2022, 5.2."""
    for gap in (-1000.0, -30.0, -2.0, 0.0, 2.0, 25.0, 1000.0):
        near, far = torch.tensor([gap]).double().clamp(min=0), torch.tensor([-gap]).clamp(min=0)
        expected = max(gap, 0) + math.log1p(math.exp(-abs(gap)))
        got = triplet(near, far.double(), margin="soft", psi=1.0).item()
        assert got == pytest.approx(expected, rel=1e-14, abs=0)
    assert triplet(torch.zeros(1), torch.full((1,), 50.0), margin="soft", psi=1.0) > 0


def test_the_soft_margin_counts_wrong_orders_whatever_psi():
    near, far = torch.tensor([1.0, 2.0, 3.0, 3.0]), torch.tensor([2.0, 1.0, 3.0, 9.0])
    assert violations(near, far, margin="soft", psi=100.0) == 0.25


def test_members_have_their_own_psi():
    near, far = randn(3, 7).abs(), randn(3, 7).abs()
    psi = torch.tensor([0.1, 1.0, 2.0]).double()
    for function in (triplet, violations):
        together = function(near, far, margin="hard", psi=psi)
        alone = [function(near[i], far[i], margin="hard", psi=float(psi[i])) for i in range(3)]
        assert torch.equal(together, torch.stack(alone))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("margin", ["hard", "soft"])
def test_gradients_match_finite_differences(norm, margin):
    def loss(a, p, n):
        near, far = distance(a - p, norm), distance(a - n, norm)
        return triplet(near, far, margin=margin, psi=1.0)

    codes = [randn(8, 3).requires_grad_() for _ in range(3)]
    assert gradcheck(loss, codes)
    slopes = torch.autograd.grad(loss(*codes), codes)
    assert all((s != 0).any() for s in slopes)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_equal_codes_have_a_finite_gradient(norm):
    """Two of a triplet may be one image; the plain root would give 0 / 0."""
    a, n = randn(4, 3).requires_grad_(), randn(4, 3)
    near, far = distance(a - a.detach(), norm), distance(a - n, norm)
    (slope,) = torch.autograd.grad(triplet(near, far, margin="soft", psi=1.0), a)
    (alone,) = torch.autograd.grad(
        triplet(0 * far.detach(), distance(a - n, norm), margin="soft", psi=1.0), a
    )
    assert slope.isfinite().all()
    torch.testing.assert_close(slope, alone)


def test_a_kept_margin_has_no_gradient_and_a_soft_one_always_has():
    near, far = torch.zeros(1, requires_grad=True), torch.full((1,), 11.0)
    (hard,) = torch.autograd.grad(triplet(near, far, margin="hard", psi=10.0), near)
    (soft,) = torch.autograd.grad(triplet(near, far, margin="soft", psi=10.0), near)
    assert hard == 0
    assert soft.item() == pytest.approx(1 / (1 + math.exp(11)))
