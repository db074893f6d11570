"""Adversarial variational Bayes: the best critic makes it the VAE, and training finds it."""

import math

import pytest
import torch
from torch.distributions import Normal

import unknot
from unknot.core import noise
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.losses import gaussian, kl_normal
from unknot.objectives.avb import AVB

PIXELS, LATENTS = 3, 2
WEIGHT = torch.tensor([[0.8, -0.4], [0.1, 1.2], [-0.6, 0.3]], dtype=torch.float64)


def step(n, t=0, dtype=torch.float64):
    x = noise.normal(0, "x", t, n, 1, 1, PIXELS, dtype=dtype)
    return Step(x, torch.tensor(7), torch.tensor(t), n_data=100)


def posterior(rows, shift=0.0, logvar=-1.0):
    mean = rows @ WEIGHT.to(rows) + shift
    return Posterior(mean, torch.zeros_like(mean) + logvar)


def best(rows_and_codes):
    """T* = ln q(z|x) - ln p(z), of one pair in each row."""
    rows, z = rows_and_codes.split([PIXELS, LATENTS], dim=-1)
    q = posterior(rows)
    ratio = Normal(q.mean, (q.logvar / 2).exp()).log_prob(z) - Normal(0.0, 1.0).log_prob(z)
    return ratio.sum(-1, keepdim=True)


def net(critic, **moved):
    def decode(z):
        return (z @ WEIGHT.mT.to(z))[..., None, None, :]

    return Net(lambda x: posterior(x.flatten(-3), **moved), decode, critic)


def test_with_the_best_critic_it_is_the_vae_of_one_sample():
    now = step(9)
    terms = AVB(likelihood="gaussian").terms(net(best), now)
    q = posterior(now.x.flatten(-3))
    z = q.sample(now.normal("z", 9, LATENTS))
    log_q = Normal(q.mean, (q.logvar / 2).exp()).log_prob(z).sum(-1)
    log_p = Normal(0.0, 1.0).log_prob(z).sum(-1)
    expected = gaussian(net(best).decode(z), now.x) + (log_q - log_p).mean()
    torch.testing.assert_close(total(terms), expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(terms["kl_exact"].value, kl_normal(q).sum(-1))


def test_with_the_best_critic_its_gradient_is_that_of_the_divergence():
    """Proposition 2: what T* owes to the encoder's weights adds nothing on average."""
    shift = torch.zeros((), dtype=torch.float64, requires_grad=True)
    logvar = torch.tensor(-1.0, dtype=torch.float64, requires_grad=True)
    now = step(200_000)
    terms = AVB(likelihood="gaussian").terms(net(best, shift=shift, logvar=logvar), now)
    found = torch.autograd.grad(terms["kl"].value, [shift, logvar], retain_graph=True)
    exact = torch.autograd.grad(terms["kl_exact"].value, [shift, logvar])
    torch.testing.assert_close(torch.stack(found), torch.stack(exact), rtol=0, atol=0.02)


def test_the_critic_sees_each_image_with_its_code_and_with_a_draw_from_the_prior():
    shown = []

    def critic(pairs):
        shown.append(pairs)
        return pairs[..., :1]

    shift = torch.zeros((), dtype=torch.float64, requires_grad=True)
    now = step(5)
    AVB().critic_terms(net(critic, shift=shift), now)
    rows = now.x.flatten(-3)
    code = posterior(rows).sample(now.normal("z", 5, LATENTS))
    for pairs, z in zip(shown, (code, now.normal("prior", 5, LATENTS)), strict=True):
        torch.testing.assert_close(pairs, torch.cat([rows, z], dim=-1))
        assert not pairs.requires_grad


def test_the_best_critic_is_better_than_others_near_it():
    """Equation 3.3: T* is where the critic's loss is least."""
    now = step(100_000)

    def loss(change):
        return total(AVB().critic_terms(net(lambda pairs: change(best(pairs))), now)).item()

    least = loss(lambda t: t)
    others = [loss(c) for c in (lambda t: t + 0.3, lambda t: t - 0.3, lambda t: 1.3 * t)]
    assert least < min(others)


def test_a_trained_critic_comes_near_the_log_ratio():
    objective = AVB(critic_layers=2, critic_width=64)
    critic = objective.critic((1, 1, PIXELS), LATENTS)
    start = noise.normal(0, "start", 0, sum(p.numel() for p in critic.parameters()))
    torch.nn.utils.vector_to_parameters(0.15 * start, critic.parameters())
    steps = 400
    optim = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))
    schedule = torch.optim.lr_scheduler.LinearLR(optim, 1, 0.02, steps)
    for t in range(steps):
        optim.zero_grad()
        total(objective.critic_terms(net(critic), step(512, t, torch.float32))).backward()
        optim.step()
        schedule.step()
    now = step(5000, 999, torch.float32)
    rows = now.x.flatten(-3)
    pairs = torch.cat([rows, posterior(rows).sample(now.normal("z", 5000, LATENTS))], dim=-1)
    with torch.no_grad():
        found, truth = critic(pairs)[:, 0], best(pairs)[:, 0]
        terms = objective.terms(net(critic), now)
    assert torch.corrcoef(torch.stack([found, truth]))[0, 1] > 0.95
    kl = terms["kl_exact"].value.item()
    assert terms["kl"].value.item() == pytest.approx(kl, rel=0.15)
    assert kl == pytest.approx(kl_normal(posterior(rows)).sum().item())


def test_sizes_of_the_critic():
    with torch.device("meta"):
        critic = AVB().critic((3, 64, 64), 10)
    shapes = [tuple(p.shape) for p in critic.parameters() if p.ndim == 2]
    assert shapes == [(512, 3 * 64 * 64 + 10), (512, 512), (512, 512), (1, 512)]


def test_training_lowers_the_loss(tiny):
    curves = unknot.train(
        "arrays",
        "avb",
        "linear",
        steps=150,
        batch=16,
        lr=1e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 3},
        critic_width=32,
        critic_lr=5e-3,
    ).training.curves
    assert curves["loss"][-5:].mean() < 0.8 * curves["loss"][0].mean()
    assert math.isfinite(curves["kl_exact"][-1].item())
