"""InfoVAE: its weights in three sets of letters, its limits, and what it does to codes."""

import pytest
import torch

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import total
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.info_vae import PRESETS, InfoVAE
from unknot.objectives.parts.mmd import squared_mmd, squared_mmd_normal
from unknot.schedules import linear


def same_as_beta_vae(objective, beta):
    """Loss and gradients, bit for bit."""
    ours, theirs = testing.cases(objective)[1][0], testing.cases(BetaVAE(beta=beta))[1][0]
    assert torch.equal(total(ours.terms()), total(theirs.terms()))
    for name, gradient in theirs.gradients().items():
        assert torch.equal(ours.gradients()[name], gradient)


def test_the_paper_s_alpha_and_lambda():
    """The objective is recon + (1 - alpha) KL + (alpha + lambda - 1) MMD."""
    objective = InfoVAE.from_paper(alpha=0.25, lambda_=100.0)
    assert (objective.beta, objective.lambda_mmd) == (0.75, 99.25)
    assert (InfoVAE().beta, InfoVAE().lambda_mmd) == (0, 1000)
    assert InfoVAE.from_paper(alpha=1.0, lambda_=1000.0) == InfoVAE()


def test_alpha_0_and_lambda_1_is_the_vae_bit_for_bit():
    same_as_beta_vae(InfoVAE.from_paper(alpha=0.0, lambda_=1.0), 1.0)


def test_lambda_1_less_alpha_is_a_beta_vae_bit_for_bit():
    same_as_beta_vae(InfoVAE.from_paper(alpha=-3.0, lambda_=4.0), 4.0)


def test_mushom_adds_to_the_negative_elbo():
    """Penalties printed with a plus in a maximised bound; minimised, they add to its negative."""
    case = testing.cases(PRESETS["mushom"])[1][0]
    terms = case.terms()
    elbo = -terms["recon"].value - terms["kl"].value
    expected = -elbo + 1.0 * terms["kl"].value + 1.0 * terms["mmd"].value
    torch.testing.assert_close(total(terms), expected)


@pytest.mark.parametrize("exact", [False, True])
def test_the_discrepancy_is_that_of_sampled_codes_from_the_prior(exact):
    case = testing.cases(InfoVAE(exact_prior=exact, scales=(0.5, 2.0)))[0]
    q = case.net.encode(case.step.x)
    shape = q.mean.shape[-2:]
    z, prior = q.sample(case.step.normal("z", *shape)), case.step.normal("prior", *shape)
    if exact:
        expected = squared_mmd_normal(z, scales=(0.5, 2.0))
    else:
        expected = squared_mmd(z, prior, scales=(0.5, 2.0))
    assert torch.equal(case.terms()["mmd"].value, expected)


def trained(tiny, **settings):
    return unknot.train(
        "arrays",
        "info_vae",
        "linear",
        steps=200,
        batch=32,
        lr=2e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 2},
        likelihood="gaussian",
        **settings,
    )


def test_training_lowers_the_loss_and_brings_all_codes_to_the_prior(tiny):
    """Mushom 2020: its codes are nearer to the prior than an autoencoder's."""

    def distance(run):
        q = run.posterior(run.dataset.batch(torch.arange(64)))
        eps, prior = torch.randn(2, 64, 2, generator=torch.Generator().manual_seed(0))
        return squared_mmd(q.sample(eps), prior).item()

    pulled, free = trained(tiny, lambda_mmd=300.0), trained(tiny, lambda_mmd=0.0)
    loss = pulled.training.curves["loss"]
    assert loss[-5:].mean() < 0.8 * loss[0].mean()
    assert abs(distance(pulled)) < 0.05
    assert distance(free) > 2 * abs(distance(pulled))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InfoVAE(beta=-1.0), "InfoVAE.beta must be 0 or more; got -1.0."),
        (
            lambda: InfoVAE(lambda_mmd=linear(5.0, -2.0, 9.0)),
            "InfoVAE.lambda_mmd must be 0 or more; got -2.0.",
        ),
        (
            lambda: InfoVAE.from_paper(alpha=2.0, lambda_=5.0),
            "InfoVAE.beta must be 0 or more; got -1.0.",
        ),
        (
            lambda: InfoVAE.from_paper(alpha=0.0, lambda_=0.5),
            "InfoVAE.lambda_mmd must be 0 or more; got -0.5.",
        ),
        (lambda: InfoVAE(scales=()), r"InfoVAE.scales must be numbers above 0; got \(\)."),
        (
            lambda: InfoVAE(scales=(1.0, 0.0)),
            r"InfoVAE.scales must be numbers above 0; got \(1.0, 0.0\).",
        ),
        (
            lambda: InfoVAE(kernel="imq", exact_prior=True),
            "InfoVAE.exact_prior is known for the kernel rbf only; got imq: "
            "choose that kernel or draw from the prior.",
        ),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(ConfigError, match=f"^{message}$"):
        make()


def test_a_batch_of_one_is_refused(tiny):
    with pytest.raises(ConfigError, match=r"InfoVAE compares the images .* got a batch of 1"):
        unknot.train(
            "arrays", "info_vae", "linear", steps=1, batch=1, data_settings={"path": str(tiny)}
        )
