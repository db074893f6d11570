"""Adversarial autoencoder: who is told what, the best critic, and what it does to codes."""

import math
from dataclasses import replace

import pytest
import torch
from scipy import integrate, stats

import unknot
from unknot.core import noise
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.losses import kl_normal
from unknot.objectives.aae import AAE, PRESETS
from unknot.objectives.parts.mmd import squared_mmd


def step(n, t=0):
    return Step(torch.zeros(n, 1, 1, 1), torch.tensor(0), torch.tensor(t), n_data=100)


def shifted(critic=lambda z: z, mean=1.0, scale=1.0):
    """Codes are N(mean, scale^2), one for each image."""

    def encode(x):
        return Posterior(
            torch.full((x.shape[0], 1), mean), torch.full((x.shape[0], 1), 2 * math.log(scale))
        )

    return Net(encode, lambda z: z[..., None, None], critic)


def test_the_encoder_is_paid_for_passing_as_the_prior():
    """-ln D, which keeps its slope where the critic is sure; ln(1 - D) would lose it."""
    for logit, loss, slope in [(-40.0, 40.0, -1.0), (0.0, math.log(2), -0.5), (40.0, 0.0, 0.0)]:
        shift = torch.tensor(logit, requires_grad=True)
        terms = AAE(lambda_adversary=3.0).terms(shifted(lambda z, s=shift: 0 * z + s), step(4))
        value = terms["adversary"].value
        assert value.item() == pytest.approx(loss, abs=1e-6)
        assert torch.autograd.grad(value, shift)[0].item() == pytest.approx(slope, abs=1e-6)
        assert terms["adversary"].weight == 3


def test_the_critic_sees_draws_from_the_prior_and_codes_without_gradient():
    shown = []

    def critic(z):
        shown.append(z)
        return z

    mean = torch.full((5, 1), 2.0, requires_grad=True)
    net = Net(lambda _: Posterior(mean, torch.zeros(5, 1)), lambda z: z[..., None, None], critic)
    AAE().critic_terms(net, step(5, t=3))
    prior, codes = shown
    assert torch.equal(prior, step(5, t=3).normal("prior", 5, 1))
    assert torch.equal(codes, mean)
    assert not codes.requires_grad


def trained(objective, net_of, steps=250):
    """A small critic after learning to tell codes from the prior."""
    critic = objective.critic((1, 1, 1), 1)
    start = noise.normal(0, "start", 0, sum(p.numel() for p in critic.parameters()))
    torch.nn.utils.vector_to_parameters(0.3 * start, critic.parameters())
    optim = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))
    schedule = torch.optim.lr_scheduler.LinearLR(optim, 1, 0.02, steps)
    for t in range(steps):
        optim.zero_grad()
        total(objective.critic_terms(net_of(critic), step(512, t))).backward()
        optim.step()
        schedule.step()
    return critic


def test_the_best_critic_knows_the_log_ratio_of_two_normals():
    """ln N(z; 0, 1) - ln N(z; 1, 1) = 1/2 - z; and its `jsd` is their Jensen-Shannon divergence."""
    objective = AAE(stochastic=True, critic_layers=2, critic_width=16)
    critic = trained(objective, shifted)
    z = torch.linspace(-1.0, 2.0, 13).unsqueeze(1)
    with torch.no_grad():
        assert (critic(z) - (0.5 - z)).abs().max() < 0.3
        found = objective.critic_terms(shifted(critic), step(40_000, 999))["jsd"].value.item()
    p, q = stats.norm(0, 1).pdf, stats.norm(1, 1).pdf

    def integrand(z):
        m = (p(z) + q(z)) / 2
        return 0.5 * p(z) * math.log(p(z) / m) + 0.5 * q(z) * math.log(q(z) / m)

    jsd = integrate.quad(integrand, -8, 9)[0]
    assert found == pytest.approx(jsd, rel=0.1)
    assert found < math.log(2)


def test_mushom_s_reading_keeps_the_divergence():
    terms = PRESETS["mushom"].terms(shifted(scale=0.5), step(6))
    expected = kl_normal(shifted(scale=0.5).encode(step(6).x)).sum(-1)
    torch.testing.assert_close(terms["kl"].value, expected)
    assert "kl" not in AAE(stochastic=True).terms(shifted(), step(6))


def test_the_wae_gan_is_a_preset():
    """Tolstikhin et al. 2018: four layers of 512 and lambda 10 for MNIST."""
    objective = PRESETS["wae_gan"]
    sizes = [p.shape[0] for p in objective.critic((1, 28, 28), 8).parameters() if p.ndim == 2]
    assert sizes == [512] * 4 + [1]
    assert objective.lambda_adversary == 10


def test_codes_are_means_unless_stochastic():
    recon = [AAE().terms(shifted(), step(4, t))["recon"].value for t in (0, 1)]
    assert recon[0] == recon[1]
    recon = [AAE(stochastic=True).terms(shifted(), step(4, t))["recon"].value for t in (0, 1)]
    assert recon[0] != recon[1]
    q = shifted().encode(torch.zeros(3, 1, 1, 1))
    assert AAE().recode(shifted(), q).logvar.exp().sqrt().max() < 1e-4
    assert AAE(stochastic=True).recode(shifted(), q) is q


def test_training_lowers_the_reconstruction_and_brings_all_codes_to_the_prior(tiny):
    def run(lambda_adversary):
        return unknot.train(
            "arrays",
            "aae",
            "linear",
            steps=250,
            batch=32,
            lr=1e-2,
            device="cpu",
            log_every=10,
            data_settings={"path": str(tiny)},
            net_settings={"latents": 2},
            lambda_adversary=lambda_adversary,
            critic_width=32,
            critic_lr=1e-2,
        )

    pulled, free = run(20.0), run(0.0)
    recon = pulled.training.curves["recon"]
    assert recon[-5:].mean() < 0.9 * recon[0].mean()
    prior = torch.randn(64, 2, generator=torch.Generator().manual_seed(0))
    near, far = (squared_mmd(r.codes(), prior, kernel="imq").item() for r in (pulled, free))
    assert far > 2 * abs(near)


def test_what_is_refused():
    with pytest.raises(ConfigError, match=r"^AAE.lambda_adversary must be 0 or more; got -1.0.$"):
        AAE(lambda_adversary=-1.0)
    with pytest.raises(ConfigError, match=r"^AAE.keep_kl needs stochastic codes"):
        AAE(keep_kl=True)
    assert replace(AAE(), stochastic=True, keep_kl=True) == replace(
        PRESETS["mushom"], likelihood="gaussian"
    )
