"""Posterior: the reparametrised sample and its views."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from unknot.core import noise
from unknot.core.posterior import Posterior


def normal(*shape):
    return noise.normal(0, "test", 0, *shape, dtype=torch.float64)


def test_a_sample_is_the_mean_and_deviations_around_it():
    """A log-variance of ln 9 is a deviation of 3."""
    q = Posterior(torch.tensor([[1.0, -2.0]]), torch.tensor([[0.0, math.log(9)]]))
    assert q.sample(torch.zeros(1, 2)).tolist() == [[1, -2]]
    torch.testing.assert_close(q.sample(torch.tensor([[2.0, -1.0]])), torch.tensor([[3.0, -5.0]]))


def test_samples_have_the_posteriors_moments():
    n = 100_000
    q = Posterior(torch.full((n, 1), 0.7).double(), torch.full((n, 1), math.log(0.25)).double())
    z = q.sample(normal(n, 1))
    assert abs(z.mean().item() - 0.7) < 4 * 0.5 / math.sqrt(n)
    assert abs(z.var().item() - 0.25) < 4 * 0.25 * math.sqrt(2 / n)


def test_gradients_go_through_a_sample():
    """dz/dmean is 1 and dz/dlogvar is half a deviation times the noise."""
    mean, logvar, eps = (normal(2, 4, 3)[i].requires_grad_() for i in (0, 1, 1))
    z = Posterior(mean, logvar).sample(eps)
    gradients = torch.autograd.grad(z.sum(), (mean, logvar))
    assert torch.equal(gradients[0], torch.ones_like(mean))
    torch.testing.assert_close(gradients[1], 0.5 * (0.5 * logvar).exp() * eps)


@given(st.sampled_from([(), (3,), (2, 3)]), st.integers(1, 3), st.integers(1, 4))
def test_views_are_laid_one_after_the_other(members, n, batch):
    q = Posterior(normal(*members, n * batch, 2), normal(*members, n * batch, 2) + 1)
    views = q.views(n)
    assert len(views) == n
    for i, view in enumerate(views):
        rows = slice(i * batch, (i + 1) * batch)
        assert torch.equal(view.mean, q.mean[..., rows, :])
        assert torch.equal(view.logvar, q.logvar[..., rows, :])
