"""Ada-TVAE: hand values, the TVAE as its limit, schedules, and what omega changes."""

from dataclasses import replace

import pytest
import torch
from torch.autograd import gradcheck

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.hyper import at, over_run
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.ada_tvae import PRESETS, AdaTVAE
from unknot.objectives.tvae import PRESETS as TVAES
from unknot.objectives.tvae import TVAE
from unknot.schedules import linear

DRAW = torch.Generator().manual_seed(41)
UP = torch.randn(3, 4, dtype=torch.float64, generator=DRAW)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def net(mean, logvar):
    """Three latents and four pixels; codes are given, whatever the images."""
    return Net(lambda x: Posterior(mean, logvar), lambda z: (z @ UP).unflatten(-1, (1, 2, 2)))


def step(x):
    return Step(x, torch.tensor(3), torch.tensor(4), n_data=100)


def triplet(mean, **settings):
    x = torch.zeros(len(mean), 1, 2, 2).double()
    return AdaTVAE(**settings).terms(net(mean, torch.zeros_like(mean)), step(x))


MEAN = torch.tensor([[0.0, 1.0, 2.0], [1.0, 1.0, 0.0], [4.0, 2.0, 2.5]]).double()


@pytest.mark.parametrize(
    ("norm", "omega", "expected"),
    [
        # To the negative 4, 1 and 0.5: threshold 2.25, so the last two are shared. Positive: 3.
        ("l1", 0.5, 10 + 3 - (4 + 0.5 + 0.25)),
        ("l1", 0.0, 10 + 3 - 4),
        ("l2", 0.5, 10 + 5**0.5 - (16 + 0.25 + 0.0625) ** 0.5),
    ],
)
def test_a_triplet_by_hand(norm, omega, expected):
    """Michlo 2022, 5.17 with 5.19 to 5.21."""
    terms = triplet(MEAN, norm=norm, omega=omega)
    assert terms["triplet"].value.item() == pytest.approx(expected)
    assert terms["shared"].value == 2


def test_the_shared_set_is_that_of_anchor_and_negative_alone():
    """The positive may lie anywhere."""
    moved = MEAN.clone()
    moved[1] += torch.tensor([5.0, -7.0, 9.0])
    ours, theirs = triplet(MEAN, omega=0.5), triplet(moved, omega=0.5)
    assert ours["shared"].value == theirs["shared"].value
    assert theirs["triplet"].value - ours["triplet"].value == pytest.approx(6 + 7 + 7 - 3)


def test_lowering_omega_lowers_the_distance_to_the_negative_only():
    """The loss grows by what that distance loses; reconstruction and divergence stay."""
    mean = randn(30, 3)
    runs = [triplet(mean, omega=omega, psi=100.0) for omega in (1.0, 0.7, 0.4, 0.0)]
    values = torch.stack([run["triplet"].value for run in runs])
    assert (values.diff() > 0).all()
    # Linear in omega: the positive's distance has no part in it.
    torch.testing.assert_close(values[1] - values[0], (values[2] - values[0]) / 2)
    for run in runs:
        for name in ("recon", "kl", "shared"):
            assert torch.equal(run[name].value, runs[0][name].value)


@pytest.mark.parametrize("inert", [{"omega": 1.0, "eta": 0.4}, {"omega": 0.3, "eta": 0.0}])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"margin": "soft", "norm": "l2"},
        {"decoder_gradient": False, "likelihood": "gaussian"},
    ],
)
def test_with_omega_1_or_eta_0_it_is_the_tvae_bit_for_bit(inert, settings):
    ours = testing.cases(AdaTVAE(**inert, **settings))[1][0]
    theirs = testing.cases(TVAE(**settings))[1][0]
    assert torch.equal(total(ours.terms()), total(theirs.terms()))
    gradients = theirs.gradients()
    for name, gradient in ours.gradients().items():
        assert torch.equal(gradient, gradients[name])


def test_the_first_schedule_as_printed_is_inert():
    """Michlo 2022, Table 5.2: omega 1.0 beside a rising eta is the TVAE from start to end."""
    printed = over_run(replace(PRESETS["michlo_threshold"], omega=1.0), 100, "objective")
    case = testing.cases(TVAES["michlo"])[1][0]
    for t in (0, 50, 100):
        ours = at(printed, torch.tensor(t), torch.float64).terms(case.net, case.step)
        assert torch.equal(total(ours), total(case.terms()))
    used = over_run(PRESETS["michlo_threshold"], 100, "objective")
    later = at(used, torch.tensor(100), torch.float64).terms(case.net, case.step)
    assert total(later) > total(case.terms())


@pytest.mark.parametrize(
    ("name", "omega", "eta"),
    [
        ("michlo_threshold", (0.5, 0.5, 0.5), (0.0, 0.25, 0.5)),
        ("michlo_weight_weak", (1.0, 0.75, 0.5), (0.5, 0.5, 0.5)),
        ("michlo_weight_strong", (1.0, 0.5, 0.0), (0.5, 0.5, 0.5)),
        ("michlo_both_weak", (1.0, 0.75, 0.5), (0.0, 0.25, 0.5)),
        ("michlo_both_strong", (1.0, 0.5, 0.0), (0.0, 0.25, 0.5)),
    ],
)
def test_the_five_schedules_at_the_start_the_middle_and_the_end(name, omega, eta):
    """Michlo 2022, Table 5.2, over the 86,400 steps of its runs or any other number."""
    for steps in (86_400, 1_000):
        run = over_run(PRESETS[name], steps, "objective")
        for part, (w, e) in enumerate(zip(omega, eta, strict=True)):
            now = at(run, torch.tensor(part * steps // 2), torch.float64)
            assert (float(now.omega), float(now.eta)) == (w, e)


def test_presets_have_the_settings_of_the_paper_s_table():
    """Table A.5: 25 latents, beta 0.01, hard margin, l1, psi 10, alpha 1, absolute difference."""
    assert len(PRESETS) == 5
    for preset in PRESETS.values():
        assert (preset.margin, preset.norm, preset.delta) == ("hard", "l1", "absolute")
        assert (preset.psi, preset.alpha) == (10, 12288)
        assert preset.beta == pytest.approx(0.01 * 12288 / 25)


def test_divergences_may_decide_who_is_shared_while_weights_act_on_means():
    mean = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 4.0]]).double()
    logvar = torch.tensor([[-6.0, 0.0, 0.0]]).double().expand(3, 3)
    x = torch.zeros(3, 1, 2, 2).double()
    values = {}
    for delta in ("absolute", "symmetric_kl"):
        objective = AdaTVAE(delta=delta, omega=0.5)
        values[delta] = objective.terms(net(mean, logvar), step(x))["triplet"].value.item()
    # By means 1 and 2 are shared; by divergences 2 and 4, as the narrow first one is far apart.
    assert values == {"absolute": 10 - (0.5 + 1 + 4), "symmetric_kl": 10 - (1 + 1 + 2)}


@pytest.mark.parametrize(("margin", "norm"), [("hard", "l1"), ("soft", "l2")])
def test_gradients_match_finite_differences_with_masks_held(margin, norm):
    """Threshold and weights are constants: no gradient goes through them."""
    mean, logvar, x = randn(9, 3), randn(9, 3), randn(9, 1, 2, 2)
    objective = AdaTVAE(2.0, 3.0, 1.0, margin, norm, omega=0.3, likelihood="gaussian")
    assert objective.terms(net(mean, logvar), step(x))["shared"].value > 0
    assert gradcheck(
        lambda m, v: total(objective.terms(net(m, v), step(x))),
        (mean.requires_grad_(), logvar.requires_grad_()),
        atol=1e-7,
    )


def test_shared_latents_keep_omega_s_part_of_the_gradient():
    """With averages in place of weights they would have none."""
    mean = MEAN.clone().requires_grad_()
    (slope,) = torch.autograd.grad(triplet(mean, omega=0.25)["triplet"].value, mean)
    assert slope[2].tolist() == [-1.0, -0.25, -0.25]


@pytest.mark.parametrize(
    "settings",
    [
        {"omega": 0.3, "delta": "symmetric_kl", "margin": "soft", "norm": "l2"},
        {"omega": 0.3, "decoder_gradient": False},
    ],
)
def test_other_settings_are_the_same_in_a_population(settings):
    for check in (testing.together_as_alone, testing.gradients_reach_all_weights):
        check(AdaTVAE(**settings))


def test_training_lowers_the_loss_and_shares_latents(tiny):
    run = unknot.train(
        "arrays",
        "ada_tvae",
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
        alpha=16.0,
        psi=1.0,
    )
    loss, wrong, shared = (run.training.curves[name] for name in ("loss", "triplet", "shared"))
    assert loss[-5:].mean() < 0.5 * loss[0].mean()
    assert wrong[-5:].mean() < 0.9 * wrong[0].mean()
    assert 1 < shared[-5:].mean() < 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"omega": 1.5}, "AdaTVAE.omega must be 1 or less; got 1.5."),
        ({"omega": linear(1.0, -0.5)}, "AdaTVAE.omega must be 0 or more; got -0.5."),
        ({"eta": 50.0}, "AdaTVAE.eta must be 1 or less; got 50.0."),
        ({"alpha": -1.0}, "AdaTVAE.alpha must be 0 or more; got -1.0."),
        ({"delta": "skl"}, "AdaTVAE.delta has no choice 'skl'; did you mean 'kl'[?]"),
    ],
)
def test_what_is_refused(settings, message):
    bad = AdaTVAE()
    for name, value in settings.items():  # as outside tests, where no annotation is checked
        object.__setattr__(bad, name, value)
    with pytest.raises(ConfigError, match=f"^{message}$"):
        bad.__post_init__()
