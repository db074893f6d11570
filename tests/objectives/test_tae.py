"""TAE: the autoencoder beside it, the TVAE above it."""

import pytest
import torch

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import total
from unknot.objectives.ae import AE
from unknot.objectives.tae import PRESETS, TAE
from unknot.objectives.tvae import TVAE


def test_without_triplets_it_is_the_autoencoder_of_all_views_bit_for_bit():
    ours = testing.cases(TAE(alpha=0.0, likelihood="gaussian"))[1][0]
    theirs = AE(likelihood="gaussian").terms(ours.net, ours.step)
    assert torch.equal(total(ours.terms()), total(theirs))


@pytest.mark.parametrize(("margin", "norm"), [("hard", "l1"), ("soft", "l2")])
def test_its_triplet_term_is_that_of_the_tvae(margin, norm):
    case = testing.cases(TAE(margin=margin, norm=norm))[1][0]
    ours, theirs = case.terms(), TVAE(margin=margin, norm=norm).terms(case.net, case.step)
    for name in ("triplet", "violations"):
        assert torch.equal(ours[name].value, theirs[name].value)
    assert ours.keys() == theirs.keys() - {"kl"}


def test_a_cut_decoder_gradient_leaves_the_encoder_none_of_the_reconstruction():
    for cut in (True, False):
        case = testing.cases(TAE(decoder_gradient=not cut))[1][0]
        encoder, decoder = torch.autograd.grad(
            case.terms()["recon"].value,
            [case.weights["encoder.1.weight"], case.weights["decoder.0.weight"]],
            materialize_grads=True,
        )
        assert bool((encoder == 0).all()) == cut
        assert (decoder != 0).any()


def test_only_the_half_of_the_encoder_that_gives_means_is_trained():
    means, logvars = testing.cases(TAE())[1][0].gradients()["encoder.1.weight"].chunk(2)
    assert (means != 0).all()
    assert (logvars == 0).all()


def test_soft_margins_are_the_same_in_a_population():
    for check in (testing.together_as_alone, testing.gradients_reach_all_weights):
        check(TAE(margin="soft", norm="l2", decoder_gradient=False))


def test_the_preset_is_alpha_1_beside_a_mean_over_12288_pixels():
    assert PRESETS["michlo"].alpha == 12288


def test_training_without_the_decoder_s_gradient_orders_codes(tiny):
    """The encoder learns from triplets alone and the decoder still learns to decode."""
    run = unknot.train(
        "arrays",
        "tae",
        "linear",
        steps=200,
        batch=32,
        lr=2e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 5},
        likelihood="gaussian",
        alpha=64.0,
        psi=1.0,
        decoder_gradient=False,
    )
    wrong, recon = run.training.curves["violations"], run.training.curves["recon"]
    assert wrong[-5:].mean() < 0.5 * wrong[0].mean()
    assert recon[-5:].mean() < 0.8 * recon[0].mean()
    assert (run.posterior(run.dataset.batch(torch.arange(8))).logvar == -20).all()


def test_what_is_refused():
    with pytest.raises(ConfigError, match=r"^TAE.alpha must be 0 or more; got -1.0\.$"):
        TAE(alpha=-1.0)
    with pytest.raises(ConfigError, match=r"^TAE.psi must be 0 or more; got -3.0\.$"):
        TAE(psi=-3.0)
