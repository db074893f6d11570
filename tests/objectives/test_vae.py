"""VAE and beta-VAE on a model whose loss is known in closed form."""

import math

import pytest
import torch

from unknot.core.hyper import at
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.vae import VAE
from unknot.schedules import linear


def step(x, seed=0, t=0):
    return Step(x, torch.tensor(seed), torch.tensor(t), n_data=100)


def affine(a=1.5, b=-0.25, logvar=-1.0, w=0.75, c=0.5):
    """One pixel, one latent: mean a x + b, decoder w z + c."""

    def encode(x):
        mean = a * x.flatten(-3) + b
        return Posterior(mean, torch.full_like(mean, logvar))

    return Net(encode, lambda z: (w * z + c)[..., None, None])


def test_the_expected_loss_of_a_linear_gaussian_model():
    """E (x - w z - c)^2 = (x - w m - c)^2 + w^2 s^2, and the divergence of N(m, s^2)."""
    x = torch.linspace(-1, 1, 5, dtype=torch.float64).reshape(5, 1, 1, 1)
    objective = BetaVAE(beta=3.0, likelihood="gaussian")
    draws = [objective.terms(affine(), step(x, t=t)) for t in range(4000)]
    recon = torch.stack([d["recon"].value for d in draws])
    m, s2 = 1.5 * x.flatten() - 0.25, math.exp(-1.0)
    expected = ((x.flatten() - 0.75 * m - 0.5) ** 2 + 0.75**2 * s2).mean()
    error = (recon.mean() - expected) / (recon.std() / math.sqrt(len(recon)))
    assert abs(error) < 4
    kl = 0.5 * (m**2 + s2 - 1 + 1.0).mean()
    torch.testing.assert_close(draws[0]["kl"].value, kl)
    torch.testing.assert_close(total(draws[0]), recon[0] + 3 * kl)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_beta_one_is_the_vae_bit_for_bit(likelihood):
    x = torch.rand(6, 1, 1, 1, generator=torch.Generator().manual_seed(0))
    ours = BetaVAE(beta=1.0, likelihood=likelihood).terms(affine(), step(x, seed=5, t=9))
    vae = VAE(likelihood=likelihood).terms(affine(), step(x, seed=5, t=9))
    assert torch.equal(total(ours), total(vae))
    assert ours.keys() == vae.keys()


def test_beta_zero_leaves_the_reconstruction():
    x = torch.ones(4, 1, 1, 1)
    terms = BetaVAE(beta=0.0).terms(affine(), step(x))
    assert torch.equal(total(terms), terms["recon"].value)


def test_noise_changes_with_the_seed_and_the_step_and_with_nothing_else():
    x = torch.ones(4, 1, 1, 1)
    value = lambda **at: VAE().terms(affine(), step(x, **at))["recon"].value  # noqa: E731
    assert torch.equal(value(seed=1, t=2), value(seed=1, t=2))
    assert value(seed=1, t=2) != value(seed=2, t=2)
    assert value(seed=1, t=2) != value(seed=1, t=3)


def test_a_warm_up_is_a_schedule():
    objective = BetaVAE(beta=linear(0.0, 4.0, 100.0))
    for t, beta in [(0, 0.0), (25, 1.0), (100, 4.0), (1000, 4.0)]:
        resolved = at(objective, torch.tensor(t), torch.float32)
        terms = resolved.terms(affine(), step(torch.ones(4, 1, 1, 1), t=t))
        assert float(terms["kl"].weight) == beta
