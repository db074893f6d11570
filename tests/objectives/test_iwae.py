"""IWAE on a linear-Gaussian model, whose likelihood is known."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal
from torch.distributions import Bernoulli, Normal

from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.data.arrays import Arrays
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.linear import Linear
from unknot.objectives.iwae import IWAE, log_loss
from unknot.objectives.vae import VAE

DRAW = torch.Generator().manual_seed(5)
PIXELS = (1, 2, 3)
W = 0.8 * torch.randn(6, 1, dtype=torch.float64, generator=DRAW)
C = torch.randn(6, dtype=torch.float64, generator=DRAW)
X = torch.randn(4, *PIXELS, dtype=torch.float64, generator=DRAW)


def step(x=X, seed=0, t=0):
    return Step(x, torch.tensor(seed), torch.tensor(t), n_data=100)


def exact():
    """ln N(x; c, W W' + I / 2) of each image, by SciPy."""
    covariance = (W @ W.mT + 0.5 * torch.eye(6)).numpy()
    return multivariate_normal(C.numpy(), covariance).logpdf(X.flatten(1).numpy())


def model(shift=0.0, widen=0.0):
    """The true posterior of the latent, or one that is shifted and too wide."""
    precision = 1 + 2 * W.square().sum()

    def encode(x):
        mean = 2 * (x.flatten(-3) - C) @ W / precision + shift
        return Posterior(mean, torch.full_like(mean, widen) - precision.log())

    return Net(encode, lambda z: (z @ W.mT + C).unflatten(-1, PIXELS))


@pytest.mark.parametrize("samples", [1, 3, 40])
def test_the_true_posterior_gives_the_likelihood_itself(samples):
    """Every weight is then p(x), so the bound is exact for any number of samples."""
    objective = IWAE(samples=samples, likelihood="gaussian")
    terms = objective.terms(model(), step(t=samples))
    assert terms["bound"].value.item() == pytest.approx(-exact().mean(), rel=1e-12)
    assert terms["effective"].value.item() == pytest.approx(samples, rel=1e-9)


def test_many_samples_of_another_posterior_come_close_to_the_likelihood():
    terms = IWAE(samples=20_000, likelihood="gaussian").terms(model(0.3, 1.0), step())
    assert terms["bound"].value.item() == pytest.approx(-exact().mean(), abs=0.01)


def test_the_bound_tightens_with_the_number_of_samples():
    """Burda et al. 2016, theorem 1: never looser, and never past the likelihood; in expectation."""
    values = []
    for samples in (1, 2, 5, 20, 100):
        objective = IWAE(samples=samples, likelihood="gaussian")
        terms = objective.terms(model(0.5, 1.0), step(X.repeat(500, 1, 1, 1)))
        values.append(terms["bound"].value.item())
    assert values == sorted(values, reverse=True)
    gap = values[0] + exact().mean()
    assert gap > 0.2
    assert 0 < values[-1] + exact().mean() < 0.05 * gap


def test_one_sample_is_the_elbo_of_the_distributions():
    q = model(0.2, 0.4).encode(X)
    z = q.sample(step().normal("z", *q.mean.shape))
    posterior, prior = Normal(q.mean, (q.logvar / 2).exp()), Normal(torch.zeros(1).double(), 1.0)
    likelihood = Normal(model().decode(z), math.sqrt(0.5)).log_prob(X).sum((1, 2, 3))
    elbo = likelihood + (prior.log_prob(z) - posterior.log_prob(z)).sum(-1)
    terms = IWAE(samples=1, likelihood="gaussian").terms(model(0.2, 0.4), step())
    assert terms["bound"].value.item() == pytest.approx(-elbo.mean().item(), rel=1e-12)
    assert terms["effective"].value.item() == pytest.approx(1)


@pytest.mark.parametrize(("likelihood", "constant"), [("bernoulli", 0.0), ("gaussian", 3.0)])
def test_one_sample_reconstructs_as_the_vae_does_and_is_it_in_expectation(likelihood, constant):
    """The Gaussian has its constant besides, ln(pi) / 2 for each of 6 pixels."""
    x = torch.rand(4, *PIXELS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = x.repeat(5000, 1, 1, 1)
    ours = IWAE(samples=1, likelihood=likelihood).terms(model(), step(x))
    vae = VAE(likelihood=likelihood).terms(model(), step(x))
    expected = vae["recon"].value.item() + constant * math.log(math.pi)
    assert ours["recon"].value.item() == pytest.approx(expected, rel=1e-12)
    assert ours["kl"].value.item() == pytest.approx(vae["kl"].value.item(), abs=0.03)


def test_the_log_is_of_the_average_weight_not_the_average_of_the_logs():
    """The misprint of Mushom 2020, section 3.4, and of code that averages first."""
    for t in range(20):
        terms = IWAE(samples=7, likelihood="gaussian").terms(model(0.5, 1.0), step(t=t))
        average = terms["recon"].value + terms["kl"].value
        assert terms["bound"].value < average - 0.01


def test_the_gradient_weighs_that_of_each_sample_by_its_share():
    """Burda et al. 2016, equation 14; PyTorch-VAE lets a gradient through the shares as well."""
    shift = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    objective = IWAE(samples=6, likelihood="gaussian")
    (slope,) = torch.autograd.grad(objective.terms(model(shift, 1.0), step())["bound"].value, shift)
    net = model(shift, 1.0)
    q, eps = net.encode(X), step().normal("z", 6, 4, 1)
    weights = []
    for e in eps:
        z = q.sample(e)
        prior = Normal(torch.zeros(1).double(), 1.0).log_prob(z).sum(-1)
        own = Normal(q.mean, (q.logvar / 2).exp()).log_prob(z).sum(-1)
        weights.append(
            Normal(net.decode(z), math.sqrt(0.5)).log_prob(X).sum((1, 2, 3)) + prior - own
        )
    logs = torch.stack(weights)
    shares = logs.detach().softmax(0)
    (expected,) = torch.autograd.grad(-(shares * logs).sum(0).mean(), shift)
    torch.testing.assert_close(slope, expected, rtol=1e-11, atol=0)


def test_gradients_are_right():
    case = testing.cases(IWAE(samples=3))[1][0]

    def loss(weight):
        case.weights["encoder.1.weight"] = weight
        return total(case.terms())

    assert torch.autograd.gradcheck(loss, case.weights["encoder.1.weight"], fast_mode=True)


def test_bernoulli_weights_are_probabilities():
    """Summed over all images of three binary pixels, exp(-loss) of one code is 1."""
    logits = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64).reshape(1, 1, 1, 1, 3)
    images = torch.tensor(list(np.ndindex(2, 2, 2)), dtype=torch.float64).reshape(8, 1, 1, 3)
    losses = log_loss("bernoulli", logits.expand(2, 8, 1, 1, 3), images)
    assert losses.shape == (2, 8)
    torch.testing.assert_close((-losses).exp().sum(-1), torch.ones(2, dtype=torch.float64))
    expected = -Bernoulli(logits=logits[0, 0]).log_prob(images).sum((1, 2, 3))
    torch.testing.assert_close(losses[1], expected)


def test_gaussian_weights_are_densities():
    y, x = X.expand(3, 4, *PIXELS), X + 1
    expected = -Normal(y[0], math.sqrt(0.5)).log_prob(x).sum((1, 2, 3))
    torch.testing.assert_close(log_loss("gaussian", y, x)[2], expected)


def test_training_lowers_the_loss(tiny):
    context = Context(
        Arrays(str(tiny)).load(), Linear(latents=4), 32, Runtime(torch.device("cpu"), "float32")
    )
    population = Looped.fresh(context, [Member(0, IWAE(), Adam(lr=1e-2))])
    first, last = population.advance(0, 1), population.advance(1, 200)
    assert last["loss"] < 0.5 * first["loss"]
    assert last["bound"] <= last["recon"] + last["kl"]
    assert 1 <= last["effective"] <= 5


def test_no_samples_are_refused():
    with pytest.raises(ConfigError, match=r"^IWAE.samples must be 1 or more; got 0.$"):
        IWAE(samples=0)
