"""The maximum mean discrepancy against loops, closed forms and its own null."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from unknot.core import noise
from unknot.objectives.parts.mmd import squared_mmd, squared_mmd_normal

SEVEN = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
each_kernel = pytest.mark.parametrize("kernel", ["rbf", "imq"])


def normal(*shape, stream="x", t=0):
    return noise.normal(0, stream, t, *shape, dtype=torch.float64)


def by_loops(x, y, kernel, scales):
    """Gretton et al. 2012, equation 3, pair by pair."""
    x, y = x.numpy(), y.numpy()

    def k(a, b):
        d2 = sum((s - t) ** 2 for s, t in zip(a, b, strict=True))
        widths = [2 * len(a) * s for s in scales]
        return sum(math.exp(-d2 / c) if kernel == "rbf" else c / (c + d2) for c in widths)

    def mean(pairs):
        values = [k(a, b) for a, b in pairs]
        return sum(values) / len(values)

    def within(rows):
        return [(a, b) for i, a in enumerate(rows) for j, b in enumerate(rows) if i != j]

    return mean(within(x)) + mean(within(y)) - 2 * mean([(a, b) for a in x for b in y])


@each_kernel
@pytest.mark.parametrize("scales", [(1.0,), SEVEN])
def test_it_is_the_sum_over_pairs(kernel, scales):
    x, y = normal(2, 7, 3), 1 + normal(2, 5, 3, stream="y")
    found = squared_mmd(x, y, kernel=kernel, scales=scales)
    expected = [by_loops(a, b, kernel, scales) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@each_kernel
def test_its_mean_is_zero_where_both_samples_have_one_distribution(kernel):
    """Also with two rows a sample, where an estimate that is biased is so the most."""
    for n in (2, 20):
        values = squared_mmd(normal(4000, n, 3), normal(4000, n, 3, stream="y"), kernel=kernel)
        assert abs(values.mean() / values.std() * math.sqrt(4000)) < 4
        assert (values < 0).double().mean() > 0.3


@each_kernel
def test_a_row_with_itself_does_not_count(kernel):
    """Means over all pairs, as in widespread code, are above 0 for equal distributions."""
    values = squared_mmd(normal(4000, 8, 3), normal(4000, 8, 3, stream="y"), kernel=kernel)
    x, y = normal(4000, 8, 3), normal(4000, 8, 3, stream="y")

    def every(a, b):
        d2 = (a[:, :, None] - b[:, None]).square().sum(-1) / 6
        return ((-d2).exp() if kernel == "rbf" else 1 / (1 + d2)).mean((-2, -1))

    biased = every(x, x) + every(y, y) - 2 * every(x, y)
    assert biased.min() > 0
    assert abs(values.mean()) < 0.05 * biased.mean()


@pytest.mark.parametrize("shift", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_two_normals_a_shift_apart_under_the_rbf(shift, scale):
    """x - y is N(m, 2 I), so E k = (C / (C + 4))^(z/2) exp(-|m|^2 / (C + 4))."""
    z = 3
    x = normal(3000, 10, z)
    y = normal(3000, 10, z, stream="y") + shift / math.sqrt(z)
    values = squared_mmd(x, y, scales=(scale,))
    c = 2 * z * scale
    expected = 2 * (c / (c + 4)) ** (z / 2) * (1 - math.exp(-(shift**2) / (c + 4)))
    assert abs((values.mean() - expected) / values.std() * math.sqrt(3000)) < 4


def test_two_normals_a_shift_apart_under_the_inverse_multiquadric():
    def expectation(shift):
        density = stats.norm(shift, math.sqrt(2)).pdf
        return integrate.quad(lambda d: 2 / (2 + d * d) * density(d), -20, 20)[0]

    x, y = normal(3000, 10, 1), normal(3000, 10, 1, stream="y") + 1.5
    values = squared_mmd(x, y, kernel="imq")
    expected = 2 * expectation(0) - 2 * expectation(1.5)
    assert abs((values.mean() - expected) / values.std() * math.sqrt(3000)) < 4


@each_kernel
def test_it_grows_with_the_shift(kernel):
    x, y = normal(400, 2), normal(400, 2, stream="y")
    values = [squared_mmd(x, y + shift, kernel=kernel).item() for shift in (0, 0.5, 1, 2, 4)]
    assert values == sorted(values)
    assert abs(values[0]) < 0.005


def test_the_exact_prior_is_what_draws_from_it_come_to():
    x = 0.5 + 1.5 * normal(9, 4)
    draws = normal(20_000, 9, 4, stream="y")
    values = squared_mmd(x.expand(20_000, 9, 4), draws, scales=(0.5, 2.0))
    exact = squared_mmd_normal(x, scales=(0.5, 2.0))
    assert abs((values.mean() - exact) / values.std() * math.sqrt(20_000)) < 4


def test_the_exact_prior_has_mean_zero_at_the_prior_and_varies_less():
    x, y = normal(4000, 16, 3), normal(4000, 16, 3, stream="y")
    exact = squared_mmd_normal(x)
    assert abs(exact.mean() / exact.std() * math.sqrt(4000)) < 4
    assert exact.std() < 0.7 * squared_mmd(x, y).std()


@each_kernel
def test_near_pairs_far_from_the_origin_keep_their_distance(kernel):
    x, y = normal(6, 2), normal(6, 2, stream="y")
    there = squared_mmd((x + 4096).float(), (y + 4096).float(), kernel=kernel)
    torch.testing.assert_close(there.double(), squared_mmd(x, y, kernel=kernel), rtol=0, atol=1e-3)


@each_kernel
def test_gradients(kernel):
    x, y = normal(4, 2).requires_grad_(), normal(5, 2, stream="y")
    scales = (0.5, 3.0)
    assert torch.autograd.gradcheck(lambda x: squared_mmd(x, y, kernel=kernel, scales=scales), x)
    assert torch.autograd.gradcheck(lambda x: squared_mmd_normal(x, scales=scales), x)


@given(st.integers(2, 6), st.integers(2, 6), st.integers(1, 4), st.integers(0, 10**6))
def test_it_is_symmetric_and_blind_to_order_and_rotation(n, m, z, t):
    x, y = normal(n, z, t=t), normal(m, z, stream="y", t=t)
    turn = torch.linalg.qr(normal(z, z, stream="turn", t=t)).Q
    value = squared_mmd(x, y, kernel="imq")
    torch.testing.assert_close(squared_mmd(y, x, kernel="imq"), value)
    torch.testing.assert_close(squared_mmd(x.flip(0), y @ turn @ turn.mT, kernel="imq"), value)
    torch.testing.assert_close(squared_mmd(x @ turn + 1, y @ turn + 1, kernel="imq"), value)
