"""mdL-VAE: its five forms, where each sigma settles, and the rule between strong and weak."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.mdl_vae import FORMS, WEIGHTS, choose_variant
from unknot.objectives.mdl_vae import MdLVAE as AnyMdLVAE

# The decoder's outputs are the means, so that a test can choose R.
MdLVAE = partial(AnyMdLVAE, likelihood="gaussian")
DOUBLE = torch.float64
KLS = (2.128, 3.344, 0.9, 0.1, 0.05, 1.5, 3.0)
BOUNDED, INVERSE = ("strong", "weak", "v1"), ("v2", "v3")
each_variant = pytest.mark.parametrize("variant", FORMS)


def constant(recon, kls, sigma_r, sigma):
    """A net and a step whose R and KL of each latent are these numbers."""
    recon, kls = (torch.as_tensor(v, dtype=DOUBLE) for v in (recon, kls))
    mean = (2 * kls).sqrt() * torch.ones(2, 1, dtype=DOUBLE)
    x = (recon / 4).sqrt() * torch.ones(2, 1, 2, 2, dtype=DOUBLE)
    q = Posterior(mean, torch.zeros_like(mean))
    own = {"sigma_r": sigma_r.reshape(1), "sigma": sigma}
    net = Net(lambda _: q, lambda _: torch.zeros_like(x), extra=own)
    return net, Step(x, torch.tensor(0), torch.tensor(0), n_data=9)


def learnt(n, value=1.0):
    return torch.full((n,), value, dtype=DOUBLE, requires_grad=True)


def descended(objective, recon, kls, start=1.0, *, adam=0):
    """Sigma of the reconstruction and those of the latents, after they alone were moved."""
    own = learnt(1, start), learnt(len(kls), start)
    net, step = constant(recon, kls, *own)

    def loss():
        optimizer.zero_grad()
        value = total(objective.terms(net, step))
        value.backward()
        return value

    if adam:
        optimizer = torch.optim.Adam(own, lr=0.05)
        for _ in range(adam):
            optimizer.step(loss)
    else:
        optimizer = torch.optim.LBFGS(
            own, max_iter=500, tolerance_grad=1e-12, line_search_fn="strong_wolfe"
        )
        optimizer.step(loss)
    return [objective.sigmas(s.detach()) for s in own]


def printed(variant, recon, kls, sigma_r, sigma):
    """Equations 7.1 to 7.3 and Table 7.4, written out for each variant in NumPy."""
    f = (lambda s: 1 / (1 + np.log(1 + s**2))) if variant in BOUNDED else (lambda s: 1 / s**2)
    square, log = (lambda s: s**2), (lambda s: np.log(1 + s**2))
    r_r, r = {
        "strong": (square, square),
        "weak": (square, lambda s: log(s) / len(kls)),
        "v1": (log, log),
        "v2": (square, square),
        "v3": (log, log),
    }[variant]
    return f(sigma_r) * recon + (f(sigma) * kls).sum() + r_r(sigma_r) + r(sigma).sum()


@each_variant
def test_the_loss_is_the_printed_one(variant):
    sigma_r, sigma = 1.7, np.linspace(0.2, 2.3, len(KLS))
    own = torch.tensor(sigma_r, dtype=DOUBLE), torch.tensor(sigma)
    terms = MdLVAE(variant).terms(*constant(20.0, KLS, *own))
    expected = printed(variant, 20.0, np.array(KLS), sigma_r, sigma)
    assert total(terms).item() == pytest.approx(expected, rel=1e-12)
    assert terms["kl"].value.item() == pytest.approx(sum(KLS))
    for j, kl in enumerate(KLS):
        assert terms[f"kl.{j}"].value.item() == pytest.approx(kl)
        assert terms[f"sigma.{j}"].value.item() == sigma[j]
    assert f"kl.{len(KLS)}" not in terms


@each_variant
def test_a_variant_is_its_functions_by_name(variant):
    own = torch.tensor(1.7, dtype=DOUBLE), torch.linspace(0.2, 2.3, len(KLS), dtype=DOUBLE)
    form, given = FORMS[variant], constant(20.0, KLS, *own)
    by_name = MdLVAE(f=form.weight, r=form.penalty, r_r=form.penalty_r)
    assert torch.equal(total(by_name.terms(*given)), total(MdLVAE(variant).terms(*given)))


def test_functions_by_name_settle_where_their_slopes_balance():
    """1 / (1 + s^2) under ln(1 + s^2): KL / (1 + s^2)^2 = 1 / (1 + s^2), so s^2 = KL - 1."""
    _, sigma = descended(MdLVAE(f="rational", r="log"), 20.0, KLS)
    rest = (torch.tensor(KLS, dtype=DOUBLE) - 1).clamp_min(0)
    torch.testing.assert_close(sigma.square(), rest, atol=1e-4, rtol=1e-4)


@each_variant
def test_the_sign_of_a_sigma_does_not_matter(variant):
    sigma = torch.linspace(0.2, 2.3, len(KLS), dtype=DOUBLE)
    losses = [
        total(MdLVAE(variant).terms(*constant(20.0, KLS, sign * sigma[0], sign * sigma)))
        for sign in (1, -1)
    ]
    assert torch.equal(*losses)


@pytest.mark.parametrize("variant", BOUNDED)
def test_at_sigma_zero_it_is_the_vae(variant):
    terms = MdLVAE(variant).terms(*constant(20.0, KLS, learnt(1, 0.0), learnt(7, 0.0)))
    assert total(terms).item() == pytest.approx(20.0 + sum(KLS), rel=1e-14)
    assert terms["penalty"].value == 0
    assert terms["recon"].weight == terms["kl.3"].weight == 1


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("variant", BOUNDED)
def test_at_sigma_zero_the_net_moves_as_the_vae_does(variant, likelihood):
    ours = testing.cases(MdLVAE(variant, likelihood=likelihood))[1][0]
    with torch.no_grad():
        ours.weights["extra.sigma"].zero_()
        ours.weights["extra.sigma_r"].zero_()
    mine = ours.gradients()
    theirs = testing.cases(BetaVAE(beta=1.0, likelihood=likelihood))[1][0].gradients()
    for name, slope in theirs.items():
        torch.testing.assert_close(mine[name], slope, rtol=1e-12, atol=1e-15)


@each_variant
def test_gradients_are_those_of_finite_differences(variant):
    def loss(recon, kls, sigma_r, sigma):
        return total(MdLVAE(variant, floor=0.1).terms(*constant(recon, kls, sigma_r, sigma)))

    values = (5.0, [0.5, 2.0, 3.0], [0.8], [0.4, -0.9, 1.3])
    inputs = [torch.tensor(v, dtype=DOUBLE, requires_grad=True) for v in values]
    assert torch.autograd.gradcheck(loss, inputs)


TABLE = {  # sigma^2 at rest for KL 2.128 and 3.344, with 7 latents
    "strong": (0.3136, 0.5776),
    "v1": (0.5821, 1.2902),
    "weak": (16.45, 45.44),
    "v2": (1.4588, 1.8287),
    "v3": (2.8696, 4.1498),
}
CLOSED = {
    "v1": lambda kl: math.exp(math.sqrt(kl) - 1) - 1,
    "weak": lambda kl: math.exp(math.sqrt(7 * kl) - 1) - 1,
    "v2": math.sqrt,
    "v3": lambda kl: (kl + math.sqrt(kl**2 + 4 * kl)) / 2,
    "strong": lambda kl: brentq(lambda s: (1 + s) * (1 + math.log1p(s)) ** 2 - kl, -0.63, 99),
}


@each_variant
def test_sigmas_settle_at_the_closed_forms(variant):
    """And at 0 where these are negative: up to 1 nat, or 1 / 7 for weak, except in v2 and v3."""
    sigma_r, sigma = descended(MdLVAE(variant), 20.0, KLS)
    expected = [max(CLOSED[variant](kl), 0.0) for kl in KLS]
    assert sigma.square().tolist() == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert sigma[:2].square().tolist() == pytest.approx(TABLE[variant], rel=1e-3)
    of_recon = CLOSED["strong" if variant == "weak" else variant](20.0)
    assert sigma_r.square().item() == pytest.approx(of_recon, rel=1e-3)
    zero = {"strong": 1.0, "v1": 1.0, "weak": 1 / 7, "v2": 0.0, "v3": 0.0}[variant]
    assert (sigma < 1e-2).tolist() == [kl <= zero for kl in KLS]


def test_the_weight_of_weak_at_rest_is_one_over_the_root_of_l_kl():
    _, sigma = descended(MdLVAE("weak"), 20.0, KLS)
    weight = WEIGHTS["bounded"](sigma.square())
    expected = [1 / math.sqrt(max(7 * kl, 1.0)) for kl in KLS]
    assert weight.tolist() == pytest.approx(expected, rel=1e-3)


def test_strong_by_adam_is_zero_below_a_nat_and_the_thesiss_values_above():
    """Section 7.3.1: sigma 0.56, 0.76 and 0.77 are 2.13, 3.34 and 3.42 nats."""
    _, sigma = descended(MdLVAE(), 20.0, (0.9, 2.128, 3.344, 3.42), adam=300)
    assert sigma[0] < 1e-2
    assert sigma[1:].tolist() == pytest.approx([0.56, 0.76, 0.77], abs=5e-3)


def test_the_effective_beta_of_a_latent_falls_with_what_it_says():
    """At R near 20: about 1.6 for a latent with sigma 0.76 and 2.3 for a dead one."""
    sigma_r, sigma = descended(MdLVAE(), 20.0, (3.344, 0.0))
    weight = WEIGHTS["bounded"]
    beta = weight(sigma.square()) / weight(sigma_r.square())
    assert beta.tolist() == pytest.approx([1.6, 2.3], abs=0.05)
    assert weight(sigma.square()).tolist() == pytest.approx([0.69, 1.0], abs=0.005)


@pytest.mark.parametrize("variant", INVERSE)
def test_unbounded_weights_stay_finite_unless_sigma_is_zero(variant):
    """The weight of a latent that says next to nothing is large; at rest it is not infinite."""
    _, sigma = descended(MdLVAE(variant), 20.0, (1e-8, 1.0))
    assert 0 < sigma[0] < 0.02
    for value, floor, finite in [(1e-6, 0.0, True), (0.0, 0.0, False), (0.0, 1e-3, True)]:
        own = learnt(1), learnt(2, value)
        loss = total(MdLVAE(variant, floor=floor).terms(*constant(20.0, (1e-8, 1.0), *own)))
        slopes = torch.autograd.grad(loss, own)
        assert (loss.isfinite() and all(s.isfinite().all() for s in slopes)) == finite


def test_a_floor_is_below_the_first_sigma():
    with pytest.raises(ConfigError, match=r"must be below 1, the first sigma; got 2.0"):
        MdLVAE(floor=2.0)


def test_a_floor_bounds_the_weights():
    terms = MdLVAE("v2", floor=0.05).terms(*constant(1.0, (0.0, 1.0), learnt(1), learnt(2, 0.0)))
    assert terms["kl.0"].weight.item() == pytest.approx(1 / 0.05**2)
    assert terms["sigma.0"].value.item() == 0.05


def test_a_sigma_at_zero_has_no_slope_and_a_floor_gives_it_one():
    """A latent that comes to carry 3.344 nats; and one that does not stays where it was."""
    for floor, expected in [(0.0, 0.0), (0.01, 0.76)]:
        objective = MdLVAE(floor=floor)
        _, sigma = descended(objective, 20.0, (3.344, 0.5), start=0.0, adam=200)
        assert sigma[0].item() == pytest.approx(expected, abs=0.01)
        assert sigma[1].item() == pytest.approx(floor, abs=0.05)


def test_a_small_sigma_comes_back_without_a_floor():
    """Adam does not mind how small a slope is, so only an exact 0 is a trap."""
    _, sigma = descended(MdLVAE(), 20.0, (3.344, 0.5), start=1e-5, adam=300)
    assert sigma[0].item() == pytest.approx(0.76, abs=0.01)


def test_all_sigmas_start_at_one_whatever_the_floor():
    for floor in (0.0, 0.25, torch.tensor([0.25, 0.5])):
        objective = MdLVAE(floor=floor)
        own = objective.extra_state(
            4, torch.zeros(getattr(floor, "shape", ()), dtype=torch.int64)
        ).learnt
        for value in own.values():
            assert (objective.sigmas(value) == 1).all()


@pytest.mark.parametrize("check", testing.OBJECTIVE_CHECKS, ids=lambda check: check.__name__)
def test_contract_with_a_floor(check):
    check(MdLVAE("v2", floor=0.05))


def test_the_rule_takes_weak_only_when_every_sigma_is_small():
    """Section 7.2, with the sigmas of 7.3.1: strong for dSprites, weak for MPI3D."""
    rule = lambda *sigmas, **to: choose_variant(torch.tensor(sigmas), **to)  # noqa: E731
    assert rule(0.0, 0.0, 0.56, 0.76, 0.76) == "strong"
    assert rule(0.0, 0.1, 0.49) == "weak"
    assert rule(0.0, 0.1, -0.51) == "strong"
    assert rule(0.0, 0.5) == "strong"
    assert rule(0.0, 0.4, epsilon=0.3) == "strong"
    assert rule(0.0, math.nan) == "strong"


@pytest.mark.parametrize(("kl", "choice"), [(1.86, "weak"), (1.88, "strong")])
def test_the_rule_asks_whether_a_latent_carries_1_87_nats(kl, choice):
    assert 1.25 * (1 + math.log(1.25)) ** 2 == pytest.approx(1.87, abs=1e-3)
    _, sigma = descended(MdLVAE(), 20.0, (0.3, kl, 1.2))
    assert choose_variant(sigma) == choice


def test_bad_settings_are_refused_in_one_line():
    with pytest.raises(ConfigError, match=r"^MdLVAE.floor must be 0 or more; got -0.1.$"):
        MdLVAE(floor=-0.1)
    wrong = MdLVAE()
    object.__setattr__(wrong, "variant", "week")  # past the tests' own check of types
    with pytest.raises(ConfigError, match=r"^MdLVAE.variant has no choice 'week'; did you mean 'w"):
        wrong.__post_init__()
    wrong = MdLVAE()
    object.__setattr__(wrong, "f", "bound")
    with pytest.raises(ConfigError, match=r"^MdLVAE.f has no choice 'bound'; did you mean 'bounde"):
        wrong.__post_init__()


def trained(path, steps, **settings):
    return unknot.train(
        "arrays",
        "mdl_vae",
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


@pytest.mark.parametrize("preset", ["ozcan_weak", "ozcan_v1", "ozcan_v2", "ozcan_v3"])
def test_training_lowers_the_loss(halves, preset):
    curves = trained(halves, 100, preset=preset).training.curves
    assert curves["loss"][-3:].mean() < 0.2 * curves["loss"][0].item()


def test_two_factors_take_two_latents_and_the_third_has_sigma_zero(halves):
    """Section 7.3.1 in small: what a latent says and its sigma go together, and are both logged."""
    run = trained(halves, 500)
    curves = run.training.curves
    kl, sigma = (
        torch.stack([curves[f"{of}.{j}"][-5:].mean() for j in range(3)]) for of in ("kl", "sigma")
    )
    assert torch.equal(kl.argsort(), sigma.argsort())
    assert sorted(sigma.tolist())[0] < 1e-2
    assert sorted(sigma.tolist())[1] > 0.3
    assert (kl > 1).sum() == 2
    torch.testing.assert_close(curves["kl"], sum(curves[f"kl.{j}"] for j in range(3)))
    state = run.training.population.state()
    assert state["extra.sigma"].shape == (1, 3)
