"""TVAE: the paper's means and our sums, its limits, and what its gradients reach."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.autograd import gradcheck

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.losses import beta_of_means
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.tvae import PRESETS, TVAE

DRAW = torch.Generator().manual_seed(21)
UP = torch.randn(3, 4, dtype=torch.float64, generator=DRAW)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def net(mean, logvar):
    """Three latents and four pixels; codes are given, whatever the images."""
    return Net(lambda x: Posterior(mean, logvar), lambda z: (z @ UP).unflatten(-1, (1, 2, 2)))


def step(x):
    return Step(x, torch.tensor(3), torch.tensor(4), n_data=100)


def test_a_triplet_by_hand():
    """Distances 1 + 0 + 2 to the positive and 4 + 1 + 0 to the negative: 10 + 3 - 5."""
    mean = torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0], [4.0, 2.0, 2.0]]).double()
    terms = TVAE(psi=10.0).terms(net(mean, mean), step(torch.zeros(3, 1, 2, 2).double()))
    assert terms["triplet"].value == 8
    assert terms["violations"].value == 1
    kept = TVAE(psi=2.0).terms(net(mean, mean), step(torch.zeros(3, 1, 2, 2).double()))
    assert (kept["triplet"].value, kept["violations"].value) == (0, 0)
    soft = TVAE(margin="soft", norm="l2").terms(
        net(mean, mean), step(torch.zeros(3, 1, 2, 2).double())
    )
    gap = math.sqrt(5) - math.sqrt(17)
    assert soft["triplet"].value.item() == pytest.approx(math.log1p(math.exp(gap)))


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_without_triplets_it_is_the_mean_beta_vae_loss(likelihood):
    """At alpha 0; a third of each view, bit for bit that of one batch of all."""
    ours = testing.cases(TVAE(alpha=0.0, beta=4.0, likelihood=likelihood))[1][0]
    theirs = BetaVAE(beta=4.0, likelihood=likelihood).terms(ours.net, ours.step)
    assert torch.equal(total(ours.terms()), total(theirs))
    thirds = [
        BetaVAE(beta=4.0).terms(ours.net, Step(x, ours.step.seed, ours.step.t, 40))["kl"].value
        for x in ours.step.x.chunk(3)
    ]
    torch.testing.assert_close(ours.terms()["kl"].value, sum(thirds) / 3)


def test_sums_with_translated_weights_are_the_paper_s_means_times_the_pixels():
    """Michlo 2022, 5.12 with A.2.1, written out with means; gradients point the same way."""
    beta, alpha, psi, pixels, latents = 0.01, 10.0, 2.0, 4, 3
    mean, logvar = randn(12, 3).requires_grad_(), randn(12, 3).requires_grad_()
    x = randn(12, 1, 2, 2)
    z = mean + (logvar / 2).exp() * step(x).normal("z", 12, 3)
    a, p, n = mean.chunk(3)
    gaps = psi + (a - p).abs().sum(1) - (a - n).abs().sum(1)
    theirs = (
        F.mse_loss((z @ UP).unflatten(-1, (1, 2, 2)), x)
        + beta * (0.5 * (mean**2 + logvar.exp() - 1 - logvar)).mean()
        + alpha * gaps.clamp(min=0).mean()
    )
    ours = TVAE(
        beta=beta_of_means(beta, pixels=pixels, latents=latents),
        alpha=alpha * pixels,
        psi=psi,
        likelihood="gaussian",
    )
    loss = total(ours.terms(net(mean, logvar), step(x)))
    torch.testing.assert_close(loss, pixels * theirs)
    for slope, other in zip(
        torch.autograd.grad(loss, (mean, logvar)),
        torch.autograd.grad(theirs, (mean, logvar)),
        strict=True,
    ):
        torch.testing.assert_close(slope, pixels * other)
        assert F.cosine_similarity(slope.flatten(), other.flatten(), 0) == pytest.approx(1)


def test_the_paper_s_multipliers():
    """Michlo 2022, A.2.1: 3 and 1 channels of 64 x 64 pixels, 9 and 25 latents."""
    for channels, latents, expected in [
        (3, 9, 1365.3333),
        (3, 25, 491.52),
        (1, 9, 455.1111),
        (1, 25, 163.84),
    ]:
        got = beta_of_means(1.0, pixels=channels * 64 * 64, latents=latents)
        assert got == pytest.approx(expected, abs=1e-4)
    assert PRESETS["michlo"].beta == pytest.approx(4.9152)
    assert PRESETS["michlo"].alpha == 12288


def test_the_triplet_term_is_of_means_and_not_of_samples():
    x, mean = randn(6, 1, 2, 2), randn(6, 3)
    values = [
        TVAE().terms(net(mean, torch.full_like(mean, logvar)), step(x))["triplet"].value
        for logvar in (-3.0, 3.0)
    ]
    assert torch.equal(*values)


def gradient_of(name, **settings):
    """Of one term, in the encoder's and the decoder's weights."""
    case = testing.cases(TVAE(**settings))[1][0]
    weights = [case.weights[key] for key in ("encoder.1.weight", "decoder.0.weight")]
    return torch.autograd.grad(case.terms()[name].value, weights, materialize_grads=True)


def test_a_cut_decoder_gradient_leaves_the_encoder_none_of_the_reconstruction():
    encoder, decoder = gradient_of("recon", decoder_gradient=False)
    whole_encoder, whole_decoder = gradient_of("recon")
    assert (encoder == 0).all()
    assert (whole_encoder != 0).any()
    assert torch.equal(decoder, whole_decoder)
    for name in ("kl", "triplet"):
        cut, whole = (gradient_of(name, decoder_gradient=g)[0] for g in (False, True))
        assert torch.equal(cut, whole)
        assert (whole != 0).any()


def test_the_loss_itself_does_not_know_of_the_cut():
    whole, cut = (testing.cases(TVAE(decoder_gradient=g))[1][0].terms() for g in (True, False))
    assert torch.equal(total(whole), total(cut))


@pytest.mark.parametrize(("margin", "norm"), [("hard", "l1"), ("soft", "l2")])
def test_gradients_match_finite_differences(margin, norm):
    mean, logvar, x = randn(9, 3), randn(9, 3), randn(9, 1, 2, 2)
    objective = TVAE(2.0, 3.0, 1.0, margin, norm, likelihood="gaussian")
    assert gradcheck(
        lambda m, v: total(objective.terms(net(m, v), step(x))),
        (mean.requires_grad_(), logvar.requires_grad_()),
        atol=1e-7,
    )


@pytest.mark.parametrize(
    "settings", [{"margin": "soft", "norm": "l2"}, {"decoder_gradient": False}]
)
def test_other_settings_are_the_same_in_a_population(settings):
    for check in (testing.together_as_alone, testing.gradients_reach_all_weights):
        check(TVAE(**settings))


def trained(tiny, **settings):
    return unknot.train(
        "arrays",
        "tvae",
        "linear",
        steps=300,
        batch=32,
        lr=1e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 5},
        likelihood="gaussian",
        beta=0.01,
        psi=1.0,
        **settings,
    )


def test_training_on_triplets_lowers_the_loss_and_orders_codes(tiny):
    """Factors say which of two images is nearer; without triplets codes come to disagree."""
    run, free = trained(tiny, alpha=16.0), trained(tiny, alpha=0.0)
    loss, wrong = run.training.curves["loss"], run.training.curves["triplet"]
    assert loss[-5:].mean() < 0.5 * loss[0].mean()
    assert wrong[-5:].mean() < 0.8 * wrong[0].mean()
    assert free.training.curves["triplet"][-5:].mean() > 1.5 * wrong[-5:].mean()
    assert run.training.curves["violations"][-5:].mean() < 0.8


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -1.0}, "TVAE.alpha must be 0 or more; got -1.0."),
        ({"beta": -1.0}, "TVAE.beta must be 0 or more; got -1.0."),
        ({"psi": -1.0}, "TVAE.psi must be 0 or more; got -1.0."),
        ({"margin": "sof"}, "TVAE.margin has no choice 'sof'; did you mean 'soft'[?]"),
        ({"norm": "l3"}, "TVAE.norm has no choice 'l3'; known: l1, l2."),
    ],
)
def test_what_is_refused(settings, message):
    bad = TVAE()
    for name, value in settings.items():  # as outside tests, where no annotation is checked
        object.__setattr__(bad, name, value)
    with pytest.raises(ConfigError, match=f"^{message}$"):
        bad.__post_init__()
