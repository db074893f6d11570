"""sigma-VAE: the Gaussian density, its best sigma, and the beta that follows from it."""

import math
from functools import partial

import pytest
import torch
from torch.distributions import Normal

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.losses import kl_normal
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.sigma_vae import LOWEST, best_log_sigma, soft_floor
from unknot.objectives.sigma_vae import SigmaVAE as AnySigmaVAE

# The decoder's outputs are the means, so that a test can choose R.
SigmaVAE = partial(AnySigmaVAE, likelihood="gaussian")
DRAW = torch.Generator().manual_seed(8)
DOUBLE = torch.float64


def randn(*shape):
    return torch.randn(*shape, dtype=DOUBLE, generator=DRAW)


def before_the_floor(log_sigma):
    """What the optimiser must hold for ln sigma to be this."""
    return LOWEST + math.log(math.expm1(log_sigma - LOWEST))


def bound(decoded, mean, logvar, log_sigma=0.0):
    """A net that gives the same images and posterior whatever it is asked."""
    own = {"log_sigma": torch.tensor([log_sigma], dtype=DOUBLE)}
    return Net(lambda _: Posterior(mean, logvar), lambda _: decoded, extra=own)


def step(x):
    return Step(x, torch.tensor(3), torch.tensor(0), n_data=50)


@pytest.fixture
def some():
    x, decoded = randn(5, 2, 3, 4), randn(5, 2, 3, 4)
    return x, decoded, randn(5, 3), randn(5, 3)


@pytest.mark.parametrize("log_sigma", [-2.0, 0.0, 0.7])
def test_the_loss_is_the_gaussian_log_density_without_its_constant(some, log_sigma):
    x, decoded, mean, logvar = some
    net = bound(decoded, mean, logvar, before_the_floor(log_sigma))
    loss = total(SigmaVAE().terms(net, step(x)))
    density = Normal(decoded, math.exp(log_sigma)).log_prob(x).sum((1, 2, 3)).mean()
    expected = -density - 24 * 0.5 * math.log(2 * math.pi) + kl_normal(net.encode(x)).sum()
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)


def test_the_literal_form_has_one_ln_sigma_for_all_pixels(some):
    x, decoded, mean, logvar = some
    net = bound(decoded, mean, logvar, before_the_floor(-1.0))
    density, literal = (SigmaVAE(form=f).terms(net, step(x)) for f in ("density", "literal"))
    torch.testing.assert_close(total(density) - total(literal), torch.tensor(-23.0, dtype=DOUBLE))


def test_pixels_are_summed_and_not_averaged():
    """Public copies average them, which weights the divergence by the number of pixels."""
    x, mean = randn(4, 1, 2, 2), torch.zeros(4, 3, dtype=DOUBLE)
    small = SigmaVAE().terms(bound(torch.zeros_like(x), mean, mean + 0.5), step(x))
    large = x.repeat(1, 1, 2, 2)
    fourfold = SigmaVAE().terms(bound(torch.zeros_like(large), mean, mean + 0.5), step(large))
    kl = small["kl"].value
    assert torch.equal(fourfold["kl"].value, kl)
    torch.testing.assert_close(total(fourfold) - kl, 4 * (total(small) - kl))


@pytest.mark.parametrize(("form", "count"), [("density", 24), ("literal", 1)])
def test_the_learnt_sigma_settles_at_the_analytic_one(some, form, count):
    """sigma^2 = R / D with the density, R without D; beta is twice that."""
    x, decoded, mean, logvar = some
    net = bound(decoded, mean, logvar)
    learnt = net.extra["log_sigma"].requires_grad_()
    optimizer = torch.optim.Adam([learnt], lr=0.1)
    for _ in range(250):
        optimizer.zero_grad()
        total(SigmaVAE(form=form).terms(net, step(x))).backward()
        optimizer.step()
    found = SigmaVAE(form=form).terms(net, step(x))
    analytic = SigmaVAE(sigma="analytic", form=form).terms(net, step(x))
    best = (x - decoded).square().sum((1, 2, 3)).mean().item() / count
    assert found["sigma"].value.item() ** 2 == pytest.approx(best, rel=1e-3)
    assert analytic["sigma"].value.item() ** 2 == pytest.approx(best, rel=1e-9)
    for terms in (found, analytic):
        torch.testing.assert_close(terms["beta"].value, 2 * terms["sigma"].value.square())
        torch.testing.assert_close(terms["recon"].weight, 1 / terms["beta"].value)


def test_the_analytic_sigma_is_the_minimum(some):
    x, decoded, *_ = some
    error = (x - decoded).square().sum((1, 2, 3)).mean()
    best = best_log_sigma(error, 24)
    cost = lambda s: 24 * s + error / (2 * (2 * s).exp())  # noqa: E731
    assert cost(best) < min(cost(best - 1e-3), cost(best + 1e-3))
    torch.testing.assert_close(cost(best), 12 * ((error / 24).log() + 1))


def test_the_analytic_gradient_is_that_of_half_d_times_ln_r():
    """Sigma moves with the error, but at its best that changes nothing to first order."""
    x, images = randn(5, 1, 4, 4), randn(5, 1, 4, 4).requires_grad_()
    zero = torch.zeros(5, 2, dtype=DOUBLE)
    loss = total(SigmaVAE(sigma="analytic").terms(bound(images, zero, zero), step(x)))
    (slope,) = torch.autograd.grad(loss, images)
    error = (x - images).square().sum((1, 2, 3)).mean()
    (expected,) = torch.autograd.grad(8 * error.log(), images)
    torch.testing.assert_close(slope, expected, rtol=1e-9, atol=0)


@pytest.mark.parametrize("sigma", ["learnt", "analytic"])
def test_gradients_are_those_of_finite_differences(some, sigma):
    x, *rest = some

    def loss(decoded, mean, logvar, log_sigma):
        net = Net(
            lambda _: Posterior(mean, logvar), lambda _: decoded, extra={"log_sigma": log_sigma}
        )
        return total(SigmaVAE(sigma=sigma).terms(net, step(x)))

    inputs = [t.clone().requires_grad_() for t in (*rest, torch.tensor([-0.4], dtype=DOUBLE))]
    assert torch.autograd.gradcheck(loss, inputs)


def test_it_moves_the_net_as_a_beta_vae_does():
    """Times 2 sigma^2 its gradient is that of R + 2 sigma^2 KL, for every weight of the net."""
    ours = testing.cases(SigmaVAE())[1][0]
    beta = ours.terms()["beta"].value.item()
    theirs = testing.cases(BetaVAE(beta=beta, likelihood="gaussian"))[1][0].gradients()
    for name, slope in ours.gradients().items():
        if name != "extra.log_sigma":
            torch.testing.assert_close(beta * slope, theirs[name], rtol=1e-12, atol=1e-12)


def test_the_floor_is_soft_and_leaves_larger_sigmas_alone():
    """As in the authors' code: -6 + ln(1 + e^(s + 6))."""
    s = torch.tensor([-100.0, -6.0, -3.0, 0.0, 5.0], dtype=DOUBLE)
    expected = torch.tensor(
        [-6, -6 + math.log(2), -6 + math.log1p(math.exp(3)), math.log1p(math.exp(6)) - 6, 5.0]
    )
    torch.testing.assert_close(soft_floor(s), expected.double(), rtol=1e-5, atol=1e-5)
    assert (soft_floor(s) >= LOWEST).all()


@pytest.mark.parametrize("dtype", [torch.float32, DOUBLE])
def test_a_perfect_reconstruction_has_a_finite_loss_and_gradient(dtype):
    """Without the floor ln sigma would be minus infinity."""
    x, zero = torch.full((3, 1, 4, 4), 0.25, dtype=dtype), torch.zeros(3, 2, dtype=dtype)
    images = x.clone().requires_grad_()
    terms = SigmaVAE(sigma="analytic").terms(bound(images, zero, zero), step(x))
    assert terms["sigma"].value.item() == pytest.approx(math.exp(-6))
    (slope,) = torch.autograd.grad(total(terms), images)
    assert not slope.any()


def test_a_dsprites_sized_error_gives_the_beta_of_the_thesis():
    """Moğultay Özcan 2024: R = 12.3 on 4,096 pixels makes beta 0.006, next to an autoencoder."""
    x, zero = (
        torch.full((2, 1, 64, 64), math.sqrt(12.3 / 4096)).double(),
        torch.zeros(2, 5).double(),
    )
    net = bound(torch.zeros_like(x), zero, zero)
    beta = SigmaVAE(sigma="analytic").terms(net, step(x))["beta"].value.item()
    assert beta == pytest.approx(2 * 12.3 / 4096) == pytest.approx(0.0060, rel=2e-3)
    literal = SigmaVAE(sigma="analytic", form="literal").terms(net, step(x))
    assert literal["beta"].value.item() == pytest.approx(24.6, rel=2e-3)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("sigma", "learned", "SigmaVAE.sigma has no choice 'learned'; did you mean 'learnt'?"),
        ("form", "x", "SigmaVAE.form has no choice 'x'; known: density, literal."),
    ],
)
def test_unknown_choices_are_refused_by_name(field, value, message):
    wrong = SigmaVAE()
    object.__setattr__(wrong, field, value)  # past the tests' own check of types
    with pytest.raises(ConfigError) as refused:
        wrong.__post_init__()
    assert str(refused.value) == message


@pytest.mark.parametrize("settings", [{}, {"preset": "optimal"}, {"preset": "ozcan_literal"}])
def test_training_lowers_the_loss_and_calibrates_sigma(tiny, settings):
    trained = unknot.train(
        "arrays",
        "sigma_vae",
        "linear",
        steps=300,
        batch=32,
        lr=2e-2,
        device="cpu",
        log_every=5,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 3},
        likelihood="gaussian",
        **settings,
    )
    curves = trained.training.curves
    assert curves["loss"][-10:].mean() < curves["loss"][0] - 10
    error, square = curves["recon"][-20:].mean(), curves["sigma"][-20:].square().mean()
    count = 1 if trained.spec.objective.settings.form == "literal" else 64
    assert square.item() == pytest.approx(error.item() / count, rel=0.05)
    assert trained.decode(torch.zeros(1, 3)).shape == (1, 1, 8, 8)
