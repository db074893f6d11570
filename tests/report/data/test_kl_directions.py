"""A Gaussian fitted to a mixture in both directions of the divergence."""

import math

import numpy as np
import pytest

from unknot.report.data.kl_directions import (
    Fit,
    Mixture,
    forward_fit,
    kl_directions_figure,
    random_mixture,
    reverse_fit,
    reverse_kl,
)

APART = Mixture(np.array([0.7, 0.3]), np.array([[-3.0, 0.0], [3.0, 0.0]]), np.array([0.25, 0.25]))


def forward_kl(p, q, reach=9.0, n=600):
    """By a sum over a fine grid."""
    side = np.linspace(-reach, reach, n)
    x = np.stack(np.meshgrid(side, side), axis=-1)
    log_p = p.log_density(x)
    log_q = -0.5 * np.square(x - q.mean).sum(-1) / q.variance - math.log(2 * math.pi * q.variance)
    return (np.exp(log_p) * (log_p - log_q)).sum() * (side[1] - side[0]) ** 2


def test_a_mixture_of_one_is_fitted_exactly_both_ways():
    p = Mixture(np.ones(1), np.array([[1.0, -2.0]]), np.array([0.3]))
    for fit in (forward_fit(p), reverse_fit(p)):
        assert fit.mean == pytest.approx([1, -2], abs=1e-4)
        assert fit.variance == pytest.approx(0.3, rel=1e-3)
    assert reverse_kl(Fit(np.array([1.0, -2.0]), 0.3), p) == pytest.approx(0, abs=1e-10)


def test_between_gaussians_it_is_the_closed_form():
    p = Mixture(np.ones(1), np.array([[1.0, 0.0]]), np.array([2.0]))
    q = Fit(np.array([0.0, 0.5]), 0.5)
    closed = 0.25 - 1 + (1 + 0.25) / 4 + math.log(4)
    assert reverse_kl(q, p) == pytest.approx(closed, abs=1e-10)


def test_one_covers_both_parts_and_the_other_seeks_the_heavier():
    wide, narrow = forward_fit(APART), reverse_fit(APART)
    assert wide.mean == pytest.approx([-1.2, 0])
    assert wide.variance == pytest.approx(0.25 + 0.21 * 36 / 2)
    assert narrow.mean == pytest.approx([-3, 0], abs=0.01)
    assert narrow.variance == pytest.approx(0.25, rel=0.01)
    assert reverse_kl(narrow, APART) == pytest.approx(-math.log(0.7), abs=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_each_is_the_best_in_its_own_direction(seed):
    p = random_mixture(seed)
    assert p.weights.sum() == pytest.approx(1)
    forward, reverse = forward_fit(p), reverse_fit(p)
    assert forward_kl(p, forward) < forward_kl(p, reverse)
    assert reverse_kl(reverse, p) < reverse_kl(forward, p)
    for step in ([0.05, 0], [0, 0.05], [-0.05, 0], [0, -0.05]):
        near = Fit(forward.mean + step, forward.variance)
        assert forward_kl(p, near) > forward_kl(p, forward)
        near = Fit(reverse.mean + step, reverse.variance)
        assert reverse_kl(near, p) > reverse_kl(reverse, p)


def test_circles_are_those_of_the_fits():
    drawn = kl_directions_figure(APART)
    for axes, fit in zip(drawn.axes, (forward_fit(APART), reverse_fit(APART)), strict=True):
        radii = sorted(patch.get_radius() for patch in axes.patches)
        assert radii == pytest.approx([math.sqrt(fit.variance), 2 * math.sqrt(fit.variance)])
        assert axes.patches[0].get_center() == pytest.approx(fit.mean)
