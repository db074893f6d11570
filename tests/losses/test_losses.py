"""Leaf losses against closed forms."""

import math
from inspect import unwrap

import pytest
import torch
from torch.distributions import Bernoulli, Normal, kl_divergence

from unknot.core.errors import ConfigError
from unknot.core.posterior import Posterior
from unknot.losses import bernoulli, gaussian, kl_normal, reconstruction
from unknot.losses.likelihood import pixel_likelihood

DRAW = torch.Generator().manual_seed(3)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def test_bernoulli_is_the_negative_log_probability_summed_over_pixels():
    logits, x = randn(5, 2, 3, 4), (randn(5, 2, 3, 4) > 0).double()
    expected = -Bernoulli(logits=logits).log_prob(x).sum((1, 2, 3)).mean()
    torch.testing.assert_close(bernoulli(logits, x), expected)


def test_bernoulli_of_half_grey_is_ln_2_per_pixel():
    """Its floor is not 0: Noisy-dSprites cannot go below ln 2 for each noisy pixel."""
    loss = bernoulli(torch.zeros(3, 1, 8, 8), torch.full((3, 1, 8, 8), 0.5))
    assert loss.item() == pytest.approx(64 * math.log(2))


def test_bernoulli_of_extreme_logits_is_finite():
    logits = torch.tensor([-1e4, 1e4]).reshape(1, 1, 1, 2)
    assert bernoulli(logits, torch.tensor([1.0, 0.0]).reshape(1, 1, 1, 2)).item() == 2e4


def test_gaussian_starts_at_1024_for_a_grey_guess_of_binary_images():
    """Moğultay Özcan 2024, section 4.2: a decoder that says 0.5 has 4096 * 0.25."""
    x = (randn(7, 1, 64, 64) > 0).double()
    assert gaussian(torch.full_like(x, 0.5), x).item() == 1024


def test_gaussian_is_the_normal_log_probability_without_its_half_and_constant():
    means, x = randn(5, 1, 3, 4), randn(5, 1, 3, 4)
    density = -Normal(means, 1.0).log_prob(x).sum((1, 2, 3)).mean()
    expected = 2 * (density - 12 * 0.5 * math.log(2 * math.pi))
    torch.testing.assert_close(gaussian(means, x), expected)


def test_kl_is_that_of_the_distributions():
    q = Posterior(randn(2, 6, 3), randn(2, 6, 3))
    normal = Normal(q.mean, (q.logvar / 2).exp())
    expected = kl_divergence(normal, Normal(torch.zeros(()).double(), 1.0)).mean(-2)
    torch.testing.assert_close(kl_normal(q), expected)


def test_kl_is_zero_at_the_prior_and_nowhere_below():
    zero = torch.zeros(4, 2)
    assert torch.equal(kl_normal(Posterior(zero, zero)), torch.zeros(2))
    q = Posterior(1e-3 * randn(50, 9), 1e-3 * randn(50, 9))
    assert (kl_normal(q) > 0).all()


def test_members_stay_apart():
    logits, x = randn(3, 5, 1, 2, 2), (randn(3, 5, 1, 2, 2) > 0).double()
    for loss in (bernoulli, gaussian):
        alone = torch.stack([loss(a, b) for a, b in zip(logits, x, strict=True)])
        torch.testing.assert_close(loss(logits, x), alone)


def test_the_likelihood_chooses_the_loss():
    y, x = randn(2, 1, 2, 2), torch.rand(2, 1, 2, 2, dtype=torch.float64, generator=DRAW)
    assert torch.equal(reconstruction("bernoulli", y, x), bernoulli(y, x))
    assert torch.equal(reconstruction("gaussian", y, x), gaussian(y, x))


@pytest.mark.parametrize("name", ["Bernoulli", "bernouli", "normal", None])
def test_an_unknown_likelihood_is_no_squared_error(name):
    with pytest.raises(ConfigError, match=f"no likelihood '{name}'"):
        unwrap(pixel_likelihood)(name)
