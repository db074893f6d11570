"""Likelihoods of posterior samples."""

import math

import pytest
import torch

from unknot.core import noise
from unknot.core.errors import ConfigError
from unknot.core.objective import Net
from unknot.core.posterior import Posterior
from unknot.metrics.parts.decoding import sample_posteriors

X = noise.uniform(0, "images", 0, 60, 1, 4, 4, dtype=torch.float64)


def net(activate):
    def encode(x):
        return Posterior(x.flatten(1)[:, :2], torch.full((len(x), 2), -1.0, dtype=x.dtype))

    def decode(z):
        return activate(z.sum(-1)[..., None, None, None].expand(*z.shape[:-1], 1, 4, 4))

    return Net(encode, decode)


def test_logits_of_means_are_means_behind_a_sigmoid():
    bounded = sample_posteriors(
        net(lambda y: y), X, likelihood="sigmoid_gaussian", samples=3, seed=1
    )
    plain = sample_posteriors(net(torch.sigmoid), X, likelihood="gaussian", samples=3, seed=1)
    torch.testing.assert_close(bounded.likelihoods, plain.likelihoods)
    assert bounded.likelihood == "sigmoid_gaussian"


def test_a_perfect_decoder_has_the_density_of_variance_a_half():
    """1 / sqrt(pi) for each of 16 pixels at their means."""
    flat = torch.full_like(X, 0.5)
    drawn = sample_posteriors(
        net(lambda y: 0 * y), flat, likelihood="sigmoid_gaussian", samples=1, seed=0
    )
    assert drawn.likelihoods.flatten().tolist() == pytest.approx([-8 * math.log(math.pi)] * 60)


@pytest.mark.parametrize("deviation", [0.05, 0.3, 2.0])
def test_another_variance_is_that_of_the_normal_density(deviation):
    model = net(torch.sigmoid)
    seen = []

    def variance(error):
        seen.append(error)
        return torch.full_like(error, deviation**2)

    drawn = sample_posteriors(model, X, likelihood="gaussian", samples=3, seed=1, variance=variance)
    plain = sample_posteriors(model, X, likelihood="gaussian", samples=3, seed=1)
    eps = noise.normal(1, "metric/draws", torch.arange(3), 60, 2, dtype=torch.float64)
    means = model.decode(X.flatten(1)[:, :2] + math.exp(-0.5) * eps)
    density = torch.distributions.Normal(means, deviation).log_prob(X).sum((-3, -2, -1))
    torch.testing.assert_close(drawn.likelihoods, density)
    torch.testing.assert_close(drawn.ratios, plain.ratios)
    error = (means - X).square().sum((-3, -2, -1)).mean()
    assert [float(e) for e in seen] == pytest.approx([float(error)])
    assert drawn.remarks == (f"the model's own variance of pixels, {deviation**2:.4g}",)
    assert plain.remarks == ()


def test_a_bernoulli_likelihood_has_no_variance():
    with pytest.raises(ConfigError, match="has no variance"):
        sample_posteriors(
            net(lambda y: y), X, likelihood="bernoulli", samples=1, seed=0, variance=lambda e: e
        )
