"""What is particular to the ELBO; its closed forms stand beside those of the log-likelihood."""

import torch

from metrics.test_log_likelihood import X, bernoulli, linear
from unknot.core.objective import Step
from unknot.metrics import elbo, log_likelihood
from unknot.metrics.parts.decoding import DecodingSettings
from unknot.objectives.vae import VAE


def test_it_is_minus_the_loss_of_a_vae():
    """Reconstruction and divergence of training, but for the noise of the one draw."""
    net, x, _, _ = bernoulli(2)
    seed, t = torch.tensor(0), torch.tensor(0)
    terms = VAE().terms(net, Step(x, seed, t, len(x)))
    score = elbo(net, x, protocol=DecodingSettings(600))
    assert abs(score["elbo.kl"] - terms["kl"].value.item()) < 1e-9
    losses = [
        VAE().terms(net, Step(x, seed, torch.tensor(t), len(x)))["recon"].value for t in range(300)
    ]
    assert abs(score["elbo.reconstruction"] + torch.stack(losses).mean().item()) < 0.15


def test_one_point_of_the_log_likelihood_is_an_elbo():
    """With the divergence drawn too, so that both have the same mean."""
    one = float(log_likelihood(linear(0.8), X, likelihood="gaussian", protocol=DecodingSettings(1)))
    many = float(elbo(linear(0.8), X, likelihood="gaussian", protocol=DecodingSettings(500)))
    assert abs(one - many) < 0.5


def test_the_paper_draws_once():
    assert (
        elbo(linear(), X, likelihood="gaussian", protocol="paper").protocol["posterior_samples"]
        == 1
    )
