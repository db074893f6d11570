"""The beta-TCVAE: how the divergence splits, what each estimator says, and who weighs what."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Note, total
from unknot.core.posterior import Posterior
from unknot.losses import kl_normal
from unknot.objectives.beta_tcvae import PRESETS, BetaTCVAE, log_normal, log_weights, split_kl
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.vae import VAE

ESTIMATORS = ["none", "mws", "mixture", "mss"]
DSPRITES = 737_280
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


@pytest.fixture
def randn():
    draw = torch.Generator().manual_seed(7)
    return lambda *shape: torch.randn(*shape, dtype=torch.float64, generator=draw)


def total_correlation(estimator, mean, sigma, eps, n_data=DSPRITES):
    q = Posterior(mean, (2 * torch.as_tensor(sigma).double().log()).expand_as(mean))
    z = q.sample(eps)
    return split_kl(z, q, log_weights(estimator, z, n_data))[1].mean().item()


@each_estimator
def test_against_scipy(estimator, randn):
    """Term by term, with loops, from the definition."""
    b, n_data = 5, 40
    q = Posterior(randn(b, 3), randn(b, 3))
    z = q.sample(randn(b, 3))
    weights = {
        "none": np.ones((b, b)),
        "mws": np.full((b, b), 1 / (b * n_data)),
        "mixture": np.full((b, b), 1 / b),
        "mss": np.full((b, b), 1 / (b - 1)),
    }[estimator]
    if estimator == "mss":
        for i in range(b):
            weights[i, i] = 1 / n_data
            weights[i, (i + 1) % b] = (n_data - b + 1) / (n_data * (b - 1))
    mean, sigma, codes = q.mean.numpy(), np.exp(q.logvar.numpy() / 2), z.numpy()
    expected = np.zeros(3)
    for i in range(b):
        pairs = np.stack([norm.logpdf(codes[i], mean[j], sigma[j]) for j in range(b)])
        joint = logsumexp(pairs.sum(1), b=weights[i])
        marginals = sum(logsumexp(pairs[:, k], b=weights[i]) for k in range(3))
        prior = norm.logpdf(codes[i]).sum()
        expected += [pairs[i].sum() - joint, joint - marginals, marginals - prior]
    ours = split_kl(z, q, log_weights(estimator, z, n_data))
    np.testing.assert_allclose(np.array(ours), expected / b, rtol=1e-12)


@each_estimator
def test_the_parts_telescope_to_the_divergence_of_the_sample(estimator, randn):
    q = Posterior(randn(3, 16, 4), randn(3, 16, 4))
    eps = randn(3, 16, 4)
    z = q.sample(eps)
    parts = split_kl(z, q, log_weights(estimator, z, 1000))
    expected = 0.5 * (z.square() - eps.square() - q.logvar).sum(-1).mean(-1)
    torch.testing.assert_close(sum(parts), expected, rtol=1e-12, atol=1e-12)


@each_estimator
def test_equal_weights_are_the_beta_vae_on_average(estimator, randn):
    q = Posterior(randn(8, 4), randn(8, 4))
    z = Posterior(q.mean.expand(20_000, 8, 4), q.logvar.expand(20_000, 8, 4)).sample(
        randn(20_000, 8, 4)
    )
    many = Posterior(q.mean.expand_as(z), q.logvar.expand_as(z))
    sums = sum(split_kl(z, many, log_weights(estimator, z, 1000)))
    error = (sums.mean() - kl_normal(q).sum()) / (sums.std() / math.sqrt(20_000))
    assert abs(error) < 4


def test_stratified_weights_put_self_on_the_diagonal():
    """Where four libraries stride by b + 1 along a row of b and fill a column instead."""
    n, b = 1000, 6
    weights = log_weights("mss", torch.zeros(b, 2, dtype=torch.float64), n).exp()
    torch.testing.assert_close(weights.diagonal(), torch.full((b,), 1 / n).double())
    others = (n - b + 1) / (n * (b - 1))
    torch.testing.assert_close(weights.diagonal(1), torch.full((b - 1,), others).double())
    torch.testing.assert_close(weights.sum(1), torch.ones(b).double())
    assert (weights > 0).all()
    assert weights.dtype == torch.float64


def test_the_stratified_density_is_exact_on_average_over_all_batches(randn):
    """Over ordered batches of 3 of 5 images with image n in place i, each image weighs 1/5."""
    n_data, b = 5, 3
    weights = log_weights("mss", torch.zeros(b, 1, dtype=torch.float64), n_data).exp()
    density = randn(n_data).exp()  # of one code under each image
    for n, i in itertools.product(range(n_data), range(b)):
        batches = [r for r in itertools.permutations(range(n_data), b) if r[i] == n]
        sums = torch.stack([weights[i] @ density[list(batch)] for batch in batches])
        torch.testing.assert_close(sums.mean(), density.mean())
    column = weights.clone().fill_(1 / (b - 1))
    column[:, 0], column[:, 1] = 1 / n_data, (n_data - b + 1) / (n_data * (b - 1))
    batches = [r for r in itertools.permutations(range(n_data), b) if r[1] == 0]
    sums = torch.stack([column[1] @ density[list(batch)] for batch in batches])
    assert (sums.mean() - density.mean()).abs() > 0.01


@pytest.mark.parametrize(
    ("active", "expected"),
    [
        (0, {"mws": 121.6, "none": -37.4, "mixture": 0.0, "mss": 0.0}),
        (3, {"mws": 124.1, "none": -35.0, "mixture": 2.5, "mss": -3.8}),
        (5, {"mws": 128.3, "none": -30.7, "mixture": 6.7, "mss": -0.7}),
    ],
)
def test_what_each_says_of_a_true_total_correlation_of_zero(active, expected, randn):
    """Ten latents, 64 images of dSprites' 737,280; active ones N(0, 0.99) with sigma 0.1."""
    mean, sigma = torch.zeros(100, 64, 10).double(), torch.ones(10).double()
    mean[..., :active], sigma[:active] = math.sqrt(0.99) * randn(100, 64, active), 0.1
    eps = randn(100, 64, 10)
    for estimator, value in expected.items():
        ours = total_correlation(estimator, mean, sigma, eps)
        assert ours == pytest.approx(value, abs=0.15), estimator


@pytest.mark.parametrize(
    ("estimator", "expected"), [("none", -29.8), ("mws", 129), ("mixture", 7.6), ("mss", -0.8)]
)
def test_what_each_says_of_ten_independent_latents(estimator, expected, randn):
    """Sigma 0.3, total variance 1; truly 0."""
    mean = math.sqrt(0.91) * randn(30, 64, 10)
    ours = total_correlation(estimator, mean, 0.3, randn(30, 64, 10))
    assert ours == pytest.approx(expected, abs=0.4)


@pytest.mark.parametrize(("correlation", "expected"), [(0.0, 0.0), (0.9, 0.54)])
def test_stratified_total_correlation_of_many_codes(correlation, expected, randn):
    """Two latents, 2,000 images; 0.9 between the means is 0.56 nats between the codes."""
    mean = randn(2000, 2)
    mean[:, 1] = correlation * mean[:, 0] + math.sqrt(1 - correlation**2) * mean[:, 1]
    ours = total_correlation("mss", math.sqrt(0.91) * mean, 0.3, randn(2000, 2))
    assert ours == pytest.approx(expected, abs=0.05)


def test_stratified_weights_in_a_column_would_say_what_the_plain_mixture_says(randn):
    """+7.5 for ten independent latents instead of -0.8, as long as b is small against N."""
    q = Posterior(
        math.sqrt(0.91) * randn(30, 64, 10), torch.full((30, 64, 10), math.log(0.09)).double()
    )
    z = q.sample(randn(30, 64, 10))
    column = z.new_full((64, 64), -math.log(63))
    column[:, 0] = -math.log(DSPRITES)
    wrong, mixture, right = (
        split_kl(z, q, w)[1].mean().item()
        for w in (column, log_weights("mixture", z, DSPRITES), log_weights("mss", z, DSPRITES))
    )
    assert wrong == pytest.approx(7.5, abs=0.3)
    assert abs(wrong - mixture) < 0.3
    assert right == pytest.approx(-0.8, abs=0.4)


def test_constants_do_not_train():
    """Gradients of none, mws and mixture agree; those of mss do not."""
    gradients = {
        e: testing.cases(BetaTCVAE(estimator=e))[1][0].gradients()["encoder.1.weight"]
        for e in ESTIMATORS
    }
    for e in ("mws", "mixture"):
        torch.testing.assert_close(gradients[e], gradients["none"], rtol=1e-10, atol=1e-13)
    assert (gradients["mss"] - gradients["none"]).abs().max() > 1e-3


def test_the_gradient_is_that_of_the_value(randn):
    mean, logvar, eps = randn(4, 2).requires_grad_(), randn(4, 2).requires_grad_(), randn(4, 2)

    def parts(mean, logvar):
        q = Posterior(mean, logvar)
        z = q.sample(eps)
        return split_kl(z, q, log_weights("mss", z, 9))

    assert torch.autograd.gradcheck(parts, (mean, logvar))


def losses(objective):
    case = testing.cases(objective)[1][0]
    return case.terms(), case.gradients()


@each_estimator
def test_beta_one_of_the_2019_study_is_the_vae_bit_for_bit(estimator):
    terms, gradients = losses(BetaTCVAE(beta=1.0, reading="beta_minus_1", estimator=estimator))
    vae, theirs = losses(VAE())
    assert torch.equal(total(terms), total(vae))
    for name, gradient in gradients.items():
        assert torch.equal(gradient, theirs[name])


def test_equal_weights_are_the_beta_vae_of_the_sample():
    terms, _ = losses(BetaTCVAE(alpha=3.0, beta=3.0, gamma=3.0))
    theirs, _ = losses(BetaVAE(beta=3.0))
    sampled = sum(terms[name].value for name in ("mi", "tc", "dwkl"))
    torch.testing.assert_close(total(terms), theirs["recon"].value + 3 * sampled)
    assert isinstance(terms["kl"], Note)
    assert torch.equal(terms["kl"].value, theirs["kl"].value)


def test_beta_weighs_the_total_correlation_once_and_nothing_else():
    """Not beta * KL + (beta - 1) * TC, as in disent."""
    terms, _ = losses(BetaTCVAE(beta=6.0, reading="beta_minus_1"))
    recon, kl, tc = (terms[name].value for name in ("recon", "kl", "tc"))
    torch.testing.assert_close(total(terms), recon + kl + 5 * tc)
    assert terms["kl"].weight == 1.0


def test_extra_total_correlation_is_one_more_beta():
    """Mushom's reading: the VAE plus beta TC, so that 1 there is 2 here."""
    extra, other = (
        losses(BetaTCVAE(beta=b, reading=r)) for b, r in [(1.0, "extra_tc"), (2.0, "beta_minus_1")]
    )
    assert torch.equal(total(extra[0]), total(other[0]))
    assert PRESETS["mushom"].reading == "extra_tc"


def test_all_readings_agree_up_to_closed_or_sampled_divergence():
    weights, closed = (
        losses(BetaTCVAE(alpha=0.5, beta=4.0, gamma=2.0, reading=r))[0]
        for r in ("weights", "beta_minus_1")
    )
    sampled = sum(weights[name].value for name in ("mi", "tc", "dwkl"))
    torch.testing.assert_close(total(weights) - sampled, total(closed) - closed["kl"].value)


def test_total_correlation_sees_more_than_variances(randn):
    """Turning the means by 45 degrees leaves all norms and lowers it."""
    line = torch.stack([randn(500)] * 2, -1)
    turned = torch.stack([line.sum(-1), 0 * line[:, 0]], -1) / math.sqrt(2)
    eps = randn(500, 2)
    along, apart = (total_correlation("mixture", m, 0.3, eps) for m in (line, turned))
    assert along > 0.9
    assert abs(apart) < 0.05


def test_far_apart_codes_stay_finite():
    q = Posterior(torch.linspace(-50, 50, 8).reshape(8, 1), torch.full((8, 1), -12.0))
    q = Posterior(q.mean.requires_grad_(), q.logvar.requires_grad_())
    for estimator in ESTIMATORS:
        z = q.sample(torch.ones(8, 1))
        parts = split_kl(z, q, log_weights(estimator, z, DSPRITES))
        gradients = torch.autograd.grad(sum(parts), [q.mean, q.logvar])
        assert all(value.isfinite().all() for value in (*parts, *gradients))


def checked(objective, **settings):
    """What happens outside tests, where nobody checks annotations before `__post_init__` does."""
    for name, value in settings.items():
        object.__setattr__(objective, name, value)
    objective.__post_init__()


def test_bad_settings_are_refused():
    with pytest.raises(
        ConfigError, match=r"^BetaTCVAE.estimator has no choice 'mixed'; did you mean 'mixture'\?$"
    ):
        checked(BetaTCVAE(), estimator="mixed")
    with pytest.raises(ConfigError, match=r"^BetaTCVAE.reading has no choice 'beta-1'"):
        checked(BetaTCVAE(), reading="beta-1")
    with pytest.raises(ConfigError, match=r"^BetaTCVAE.alpha must be 0 or more; got -1.0.$"):
        BetaTCVAE(alpha=-1.0)
    with pytest.raises(ConfigError, match=r"at most the 40 images there are; got 41. Take a sm"):
        BetaTCVAE(estimator="mss").check_batch(41, 40)
    BetaTCVAE(estimator="mws").check_batch(41, 40)
    BetaTCVAE(estimator="mss").check_batch(40, 40)
    assert log_weights("mss", torch.zeros(40, 2), 40).isfinite().all()


def test_a_batch_larger_than_the_data_is_refused_before_anything_is_written(tiny, tmp_path):
    settings = {"data_settings": {"path": str(tiny)}, "net_settings": {"latents": 3}, "steps": 2}
    with pytest.raises(ConfigError, match="at most the"):
        unknot.train(
            "arrays", "beta_tcvae", "linear", estimator="mss", batch=10_000, out=tmp_path / "run",
            **settings,
        )  # fmt: skip
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("check", testing.OBJECTIVE_CHECKS[:-1], ids=lambda check: check.__name__)
def test_contract_of_the_mixture(check):
    check(BetaTCVAE(estimator="mixture", reading="extra_tc"))


@pytest.mark.parametrize("settings", [{}, {"preset": "chen_stratified"}, {"preset": "study2019"}])
def test_training_lowers_the_loss(settings, tiny):
    trained = unknot.train(
        "arrays",
        "beta_tcvae",
        "linear",
        steps=120,
        batch=32,
        lr=2e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 3},
        likelihood="gaussian",
        **settings,
    )
    loss = trained.training.curves["loss"]
    assert loss[-5:].mean() < loss[:2].mean() - 1


def test_log_normal_is_the_density_with_its_constant():
    z, mean, logvar = (torch.linspace(*ends, 5) for ends in ((-2, 3), (1, -1), (-3, 2)))
    expected = norm.logpdf(z.numpy(), mean.numpy(), (0.5 * logvar).exp().numpy())
    assert np.allclose(log_normal(z, mean, logvar).numpy(), expected, rtol=1e-5)
