"""Ada-TAE: the TAE as its limit, the Ada-TVAE above it."""

import pytest
import torch

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import total
from unknot.objectives.ada_tae import PRESETS, AdaTAE
from unknot.objectives.ada_tvae import PRESETS as ADA_TVAES
from unknot.objectives.ada_tvae import AdaTVAE
from unknot.objectives.tae import TAE


@pytest.mark.parametrize("inert", [{"omega": 1.0, "eta": 0.4}, {"omega": 0.3, "eta": 0.0}])
@pytest.mark.parametrize("settings", [{}, {"margin": "soft", "norm": "l2"}])
def test_with_omega_1_or_eta_0_it_is_the_tae_bit_for_bit(inert, settings):
    ours = testing.cases(AdaTAE(**inert, **settings))[1][0]
    theirs = testing.cases(TAE(**settings))[1][0]
    assert torch.equal(total(ours.terms()), total(theirs.terms()))
    gradients = theirs.gradients()
    for name, gradient in ours.gradients().items():
        assert torch.equal(gradient, gradients[name])


def test_its_triplet_term_is_that_of_the_ada_tvae_by_differences_of_means():
    case = testing.cases(AdaTAE(omega=0.4, eta=0.3))[1][0]
    ours, theirs = case.terms(), AdaTVAE(omega=0.4, eta=0.3).terms(case.net, case.step)
    for name in ("triplet", "violations", "shared"):
        assert torch.equal(ours[name].value, theirs[name].value)
    assert ours["shared"].value > 0
    assert ours.keys() == theirs.keys() - {"kl"}


def test_a_cut_decoder_gradient_leaves_the_encoder_none_of_the_reconstruction():
    case = testing.cases(AdaTAE(omega=0.5, decoder_gradient=False))[1][0]
    (encoder,) = torch.autograd.grad(
        case.terms()["recon"].value, case.weights["encoder.1.weight"], materialize_grads=True
    )
    assert (encoder == 0).all()


def test_only_the_half_of_the_encoder_that_gives_means_is_trained():
    means, logvars = testing.cases(AdaTAE(omega=0.5))[1][0].gradients()["encoder.1.weight"].chunk(2)
    assert (means != 0).any()
    assert (logvars == 0).all()


def test_weights_are_the_same_in_a_population():
    testing.together_as_alone(AdaTAE(omega=0.3, margin="soft", norm="l2"))


def test_the_preset_is_that_of_the_ada_tvae():
    ours, theirs = PRESETS["michlo"], ADA_TVAES["michlo_weight_weak"]
    for name in ("alpha", "psi", "margin", "norm", "eta", "omega", "likelihood"):
        assert getattr(ours, name) == getattr(theirs, name)


def test_training_on_triplets_lowers_the_loss_and_orders_codes(tiny):
    run = unknot.train(
        "arrays",
        "ada_tae",
        "linear",
        steps=300,
        batch=32,
        lr=1e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 5},
        likelihood="gaussian",
        alpha=16.0,
        psi=1.0,
    )
    loss, wrong = run.training.curves["loss"], run.training.curves["triplet"]
    assert loss[-5:].mean() < 0.75 * loss[0].mean()
    assert wrong[-5:].mean() < 0.9 * wrong[0].mean()


def test_what_is_refused():
    with pytest.raises(ConfigError, match=r"^AdaTAE.omega must be 1 or less; got 1.5\.$"):
        AdaTAE(omega=1.5)
    with pytest.raises(ConfigError, match=r"^AdaTAE.eta must be 0 or more; got -0.1\.$"):
        AdaTAE(eta=-0.1)
