"""Which latents two images share: distances against integrals, masks by hand."""

import math
from dataclasses import dataclass
from decimal import Decimal, getcontext

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from torch.distributions import Normal, kl_divergence

from unknot.core.errors import ConfigError
from unknot.core.hyper import Constant, Hyper
from unknot.core.posterior import Posterior
from unknot.objectives.parts.sharing import (
    check_unit,
    count,
    deltas,
    share,
    shared_latents,
    weigh_shared,
)
from unknot.schedules import linear

DRAW = torch.Generator().manual_seed(8)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def gaussian(mean, logvar):
    return Posterior(*(torch.tensor([[v]], dtype=torch.float64) for v in (mean, logvar)))


def integral(mean_p, std_p, mean_q, std_q):
    """KL(p || q) by quadrature."""
    p, q = norm(mean_p, std_p), norm(mean_q, std_q)
    inside = lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x))  # noqa: E731
    return quad(inside, mean_p - 12 * std_p, mean_p + 12 * std_p, epsabs=1e-12)[0]


@pytest.mark.parametrize(
    ("a", "b"), [((0.0, 0.0), (1.0, 0.0)), ((0.5, -1.0), (-0.25, 0.7)), ((2.0, 1.5), (2.0, -1.0))]
)
def test_symmetric_kl_is_the_mean_of_two_numeric_integrals(a, b):
    """Michlo 2022, 2.12; and the one-sided one is the first of them."""
    (ma, la), (mb, lb) = a, b
    there = integral(ma, math.exp(la / 2), mb, math.exp(lb / 2))
    back = integral(mb, math.exp(lb / 2), ma, math.exp(la / 2))
    p, q = gaussian(ma, la), gaussian(mb, lb)
    assert deltas(p, q, "kl").item() == pytest.approx(there, abs=1e-9)
    assert deltas(q, p, "kl").item() == pytest.approx(back, abs=1e-9)
    assert deltas(p, q, "symmetric_kl").item() == pytest.approx((there + back) / 2, abs=1e-9)


def test_divergences_are_those_of_torch_and_symmetric_ones_are_symmetric():
    p, q = (Posterior(randn(2, 5, 4), randn(2, 5, 4)) for _ in range(2))
    normals = [Normal(d.mean, (d.logvar / 2).exp()) for d in (p, q)]
    torch.testing.assert_close(deltas(p, q, "kl"), kl_divergence(*normals))
    both = (kl_divergence(*normals) + kl_divergence(*normals[::-1])) / 2
    torch.testing.assert_close(deltas(p, q, "symmetric_kl"), both)
    for delta in ("symmetric_kl", "absolute"):
        assert torch.equal(deltas(p, q, delta), deltas(q, p, delta))
    assert torch.equal(deltas(p, q, "absolute"), (p.mean - q.mean).abs())


def test_nearly_equal_posteriors_still_have_an_order():
    """The textbook form subtracts 1/2 from about 1/2 and is left with rounding."""
    getcontext().prec = 60
    for ratio in ("1e-9", "3e-6", "0.01"):
        r = Decimal(ratio)
        exact = ((r / 2).exp() - (-r / 2).exp()) ** 2 / 4
        got = deltas(gaussian(0.0, float(r)), gaussian(0.0, 0.0), "symmetric_kl").item()
        assert got == pytest.approx(float(exact), rel=1e-12)
    naive = lambda r: 0.25 * (math.exp(r) + math.exp(-r)) - 0.5  # noqa: E731
    assert naive(1e-9) == 0.0


def test_divergences_may_order_a_triplet_against_its_means():
    """Michlo 2022, 5.13 to 5.15: deviations are learnt, so the farther mean can be the closer."""
    a, near, far = gaussian(0.0, 0.0), gaussian(1.0, -3.0), gaussian(2.0, 0.0)
    assert deltas(a, near, "absolute") < deltas(a, far, "absolute")
    assert deltas(a, near, "symmetric_kl") > deltas(a, far, "symmetric_kl")


def mask(values, eta):
    return shared_latents(torch.tensor([values], dtype=torch.float64), eta)[0].tolist()


@pytest.mark.parametrize(
    ("values", "eta", "expected"),
    [
        ([0.1, 0.5, 0.9, 2.1], 0.5, [True, True, True, False]),  # threshold 1.1
        ([0.0, 1.0, 2.0, 0.999], 0.5, [True, False, False, True]),  # at the threshold is not below
        ([3.0, 3.0, 3.0], 0.5, [False, False, False]),  # all equal: nothing
        ([0.1, 0.1, 0.1], 0.2, [False, False, False]),  # 0.8 * 0.1 + 0.2 * 0.1 rounds up
        ([5.0, 5.0, 1.0], 0.5, [False, False, True]),  # both largest stay
        ([0.1, 0.5, 0.9, 2.1], 0.0, [False, False, False, False]),
        ([0.1, 0.5, 0.9, 2.1], 0.2, [True, False, False, False]),  # threshold 0.5
        ([0.1, 0.5, 0.9, 2.1], 1.0, [True, True, True, False]),
        ([0.99, 3.57], 1.0, [True, False]),  # their difference, added back, rounds up
        ([7.0], 0.5, [False]),
    ],
)
def test_hand_values_of_the_mask(values, eta, expected):
    assert mask(values, eta) == expected


@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=9),
    st.floats(0, 1),
)
def test_the_largest_is_never_shared_and_more_eta_never_shares_less(values, eta):
    low, high = mask(values, eta / 2), mask(values, eta)
    largest = max(values)
    assert not any(m for m, v in zip(high, values, strict=True) if v == largest)
    assert all(h for h, m in zip(high, low, strict=True) if m)
    assert not any(mask(values, 0.0))


def test_each_member_has_its_own_eta():
    d = randn(3, 5, 6).abs()
    eta = torch.tensor([0.1, 0.5, 0.9]).double()
    alone = torch.stack([shared_latents(d[i], float(eta[i])) for i in range(3)])
    assert torch.equal(shared_latents(d, eta), alone)
    assert (alone.sum((-2, -1)).diff() > 0).all()


def test_masks_of_float32_posteriors_are_decided_in_float64():
    """In float32 the divergences near 0 are rounding, and masks flip between equivalent runs."""
    a = Posterior((1e-4 * randn(2000, 2)).float(), (1e-4 * randn(2000, 2)).float())
    b = Posterior((1e-4 * randn(2000, 2)).float(), (1e-4 * randn(2000, 2)).float())
    wide = [Posterior(q.mean.double(), q.logvar.double()) for q in (a, b)]
    ours = shared_latents(deltas(a, b, "symmetric_kl"), 0.5)
    assert torch.equal(ours, shared_latents(deltas(*wide, "symmetric_kl"), 0.5))
    va, vb, square = a.logvar.exp(), b.logvar.exp(), (a.mean - b.mean).square()
    naive = 0.25 * ((va + square) / vb + (vb + square) / va) - 0.5
    low, high = naive.amin(-1, keepdim=True), naive.amax(-1, keepdim=True)
    flipped = (naive < (low + high) / 2) != ours
    assert flipped.any(-1).float().mean() > 0.05


def test_differences_of_float32_means_are_taken_in_float64():
    """In float32 a hundred million less one is a hundred million."""
    a, b = (Posterior(torch.tensor([[v]]), torch.zeros(1, 1)) for v in (1e8, 1.0))
    assert deltas(a, b, "absolute").item() == 99_999_999


def test_distances_and_masks_are_constants_of_the_gradient():
    mean = randn(4, 3).requires_grad_()
    q = Posterior(mean, mean / 2)
    for delta in ("absolute", "kl", "symmetric_kl"):
        assert not deltas(q, Posterior(mean * 2, mean), delta).requires_grad


def test_shared_latents_are_equal_in_both_views_and_others_untouched():
    a, b, average = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
    shared = randn(2, 5, 4) > 0
    first, second = share(shared, average, a, b).chunk(2, dim=-2)
    assert torch.equal(first[shared], average[shared])
    assert torch.equal(second[shared], average[shared])
    assert torch.equal(first[~shared], a[~shared])
    assert torch.equal(second[~shared], b[~shared])


def test_weights_scale_the_gradient_of_shared_latents_and_no_others():
    """Averaging would have left them without one."""
    difference = randn(6, 4).requires_grad_()
    shared = randn(6, 4) > 0
    (slope,) = torch.autograd.grad(weigh_shared(difference, shared, 0.25).sum(), difference)
    assert torch.equal(slope, torch.where(shared, 0.25, 1.0).double())
    assert torch.equal(weigh_shared(difference, shared, 1.0), difference)


def test_the_count_is_that_of_numpy():
    shared = randn(3, 7, 5) > 0
    expected = np.asarray(shared).sum(-1).mean(-1)
    np.testing.assert_allclose(count(shared, randn(1)), expected)


@dataclass(frozen=True)
class Toy:
    eta: Hyper = 0.5

    def __post_init__(self):
        check_unit(self, "eta")


@pytest.mark.parametrize(
    ("eta", "message"),
    [
        (5.0, "Toy.eta must be 1 or less; got 5.0."),
        (-0.5, "Toy.eta must be 0 or more; got -0.5."),
        (linear(0.0, 1.5, 9.0), "Toy.eta must be 1 or less; got 1.5."),
        (linear(2.0, 0.5), "Toy.eta must be 1 or less; got 2.0."),
        (Constant(3.0), "Toy.eta must be 1 or less; got 3.0."),
        (math.nan, "Toy.eta must be 0 or more; got nan."),
    ],
)
def test_what_is_refused(eta, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        Toy(eta)


def test_both_ends_of_the_range_are_welcome():
    assert Toy(0.0) != Toy(1.0)
    Toy(linear(0.0, 1.0))
    Toy(torch.tensor([0.1, 0.2]))
