"""L-VAE: where its learnt weights settle, and what that makes of the loss."""

import math
from functools import partial

import pytest
import torch

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives import l_vae
from unknot.objectives.beta_vae import BetaVAE

# The decoder's outputs are the means, so that a test can choose R.
LVAE = partial(l_vae.LVAE, likelihood="gaussian")
DOUBLE = torch.float64
TABLE_6_1 = {  # R and the learnt beta of the thesis; KL, sigma0 and sigma1 that follow
    "dSprites": (11.77, 0.89, 14.9, 1.85, 1.96),
    "MPI3D": (9.16, 0.92, 10.8, 1.74, 1.81),
    "Falcor3D": (70.67, 1.90, 19.6, 2.90, 2.10),
    "Isaac3D": (10.73, 0.88, 13.9, 1.81, 1.93),
}


def constant(recon, kl, own):
    """A net and a step, of one member or of some, whose R and KL are these numbers."""
    recon, kl = (torch.as_tensor(v, dtype=DOUBLE)[..., None, None] for v in (recon, kl))
    mean = (2 * kl).sqrt() * torch.ones(2, 1, dtype=DOUBLE)
    x = (recon / 4).sqrt()[..., None, None] * torch.ones(2, 1, 2, 2, dtype=DOUBLE)
    q = Posterior(mean, torch.zeros_like(mean))
    seed = torch.zeros(x.shape[:-4], dtype=torch.int64)
    net = Net(lambda _: q, lambda _: torch.zeros_like(x), extra=own)
    return net, Step(x, seed, torch.tensor(0), n_data=9)


def settled(objective, recon, kl, *, adam=False):
    """The terms after an optimiser moved the learnt weights alone."""
    seeds = torch.zeros(torch.as_tensor(recon).shape, dtype=torch.int64)
    own = {
        name: w.double().requires_grad_()
        for name, w in objective.extra_state(1, seeds).learnt.items()
    }
    net, step = constant(recon, kl, own)

    def loss():
        optimizer.zero_grad()
        value = total(objective.terms(net, step)).sum()
        value.backward()
        return value

    if adam:
        optimizer = torch.optim.Adam(own.values(), lr=0.05)
        for _ in range(250):
            optimizer.step(loss)
    else:
        optimizer = torch.optim.LBFGS(
            own.values(), max_iter=500, tolerance_grad=1e-12, line_search_fn="strong_wolfe"
        )
        optimizer.step(loss)
    with torch.no_grad():
        return objective.terms(net, step)


parametrisations = pytest.mark.parametrize("parametrization", ["sigma", "logvar"])


@parametrisations
def test_it_starts_as_the_vae_plus_two(parametrization):
    objective = LVAE(parametrization=parametrization)
    own = objective.extra_state(5, torch.tensor(0)).learnt
    terms = objective.terms(*constant(11.77, 14.86, own))
    torch.testing.assert_close(total(terms).item(), 11.77 + 14.86 + 2)
    assert (terms["beta_hat"].value, terms["sigma0"].value, terms["sigma1"].value) == (1, 1, 1)


def test_at_sigma_one_the_net_moves_as_the_vae_does():
    ours = testing.cases(LVAE())[1][0].gradients()
    theirs = testing.cases(BetaVAE(beta=1.0, likelihood="gaussian"))[1][0].gradients()
    for name, slope in theirs.items():
        torch.testing.assert_close(ours[name], slope, rtol=1e-12, atol=0)


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
def test_the_net_moves_as_a_beta_vae_of_the_learnt_ratio(likelihood):
    """Times sigma0^2 the gradient is that of R + beta_hat KL."""
    ours = testing.cases(LVAE(likelihood=likelihood))[1][0]
    with torch.no_grad():
        ours.weights["extra.sigma"].copy_(torch.tensor([1.7, 0.6], dtype=DOUBLE))
    beta = ours.terms()["beta_hat"].value.item()
    assert beta == pytest.approx(1.7**2 / 0.6**2)
    theirs = testing.cases(BetaVAE(beta=beta, likelihood=likelihood))[1][0].gradients()
    mine = ours.gradients()
    for name, slope in theirs.items():
        torch.testing.assert_close(1.7**2 * mine[name], slope, rtol=1e-12, atol=1e-12)


def test_the_slope_of_sigma_is_the_closed_form():
    own = {"sigma": torch.tensor([1.3, 0.8], dtype=DOUBLE, requires_grad=True)}
    loss = total(LVAE().terms(*constant(11.77, 14.86, own)))
    (slope,) = torch.autograd.grad(loss, own["sigma"])
    expected = [-2 * 11.77 / 1.3**3 + 2 * 1.3, -2 * 14.86 / 0.8**3 + 2 * 0.8]
    assert slope.tolist() == pytest.approx(expected, rel=1e-6)


@parametrisations
@pytest.mark.parametrize("penalty", ["square", "log"])
def test_gradients_are_those_of_finite_differences(parametrization, penalty):
    objective = LVAE(parametrization=parametrization, penalty=penalty)

    def loss(own, recon, kl):
        return total(objective.terms(*constant(recon, kl, {parametrization: own})))

    inputs = [torch.tensor(v, dtype=DOUBLE) for v in ([0.7, 1.4], 3.0, 2.0)]
    assert torch.autograd.gradcheck(loss, [v.requires_grad_() for v in inputs])


@parametrisations
def test_constant_losses_settle_at_their_square_roots(parametrization):
    """R 11.77 and KL 14.86 give sigma0^2 3.431, sigma1^2 3.855 and beta 0.890."""
    terms = settled(LVAE(parametrization=parametrization), 11.77, 14.86, adam=True)
    assert terms["sigma0"].value.item() ** 2 == pytest.approx(3.431, rel=5e-3)
    assert terms["sigma1"].value.item() ** 2 == pytest.approx(3.855, rel=5e-3)
    assert terms["beta_hat"].value.item() == pytest.approx(0.890, rel=5e-3)
    profile = 2 * math.sqrt(11.77) + 2 * math.sqrt(14.86)
    assert total(terms).item() == pytest.approx(profile, rel=1e-5)


def test_table_6_1_is_consistent_with_the_fixed_point():
    """The KL implied by each reported R and beta, and the sigmas, all four datasets at once."""
    recon, beta, kl, sigma0, sigma1 = torch.tensor([*TABLE_6_1.values()], dtype=DOUBLE).T
    torch.testing.assert_close(recon / beta**2, kl, rtol=0, atol=0.05)
    terms = settled(LVAE(), recon, recon / beta**2)
    torch.testing.assert_close(terms["beta_hat"].value, beta, rtol=5e-3, atol=0)
    torch.testing.assert_close(terms["sigma0"].value, sigma0, rtol=0, atol=6e-3)
    torch.testing.assert_close(terms["sigma1"].value, sigma1, rtol=0, atol=6e-3)
    above = terms["sigma0"].value > terms["sigma1"].value
    assert above.tolist() == [name == "Falcor3D" for name in TABLE_6_1]


@parametrisations
def test_kendalls_penalty_settles_at_twice_the_losses(parametrization):
    objective = LVAE(parametrization=parametrization, penalty="log")
    terms = settled(objective, 3.0, 1.5)
    assert terms["sigma0"].value.item() ** 2 == pytest.approx(6.0, rel=5e-3)
    assert terms["sigma1"].value.item() ** 2 == pytest.approx(3.0, rel=5e-3)
    profile = 0.5 * math.log(6.0) + 0.5 * math.log(3.0) + 1
    assert total(terms).item() == pytest.approx(profile, rel=1e-5)


def test_kendalls_penalty_rewards_collapse_without_end_and_the_square_does_not():
    """The profiles: (ln R + ln KL) / 2 has no floor as KL goes to 0, 2 sqrt(R) + 2 sqrt(KL) has."""
    small = torch.tensor([1e-1, 1e-2, 1e-3, 1e-4], dtype=DOUBLE)
    recon = torch.full_like(small, 3.0)
    kendall = total(settled(LVAE("logvar", "log"), recon, small))
    torch.testing.assert_close(kendall.diff(), torch.full((3,), -0.5 * math.log(10)).double())
    square = total(settled(LVAE("logvar"), recon, small))
    torch.testing.assert_close(square, 2 * recon.sqrt() + 2 * small.sqrt(), rtol=1e-5, atol=0)


def test_beta_hat_is_not_free_of_scale():
    """Four times the error, as of four times the pixels, doubles it."""
    terms = settled(LVAE(), torch.tensor([2.0, 8.0]), torch.tensor([5.0, 5.0]))
    first, second = terms["beta_hat"].value
    assert second / first == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("penalty", "kendall", "LVAE.penalty has no choice 'kendall'; known: square, log."),
        (
            "parametrization",
            "log_var",
            "LVAE.parametrization has no choice 'log_var'; did you mean 'logvar'?",
        ),
    ],
)
def test_unknown_choices_are_refused_by_name(field, value, message):
    wrong = LVAE()
    object.__setattr__(wrong, field, value)  # past the tests' own check of types
    with pytest.raises(ConfigError) as refused:
        wrong.__post_init__()
    assert str(refused.value) == message


def trained(path, name, steps, **settings):
    return unknot.train(
        "arrays",
        name,
        "linear",
        steps=steps,
        batch=32,
        lr=1e-2,
        device="cpu",
        log_every=10,
        data_settings={"path": str(path)},
        net_settings={"latents": 3},
        likelihood="gaussian",
        **settings,
    )


@pytest.mark.parametrize("preset", ["logvar", "kendall"])
def test_training_lowers_the_loss(halves, preset):
    curves = trained(halves, "l_vae", 120, preset=preset).training.curves
    assert curves["loss"][-3:].mean() < 0.2 * curves["loss"][0].item()


def test_the_learnt_ratio_can_be_frozen(halves):
    """Table 6.2: a beta-VAE whose beta is the last beta_hat."""
    curves = trained(halves, "l_vae", 120).training.curves
    assert curves["loss"][-3:].mean() < 0.2 * curves["loss"][0].item()
    beta = curves["beta_hat"][-1].item()
    frozen = trained(halves, "beta_vae", 10, beta=beta)
    assert frozen.training.curves["kl.weight"][-1].item() == pytest.approx(beta)
    assert "beta_hat" not in frozen.training.curves.values


@pytest.mark.slow
def test_training_ends_where_its_own_losses_say(halves):
    """Section 6.3.1 in small: sigmas rise, peak and level, beta_hat is near sqrt(R / KL)."""
    curves = trained(halves, "l_vae", 2200).training.curves
    late = {name: curves[name][-30:].mean() for name in ("recon", "kl", "beta_hat")}
    predicted = (late["recon"] / late["kl"]).sqrt().item()
    assert late["beta_hat"].item() == pytest.approx(predicted, rel=0.1)
    sigma = curves["sigma1"].flatten()
    assert sigma[:100].max() > 1.5
    assert sigma[-100:].max() - sigma[-100:].min() < 0.1
