"""Likelihoods of counts against SciPy's distributions and their own limits."""

import numpy as np
import pytest
import torch
from scipy import stats

from unknot.losses import reconstruction
from unknot.losses.counts import count_loss, negative_binomial, whole
from unknot.losses.likelihood import activate

RNG = np.random.default_rng(5)
COUNTS = RNG.negative_binomial(2, 0.1, size=(7, 4)).astype(float)
X = torch.from_numpy(COUNTS).log1p()[..., None, None]
LOGITS = torch.from_numpy(RNG.normal(size=(7, 4)))[..., None, None]
MEANS = COUNTS.sum(1, keepdims=True) * LOGITS.flatten(1).softmax(1).numpy()


def test_poisson_is_the_logarithm_of_its_mass():
    expected = -stats.poisson.logpmf(COUNTS, MEANS).sum(1)
    np.testing.assert_allclose(count_loss("poisson", LOGITS, X), expected, rtol=1e-12)
    loss = reconstruction("poisson", LOGITS, X)
    np.testing.assert_allclose(loss, expected.mean(), rtol=1e-12)


@pytest.mark.parametrize("dispersion", [1e-3, 0.3, 1.0, 9.99, 10.01, 50.0, 1e4])
def test_negative_binomial_is_the_logarithm_of_its_mass(dispersion):
    logs = torch.full_like(LOGITS, dispersion).log()
    chance = dispersion / (dispersion + MEANS)
    expected = -stats.nbinom.logpmf(COUNTS, dispersion, chance).sum(1)
    loss = count_loss("negative_binomial", torch.cat([LOGITS, logs], 1), X)
    np.testing.assert_allclose(loss, expected, rtol=2e-6)


def test_a_large_dispersion_is_poisson_also_in_single_precision():
    """Differences of two logarithms of gamma functions would be off by more than one here."""
    logs = torch.full_like(LOGITS, 1e6).log()
    both = torch.cat([LOGITS, logs], 1).float()
    limit = count_loss("poisson", LOGITS, X)
    torch.testing.assert_close(
        count_loss("negative_binomial", both, X.float()).double(), limit, rtol=1e-3, atol=1e-2
    )


@pytest.mark.parametrize("dispersion", [0.05, 1.0, 9.0, 11.0, 300.0])
def test_the_gradient_of_the_dispersion_is_its_difference_quotient(dispersion):
    counts, log_mean = torch.from_numpy(COUNTS), torch.from_numpy(MEANS).log()
    log_dispersion = torch.full_like(counts, dispersion).log().requires_grad_()
    torch.autograd.gradcheck(lambda r: negative_binomial(counts, log_mean, r), (log_dispersion,))


def test_single_precision_gives_gradients_that_can_be_trained_on():
    for dispersion in (1e-6, 1.0, 1e8):
        logs = torch.full_like(LOGITS, dispersion).log().float().requires_grad_()
        decoded = torch.cat([LOGITS.float(), logs], 1)
        count_loss("negative_binomial", decoded, X.float()).sum().backward()
        assert logs.grad.isfinite().all()


def test_probabilities_of_all_counts_add_up_to_one():
    counts = torch.arange(4000.0, dtype=torch.float64)
    for dispersion in (0.5, 15.0):
        logs = torch.full_like(counts, dispersion).log()
        mass = negative_binomial(counts, torch.full_like(counts, 20.0).log(), logs).exp()
        assert mass.sum().item() == pytest.approx(1, abs=1e-6)


def test_rows_without_counts_cost_nothing_and_have_gradients():
    logits = LOGITS.clone().requires_grad_()
    loss = count_loss("poisson", logits, torch.zeros_like(X))
    loss.sum().backward()
    assert loss.abs().max() < 1e-6
    assert logits.grad.isfinite().all()


def test_counts_come_back_from_their_logarithm_in_single_precision():
    counts = torch.arange(0, 500_000, 7).float()
    assert torch.equal(whole(counts.log1p()), counts)


def test_images_of_counts_are_the_expected_ones_of_a_total():
    total = torch.from_numpy(COUNTS.sum(1))[:, None, None, None]
    counts = activate("poisson", LOGITS, total).expm1()
    np.testing.assert_allclose(counts[..., 0, 0], MEANS)
    both = torch.cat([LOGITS, torch.zeros_like(LOGITS)], 1)
    torch.testing.assert_close(activate("negative_binomial", both, total).expm1(), counts)
