"""WAE-MMD: its cost, its kernel, its codes without variance, and what it does to them."""

import numpy as np
import pytest
import torch

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.parts.mmd import squared_mmd
from unknot.objectives.wae_mmd import PRESETS, WAEMMD


def step(x, t=0):
    return Step(x, torch.tensor(0), torch.tensor(t), n_data=100)


def affine(logvar=0.0):
    """Two pixels to two latents and back."""
    weight = torch.tensor([[1.0, 0.5], [-0.3, 2.0]], dtype=torch.float64)

    def encode(x):
        mean = x.flatten(-3) @ weight
        return Posterior(mean, torch.full_like(mean, logvar))

    return Net(encode, lambda z: (z @ weight.mT + 0.1)[..., None, None, :])


X = torch.linspace(0, 1, 12, dtype=torch.float64).reshape(6, 1, 1, 2)


def test_without_its_penalty_it_is_an_autoencoder():
    """The cost is between x and G(z), not x and z as Mushom 2020 prints it."""
    net = affine()
    expected = (net.decode(net.encode(X).mean) - X).square().sum((1, 2, 3)).mean()
    assert torch.equal(total(WAEMMD(lambda_mmd=0.0).terms(net, step(X))), expected)


def test_algorithm_2_with_the_kernels_of_the_released_code():
    objective = PRESETS["released"]
    terms = objective.terms(affine(), step(X, t=4))
    codes = affine().encode(X).mean.numpy()
    prior = step(X, t=4).normal("prior", 6, 2).numpy()
    n, d = codes.shape
    expected = 0.0
    for scale in (0.1, 0.2, 0.5, 1, 2, 5, 10):
        c = 2 * d * 1.0 * scale

        def k(a, b, c=c):
            return c / (c + np.square(a[:, None] - b[None]).sum(-1))

        apart = 1 - np.eye(n)
        expected += ((k(codes, codes) + k(prior, prior)) * apart).sum() / (n * (n - 1))
        expected -= 2 * k(codes, prior).sum() / n**2
    np.testing.assert_allclose(terms["mmd"].value, expected, rtol=1e-12)
    assert terms["mmd"].weight == 10


def test_codes_are_means_unless_stochastic():
    certain, sampled = WAEMMD(), WAEMMD(stochastic=True)
    first, second = (certain.terms(affine(), step(X, t=t))["recon"].value for t in (0, 1))
    assert first == second
    first, second = (sampled.terms(affine(), step(X, t=t))["recon"].value for t in (0, 1))
    assert first != second
    narrow = sampled.terms(affine(logvar=-80.0), step(X))
    torch.testing.assert_close(total(narrow), total(certain.terms(affine(), step(X))))


def test_scores_see_no_variance_that_was_not_trained():
    q = Posterior(torch.ones(3, 2), torch.full((3, 2), 5.0))
    seen = WAEMMD().recode(affine(), q)
    assert seen.mean is q.mean
    assert seen.sample(torch.ones(3, 2)).sub(1).abs().max() < 1e-4
    assert WAEMMD(stochastic=True).recode(affine(), q) is q


def test_variances_get_no_gradient_unless_stochastic():
    for stochastic in (False, True):
        gradients = testing.cases(WAEMMD(stochastic=stochastic))[1][0].gradients()
        z = testing.NET.latents
        assert bool(gradients["encoder.1.weight"][z:].any()) == stochastic


def test_training_lowers_the_loss_and_brings_all_codes_to_the_prior(tiny):
    def trained(lambda_mmd):
        return unknot.train(
            "arrays",
            "wae_mmd",
            "linear",
            steps=200,
            batch=32,
            lr=2e-2,
            device="cpu",
            log_every=10,
            data_settings={"path": str(tiny)},
            net_settings={"latents": 2},
            lambda_mmd=lambda_mmd,
        )

    pulled, free = trained(300.0), trained(0.0)
    loss = pulled.training.curves["loss"]
    assert loss[-5:].mean() < 0.8 * loss[0].mean()
    prior = torch.randn(64, 2, generator=torch.Generator().manual_seed(0))
    near, far = (squared_mmd(r.codes(), prior, kernel="imq").item() for r in (pulled, free))
    assert abs(near) < 0.05
    assert far > 2 * abs(near)


def test_what_is_refused():
    with pytest.raises(ConfigError, match=r"^WAEMMD.lambda_mmd must be 0 or more; got -3.0.$"):
        WAEMMD(lambda_mmd=-3.0)
    objective = WAEMMD()
    object.__setattr__(objective, "kernel", "iqm")  # past the tests' check of annotations
    with pytest.raises(
        ConfigError, match=r"^WAEMMD.kernel has no choice 'iqm'; did you mean 'imq'"
    ):
        objective.__post_init__()
    with pytest.raises(ConfigError, match=r"^WAEMMD.exact_prior is known for the kernel rbf only"):
        WAEMMD(exact_prior=True)
