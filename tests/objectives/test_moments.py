"""Moments of codes against NumPy, brute force and sampling."""

import itertools

import numpy as np
import pytest
import torch

from unknot.core import noise
from unknot.core.objective import Net, Step
from unknot.core.posterior import Posterior
from unknot.objectives.parts.moments import (
    covariance,
    off_identity,
    running_mean,
    running_mean_start,
    third_moments,
    third_moments_of_mixture,
)


@pytest.fixture
def randn():
    draw = torch.Generator().manual_seed(11)
    return lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=draw)


@pytest.fixture
def skewed(randn):
    """A posterior whose variances go with its means, so that every term of the moments matters."""
    mean = randn(40, 3).exp() @ randn(3, 3)
    return Posterior(mean, 0.3 * mean + 0.5 * randn(40, 3))


def test_covariance_is_numpys_without_correction(randn):
    codes = randn(2, 9, 4) + 100
    for ours, theirs in zip(covariance(codes), codes.numpy(), strict=True):
        np.testing.assert_allclose(ours, np.cov(theirs, rowvar=False, ddof=0), rtol=1e-10)


def test_covariance_is_centred_over_the_batch_and_averaged(randn):
    """Not over the latents and summed, as in AIX360: shifts and repeats change nothing."""
    codes = randn(9, 4)
    shifted = codes + torch.arange(4.0).double()
    torch.testing.assert_close(covariance(shifted), covariance(codes))
    torch.testing.assert_close(covariance(codes.repeat(3, 1)), covariance(codes))


def test_distance_from_the_identity(randn):
    cov = covariance(randn(2, 9, 4))
    off, on = off_identity(cov)
    gap = (cov - torch.eye(4).double()).square()
    torch.testing.assert_close(off + on, gap.sum((-2, -1)))
    pairs = [2 * cov[:, i, j].square() for i, j in itertools.combinations(range(4), 2)]
    torch.testing.assert_close(off, sum(pairs))


def test_white_codes_are_at_no_distance(randn):
    codes = randn(50, 4)
    codes -= codes.mean(0)
    white = codes @ torch.linalg.inv(torch.linalg.cholesky(covariance(codes))).mT
    for distance in off_identity(covariance(white)):
        assert distance.item() == pytest.approx(0, abs=1e-24)


def test_third_moments_are_what_they_say(randn):
    codes = randn(2, 7, 3)
    centered = codes - codes.mean(1, keepdim=True)
    for i, j, k in itertools.product(range(3), repeat=3):
        expected = (centered[..., i] * centered[..., j] * centered[..., k]).mean(1)
        torch.testing.assert_close(third_moments(codes)[:, i, j, k], expected)


def test_third_moments_of_the_mixture_are_those_of_its_samples(skewed):
    many = noise.normal(0, "moments", 0, 50_000, 40, 3, dtype=torch.float64)
    sampled = third_moments(skewed.sample(many).reshape(-1, 3))
    ours = third_moments_of_mixture(skewed)
    assert (ours - sampled).norm() < 0.02 * ours.norm()
    without_noise = third_moments(skewed.mean)
    assert (without_noise - sampled).norm() > 0.1 * ours.norm()
    for order in itertools.permutations(range(3)):
        torch.testing.assert_close(ours.permute(order), ours)


def test_third_moments_of_the_mixture_by_brute_force(skewed):
    """Of one component, E (a + s e)_i (a + s e)_j (a + s e)_k with Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(4)
    weights = weights / weights.sum()
    grid = torch.tensor(list(itertools.product(nodes, repeat=3)))
    chance = torch.tensor([np.prod(w) for w in itertools.product(weights, repeat=3)])
    sigma = (skewed.logvar / 2).exp()
    z = skewed.mean.unsqueeze(1) + sigma.unsqueeze(1) * grid - skewed.mean.mean(0)
    expected = torch.einsum("bgi,bgj,bgk,g->ijk", z, z, z, chance) / 40
    torch.testing.assert_close(third_moments_of_mixture(skewed), expected)


def test_symmetric_codes_have_no_third_moments(randn):
    mean, logvar = randn(20, 3), randn(20, 3)
    q = Posterior(torch.cat([mean, -mean]) + 5, torch.cat([logvar, logvar]))
    moments = third_moments_of_mixture(q)
    torch.testing.assert_close(moments, torch.zeros_like(moments), rtol=0, atol=1e-12)


def test_members_stay_apart(randn):
    q = Posterior(randn(2, 3, 5, 4), randn(2, 3, 5, 4))
    for function in (covariance, third_moments):
        torch.testing.assert_close(function(q.mean)[1, 2], function(q.mean[1, 2]))
    alone = third_moments_of_mixture(Posterior(q.mean[1, 2], q.logvar[1, 2]))
    torch.testing.assert_close(third_moments_of_mixture(q)[1, 2], alone)


def test_gradients(randn):
    q = randn(4, 3).requires_grad_(), randn(4, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda m: off_identity(covariance(m)), q[:1])
    assert torch.autograd.gradcheck(lambda m, v: third_moments_of_mixture(Posterior(m, v)), q)


def at_step(t, own):
    x = torch.zeros(1, 1, 1, 1, dtype=torch.float64)
    return Net(lambda x: x, lambda z: z, extra=own), Step(x, torch.tensor(0), torch.tensor(t), 10)


def test_the_running_mean_against_one_by_hand(randn):
    """Weights 0.75^k of the batches before, made to sum to 1."""
    batches = [covariance(randn(6, 3)) for _ in range(5)]
    own = running_mean_start(0.75, 3, torch.tensor(0)).carried
    for t, batch in enumerate(batches):
        mean, carry = running_mean(batch, 0.75, *at_step(t, own))
        weights = [0.75 ** (t - k) for k in range(t + 1)]
        expected = sum(w * b for w, b in zip(weights, batches, strict=False)) / sum(weights)
        torch.testing.assert_close(mean, expected)
        own = {name: state.value for name, state in carry.items()}
    assert running_mean_start(0.75, 3, torch.zeros(4, 2).long()).carried["covariance"].shape == (
        4,
        2,
        3,
        3,
    )


def test_without_decay_nothing_is_carried(randn):
    cov = covariance(randn(6, 3))
    mean, carry = running_mean(cov, 0.0, *at_step(3, {}))
    assert mean is cov
    assert carry == {}
    assert not running_mean_start(0.0, 3, torch.tensor(0)).carried


def test_the_running_mean_has_the_gradient_of_the_batch(randn):
    codes, before = randn(6, 3).requires_grad_(), covariance(randn(9, 3))
    mean, carry = running_mean(covariance(codes), 0.9, *at_step(50, {"covariance": before}))
    (ours,) = torch.autograd.grad(off_identity(mean)[0], codes)
    off = mean.detach() - mean.detach().diagonal().diag_embed()
    (expected,) = torch.autograd.grad((2 * off * covariance(codes)).sum(), codes)
    torch.testing.assert_close(ours, expected)
    assert not carry["covariance"].value.requires_grad


@pytest.mark.parametrize("decay", [0.0, 0.9])
def test_both_covariances_have_one_fixed_point(decay):
    """Descent on the penalty whitens z = A x whatever the covariance of x is."""
    mix = torch.tensor([[1.0, 0.8], [0.0, 0.5]], dtype=torch.float64)
    a = torch.eye(2, dtype=torch.float64, requires_grad=True)
    own = running_mean_start(decay, 2, torch.tensor(0)).carried
    for t in range(300):
        x = noise.normal(0, "x", t, 500, 2, dtype=torch.float64) @ mix
        cov, carry = running_mean(covariance(x @ a), decay, *at_step(t, own))
        (gradient,) = torch.autograd.grad(sum(off_identity(cov)), a)
        a = (a - 0.05 * gradient).detach().requires_grad_()
        own = {name: state.value for name, state in carry.items()}
    reached = a.mT @ (mix.mT @ mix) @ a
    torch.testing.assert_close(reached, torch.eye(2).double(), rtol=0, atol=0.05)
