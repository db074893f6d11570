"""Both scores that decode, on models whose likelihood is known."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.objective import Net
from unknot.core.posterior import Posterior
from unknot.metrics import elbo, log_likelihood
from unknot.metrics.parts.decoding import DecodingSettings, sample_posteriors

PIXELS = (1, 2, 3)
D = math.prod(PIXELS)
GEN = torch.Generator().manual_seed(0)
# Orthogonal columns, so that the true posterior is diagonal.
W = torch.linalg.qr(torch.randn(D, 2, generator=GEN).double())[0] * torch.tensor([2.0, 0.5])
B = torch.randn(D, generator=GEN).double()
Z = torch.randn(60, 2, generator=GEN).double()
X = (Z @ W.T + B + math.sqrt(0.5) * torch.randn(60, D, generator=GEN)).reshape(60, *PIXELS)


def linear(wider: float = 0.0, off: float = 0.0) -> Net:
    """x = W z + b + noise of variance 1/2; the true posterior, or one off by so much."""
    variance = 1 / (1 + 2 * W.square().sum(0))

    def encode(x: Tensor) -> Posterior:
        mean = 2 * variance * ((x.flatten(1) - B) @ W) + off
        return Posterior(mean, (variance.log() + wider).expand_as(mean))

    return Net(encode, lambda z: (z @ W.T + B).reshape(len(z), *PIXELS))


def evidence(x: Tensor) -> Tensor:
    normal = torch.distributions.MultivariateNormal(B, W @ W.T + 0.5 * torch.eye(D).double())
    return normal.log_prob(x.flatten(1))


def test_with_the_true_posterior_every_draw_gives_the_likelihood_of_a_linear_gaussian():
    """Then p(x, z) / q(z | x) is p(x), whatever z is."""
    score = log_likelihood(linear(), X, likelihood="gaussian", protocol=DecodingSettings(3))
    np.testing.assert_allclose(score.parts["per_image"], evidence(X), atol=1e-9)
    assert score["log_likelihood.gain"] == pytest.approx(0, abs=1e-9)
    np.testing.assert_allclose(score.parts["effective"], 3)
    assert not score.remarks


def test_the_bound_of_a_wrong_posterior_is_that_of_the_textbook():
    """-|x - b - W m|^2 - tr(W S W') - D/2 ln pi - KL, in closed form."""
    net = linear(wider=0.8, off=0.3)
    q = net.encode(X)
    miss = (X.flatten(1) - B - q.mean @ W.T).square().sum(1)
    spread = (q.logvar.exp() * W.square().sum(0)).sum(1)
    reconstruction = -(miss + spread + 0.5 * D * math.log(math.pi))
    kl = 0.5 * (q.mean.square() + q.logvar.exp() - 1 - q.logvar).sum(1)
    score = elbo(net, X, likelihood="gaussian", protocol=DecodingSettings(1_500))
    np.testing.assert_allclose(score.parts["per_image"], reconstruction - kl, atol=0.4)
    assert float(score) == pytest.approx((reconstruction - kl).mean().item(), abs=0.05)
    assert score["elbo.kl"] == pytest.approx(kl.mean().item(), abs=1e-9)
    assert float(score) < evidence(X).mean()
    assert score["elbo.error"] == pytest.approx(score.parts["per_image"].std(ddof=1) / 60**0.5)


def test_more_points_rise_to_the_likelihood():
    net = linear(wider=0.8, off=0.3)
    bounds = [
        float(log_likelihood(net, X, likelihood="gaussian", protocol=DecodingSettings(k)))
        for k in (1, 4, 16, 800)
    ]
    truth = evidence(X).mean().item()
    assert bounds == sorted(bounds)
    assert bounds[0] < truth - 0.1
    assert bounds[-1] == pytest.approx(truth, abs=0.03)


def bernoulli(latents: int) -> tuple[Net, Tensor, Tensor, Tensor]:
    gen = torch.Generator().manual_seed(latents)
    weights = 2 * torch.randn(latents, D, generator=gen).double()
    bias = torch.randn(D, generator=gen).double()
    x = (torch.rand(20, *PIXELS, generator=gen) < 0.5).double()

    def decode(z: Tensor) -> Tensor:
        return (z.double() @ weights + bias).reshape(*z.shape[:-1], *PIXELS)

    def encode(x: Tensor) -> Posterior:
        shape = torch.zeros(len(x), latents).double()
        return Posterior(shape + 0.2, shape - 0.1)

    return Net(encode, decode), x, weights, bias


@pytest.mark.parametrize("latents", [1, 2])
def test_binary_images_by_brute_force_over_a_grid(latents):
    net, x, weights, bias = bernoulli(latents)
    axis = torch.linspace(-7, 7, 141).double()
    grid = torch.cartesian_prod(*[axis] * latents).reshape(-1, latents)
    prior = torch.distributions.Normal(0.0, 1.0).log_prob(grid).sum(1) + latents * math.log(0.1)
    coin = torch.distributions.Bernoulli(logits=grid @ weights + bias)
    given = coin.log_prob(x.flatten(1)[:, None]).sum(-1)
    truth = (given + prior).logsumexp(1)
    score = log_likelihood(net, x, protocol=DecodingSettings(2_000))
    np.testing.assert_allclose(score.parts["per_image"], truth, atol=0.2)
    assert float(score) == pytest.approx(truth.mean().item(), abs=0.03)
    assert float(elbo(net, x)) < truth.mean()
    assert not score.remarks


def test_a_lone_model_scores_as_a_member_of_a_population():
    nets = [linear(0.5), linear(0.2, off=0.1)]

    def encode(x: Tensor) -> Posterior:
        each = [net.encode(x) for net in nets]
        return Posterior(torch.stack([q.mean for q in each]), torch.stack([q.logvar for q in each]))

    def decode(z: Tensor) -> Tensor:
        return torch.stack([net.decode(c) for net, c in zip(nets, z, strict=True)])

    both = Net(encode, decode)
    drawn = sample_posteriors(both, X, likelihood="gaussian", samples=5, seed=2)
    for i, net in enumerate(nets):
        alone = sample_posteriors(net, X, likelihood="gaussian", samples=5, seed=2)
        torch.testing.assert_close(drawn.member(i).likelihoods, alone.likelihoods)
        torch.testing.assert_close(drawn.member(i).ratios, alone.ratios)
    with pytest.raises(ShapeError, match="one model; got a net of 2"):
        elbo(both, X, likelihood="gaussian")


def test_images_pass_in_parts_without_changing_a_point(monkeypatch):
    whole = sample_posteriors(linear(0.3), X, likelihood="gaussian", samples=2, seed=0)
    monkeypatch.setattr("unknot.metrics.parts.decoding.AT_ONCE", 7)
    parts = sample_posteriors(linear(0.3), X, likelihood="gaussian", samples=2, seed=0)
    torch.testing.assert_close(whole.likelihoods, parts.likelihoods)


def test_what_the_record_and_the_remarks_say():
    net, x, _, _ = bernoulli(1)
    score = log_likelihood(net, x, seed=3)
    assert score.protocol["likelihood"] == "bernoulli"
    assert (
        score.protocol["posterior_samples"],
        score.protocol["rows"],
        score.protocol["seed"],
    ) == (32, 20, 3)
    grey = elbo(net, 0.5 * x)
    assert "not a likelihood: pixels between" in grey.remarks[0]
    far = replace(net, encode=lambda x: Posterior(torch.full((len(x), 1), 4.0), torch.ones(20, 1)))
    assert "a loose bound" in log_likelihood(far, x).remarks[0]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"x": X[0]}, ShapeError, r"Expected images \[n, c, h, w\]"),
        ({"x": X[:5]}, DataError, "at least 10 images; got 5"),
        ({"likelihood": "bernoulli"}, DataError, r"images in \[0, 1\]"),
        ({"protocol": DecodingSettings(0)}, ConfigError, "should be a whole number from 1 on"),
        ({"net": linear(off=float("nan"))}, DataError, "a diverged model"),
    ],
)
def test_bad_input_is_one_clear_error(change, error, words):
    options = {
        "net": linear(),
        "x": X,
        "likelihood": "gaussian",
        "protocol": DecodingSettings(2),
    } | change
    with pytest.raises(error, match=words) as caught:
        log_likelihood(options.pop("net"), options.pop("x"), **options)
    assert "\n" not in str(caught.value)
