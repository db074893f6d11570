"""The autoencoder as a limit of the VAE, and against principal components."""

import pytest
import torch

import unknot
from unknot import testing
from unknot.core.objective import Net, Step
from unknot.core.posterior import Posterior
from unknot.objectives.ae import AE
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.vae import VAE

DRAW = torch.Generator().manual_seed(4)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def net(logvar):
    down, up = randn(9, 2), randn(2, 9)

    def encode(x):
        mean = x.flatten(-3) @ down
        return Posterior(mean, torch.full_like(mean, logvar))

    return Net(encode, lambda z: (z @ up).unflatten(-1, (1, 3, 3)))


def step(x):
    return Step(x, torch.tensor(1), torch.tensor(2), n_data=100)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_a_vae_without_noise_and_divergence_is_the_autoencoder(likelihood):
    x = torch.rand(6, 1, 3, 3, dtype=torch.float64, generator=DRAW)
    exact, close = net(-torch.inf), net(-60.0)
    ours = AE(likelihood=likelihood).terms(exact, step(x))
    assert ours.keys() == {"recon"}
    vae = VAE(likelihood=likelihood).terms(exact, step(x))
    assert torch.equal(ours["recon"].value, vae["recon"].value)
    limit = BetaVAE(beta=0.0, likelihood=likelihood).terms(close, step(x))["recon"].value
    ours = AE(likelihood=likelihood).terms(close, step(x))["recon"].value
    torch.testing.assert_close(limit, ours, rtol=1e-11, atol=0)
    assert limit != ours


def test_principal_components_are_a_fixed_point_of_the_linear_autoencoder():
    """There the loss is the sum of the variances left out, and its gradient is 0."""
    x = randn(50, 1, 3, 3) * torch.linspace(0.2, 2, 9).double().reshape(3, 3)
    x -= x.mean(0)
    variances, axes = torch.linalg.eigh(x.flatten(1).mT @ x.flatten(1) / 50)
    kept = axes[:, -4:].clone().requires_grad_()
    back = axes[:, -4:].mT.clone().requires_grad_()
    linear = Net(
        lambda x: Posterior(x.flatten(-3) @ kept, torch.zeros(50, 4).double()),
        lambda z: (z @ back).unflatten(-1, (1, 3, 3)),
    )
    loss = AE(likelihood="gaussian").terms(linear, step(x))["recon"].value
    torch.testing.assert_close(loss, variances[:-4].sum())
    for gradient in torch.autograd.grad(loss, [kept, back]):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), rtol=0, atol=1e-12)


def test_only_the_half_of_the_encoder_that_gives_means_is_trained():
    gradients = testing.cases(AE())[1][0].gradients()
    means, logvars = gradients["encoder.1.weight"].chunk(2)
    assert (means != 0).all()
    assert (logvars == 0).all()


def test_training_lowers_the_loss_and_codes_have_no_noise(tiny):
    trained = unknot.train(
        "arrays",
        "ae",
        "linear",
        steps=120,
        batch=32,
        lr=2e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 3},
        likelihood="gaussian",
    )
    curve = trained.training.curves["loss"]
    assert curve[-5:].mean() < 0.5 * curve[0].mean()
    q = trained.posterior(trained.dataset.batch(torch.arange(8)))
    assert (q.logvar == -20).all()
    assert q.mean.std() > 0.1
