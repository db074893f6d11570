"""Ada-AE: hand values, the autoencoder as its limit, and the Ada-GVAE without noise."""

import pytest
import torch
from torch.autograd import gradcheck

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.ada_ae import AdaAE
from unknot.objectives.ada_gvae import AdaGVAE
from unknot.objectives.ae import AE
from unknot.schedules import linear

DRAW = torch.Generator().manual_seed(31)
UP = torch.randn(4, 4, dtype=torch.float64, generator=DRAW)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def net(mean, logvar):
    return Net(lambda x: Posterior(mean, logvar), lambda z: (z @ UP).unflatten(-1, (1, 2, 2)))


def step(x):
    return Step(x, torch.tensor(3), torch.tensor(4), n_data=100)


@pytest.mark.parametrize(
    ("eta", "codes", "shared"),
    [
        # Differences 0.5, 4, 1 and 2: thresholds 2.25, 1.2 and 0.5.
        (0.5, [[0.25, 1.0, 2.5, 4.0], [0.25, 5.0, 2.5, 4.0]], 3),
        (0.2, [[0.25, 1.0, 2.5, 3.0], [0.25, 5.0, 2.5, 5.0]], 2),
        (0.0, [[0.0, 1.0, 2.0, 3.0], [0.5, 5.0, 3.0, 5.0]], 0),
    ],
)
def test_a_pair_by_hand(eta, codes, shared):
    """Michlo 2022, Table 5.1."""
    mean = torch.tensor([[0.0, 1.0, 2.0, 3.0], [0.5, 5.0, 3.0, 5.0]]).double()
    x = torch.zeros(2, 1, 2, 2).double()
    terms = AdaAE(eta=eta, likelihood="gaussian").terms(net(mean, mean), step(x))
    expected = (torch.tensor(codes).double() @ UP).square().sum() / 2
    torch.testing.assert_close(terms["recon"].value, expected)
    assert terms["shared"].value == shared


def test_at_eta_0_it_is_the_autoencoder_bit_for_bit():
    ours = testing.cases(AdaAE(eta=0.0))[1][0]
    assert torch.equal(total(ours.terms()), total(AE().terms(ours.net, ours.step)))


def test_it_is_the_ada_gvae_without_noise_and_divergence():
    mean, x = randn(10, 4), randn(10, 1, 2, 2)
    bound = net(mean, torch.full_like(mean, -60.0))
    ours = AdaAE(likelihood="gaussian").terms(bound, step(x))
    theirs = AdaGVAE(beta=0.0, delta="absolute", likelihood="gaussian").terms(bound, step(x))
    torch.testing.assert_close(total(ours), total(theirs), rtol=1e-11, atol=0)
    assert torch.equal(ours["shared"].value, theirs["shared"].value)


def test_gradients_match_finite_differences_with_masks_held():
    mean, x = randn(6, 4).requires_grad_(), randn(6, 1, 2, 2)
    objective = AdaAE(likelihood="gaussian")
    assert gradcheck(lambda m: total(objective.terms(net(m, m), step(x))), (mean,), atol=1e-7)


def test_only_the_half_of_the_encoder_that_gives_means_is_trained():
    means, logvars = testing.cases(AdaAE())[1][0].gradients()["encoder.1.weight"].chunk(2)
    assert (means != 0).any()
    assert (logvars == 0).all()


def test_training_on_pairs_lowers_the_loss(tiny):
    run = unknot.train(
        "arrays",
        "ada_ae",
        "linear",
        steps=200,
        batch=32,
        lr=2e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 5},
        likelihood="gaussian",
        eta=linear(0.0, 0.5),
    )
    loss, shared = run.training.curves["loss"], run.training.curves["shared"]
    assert loss[-5:].mean() < 0.6 * loss[0].mean()
    assert shared[0] == 0
    assert shared[-5:].mean() > 1
    assert (run.posterior(run.dataset.batch(torch.arange(8))).logvar == -20).all()


def test_what_is_refused():
    with pytest.raises(ConfigError, match=r"^AdaAE.eta must be 1 or less; got 2.0\.$"):
        AdaAE(eta=2.0)
