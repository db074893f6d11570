"""Posterior: the reparametrised sample, its views, and divergences between two."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

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


def test_symmetric_divergence_is_the_mean_of_two_integrals():
    first, second = ((0.3, 0.7), (-0.9, 1.6))

    def divergence(p, q):
        p, q = (stats.norm(mean, deviation) for mean, deviation in (p, q))
        return integrate.quad(lambda z: p.pdf(z) * (p.logpdf(z) - q.logpdf(z)), -12, 12)[0]

    expected = (divergence(first, second) + divergence(second, first)) / 2
    a, b = (
        Posterior(torch.tensor([[mean]]), torch.tensor([[2 * math.log(deviation)]]))
        for mean, deviation in (first, second)
    )
    assert a.symmetric_kl(b).item() == pytest.approx(expected, rel=1e-6)


def test_symmetric_divergence_against_torch_and_its_sides():
    a, b = (Posterior(*normals) for normals in normal(2, 2, 20, 6))
    p, q = (torch.distributions.Normal(x.mean, (x.logvar / 2).exp()) for x in (a, b))
    both = [torch.distributions.kl_divergence(*pair) for pair in ((p, q), (q, p))]
    assert torch.allclose(a.symmetric_kl(b), (both[0] + both[1]) / 2)
    assert torch.equal(a.symmetric_kl(b), b.symmetric_kl(a))
    assert (a.symmetric_kl(a) == 0).all()
