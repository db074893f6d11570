"""DynamicVAE: the controller inside the objective, step after step."""

import math

import numpy as np
import pytest
import torch

from unknot.core.errors import ConfigError
from unknot.core.objective import Carry, Net, Step, total
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.data.arrays import Arrays
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.linear import Linear
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.dynamic_vae import PRESETS, DynamicVAE
from unknot.objectives.parts.control import target_at

CPU = torch.device("cpu")


def net_with(kl, own):
    """A net whose posterior has a given divergence: unit variance, mean sqrt(2 KL)."""

    def encode(x):
        mean = torch.full((*x.shape[:-3], 1), math.sqrt(2 * kl), dtype=x.dtype)
        return Posterior(mean.requires_grad_(), torch.zeros_like(mean))

    return Net(encode, lambda z: z[..., None, None], extra=own)


def follow(objective, kls):
    """The terms of each step under given divergences, carried state handed on."""
    own, x = objective.extra_state(1, torch.tensor(0)), torch.full((2, 1, 1, 1), 0.5).double()
    held, logs = dict(own.carried), []
    for t, kl in enumerate(kls):
        terms = objective.terms(net_with(kl, held), Step(x, torch.tensor(0), torch.tensor(t), 10))
        held = {name: term.value for name, term in terms.items() if isinstance(term, Carry)}
        logs.append(terms)
    return logs


@pytest.mark.parametrize("window", [1, 5])
def test_the_series_of_weights_is_that_simulated_by_hand(window):
    """With the ramp, by the loop of Shao et al.'s code and a list of the last divergences."""
    kls = np.abs(0.7 + 0.8 * np.sin(np.arange(400) / 9) + 0.3 * np.cos(np.arange(400)))
    objective = DynamicVAE(
        target=2.0, window=window, beta_start=0.3, ramp_every=60, ramp_over=20, ki=0.01
    )
    logs = follow(objective, kls)
    c, beta, before, last = 0.5, 0.3, 0.0, []
    lowest = 1.0
    for t, (kl, terms) in enumerate(zip(kls, logs, strict=True)):
        if (t + 1) % 60 < 20 and t + 1 >= 60:
            c = min(c + 0.15 / 20, 2.0)
        last = [*last, kl][-window:]
        e = c - sum(last) / len(last)
        proportional = 1 / (1 + math.exp(e)) - 1 / (1 + math.exp(before))
        beta += 0.01 * proportional - (0 if beta < 0.1 and e > 0 else 0.01 * e)
        before, lowest = e, min(lowest, beta)
        assert terms["target"].value.item() == pytest.approx(c, rel=1e-12)
        assert terms["error"].value.item() == pytest.approx(e, abs=1e-12)
        assert terms["kl"].weight.item() == pytest.approx(max(beta, 0.1), rel=1e-10)
    assert lowest < 0.1


def test_it_starts_at_150_and_falls_while_the_divergence_is_below_its_target():
    """Moğultay Özcan 2024; no step is larger than the integral part plus the proportional gain."""
    objective = PRESETS["ozcan"]
    logs = follow(objective, np.full(200, 0.1))
    betas = np.array([150.0] + [terms["kl"].weight.item() for terms in logs])
    errors = np.array([terms["error"].value.item() for terms in logs])
    assert (errors > 0).all()
    assert (np.diff(betas) < 0).all()
    assert (abs(np.diff(betas)) <= 0.005 * abs(errors) + 0.01).all()


def test_the_first_averages_are_of_the_steps_so_far():
    """Zeros for steps that never were would say that the divergence is far below its target."""
    logs = follow(DynamicVAE(ramp=False, target=7.0), [3.0, 5.0, 1.0, 3.0, 3.0, 8.0])
    errors = [terms["error"].value.item() for terms in logs]
    np.testing.assert_allclose(errors, [4, 3, 4, 4, 4, 3], rtol=1e-12)


def test_the_window_forgets():
    logs = follow(DynamicVAE(window=3), [9.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(logs[-1]["recent"].value, [1, 2, 3], rtol=1e-12)


def test_no_gradient_goes_through_the_weight():
    terms = follow(DynamicVAE(), [25.0])[0]
    assert terms["kl"].value.requires_grad
    assert not terms["kl"].weight.requires_grad
    assert not terms["recent"].value.requires_grad


def test_without_gains_it_is_the_beta_vae_at_the_starting_weight():
    x = torch.rand(6, 1, 1, 1, generator=torch.Generator().manual_seed(0)).double()
    objective = DynamicVAE(kp=0.0, ki=0.0, beta_start=4.0)
    step = Step(x, torch.tensor(3), torch.tensor(8), 10)
    net = net_with(3.0, objective.extra_state(1, torch.tensor(3)).carried)
    assert torch.equal(total(objective.terms(net, step)), total(BetaVAE(beta=4.0).terms(net, step)))


def test_state_starts_by_member():
    own = DynamicVAE(beta_start=torch.tensor([50.0, 150.0]), window=4).extra_state(
        3, torch.tensor([4, 5])
    )
    assert own.carried["output"].tolist() == [50, 150]
    assert own.carried["recent"].shape == (2, 4)


def test_presets_are_the_settings_of_the_documents():
    ozcan, code = PRESETS["ozcan"], PRESETS["shao_code"]
    assert (ozcan.target, ozcan.kp, ozcan.ki, ozcan.beta_start) == (18.0, 0.01, 0.005, 150.0)
    assert (code.target, code.beta_start, code.beta_min, code.window) == (20.0, 50.0, 0.1, 5)
    assert target_at(ozcan, torch.tensor(299_999), over=ozcan.ramp_over).item() == pytest.approx(
        7.85, abs=1e-3
    )


def test_a_run_that_was_stopped_goes_on_with_its_weight_and_window(tiny):
    context = Context(Arrays(str(tiny)).load(), Linear(latents=4), 8, Runtime(CPU, "float64"))
    whole, half, rest = (
        Looped.fresh(context, [Member(s, DynamicVAE(), Adam(lr=1e-2)) for s in (0, 1)])
        for _ in range(3)
    )
    log = whole.advance(0, 12)
    half.advance(0, 7)
    rest.load(half.state())
    for name, value in rest.advance(7, 5).items():
        assert torch.equal(value, log[name])


def test_in_training_the_divergence_settles_at_the_target(tiny):
    objective = DynamicVAE(target=2.0, ramp=False, beta_start=3.0, ki=0.1)
    context = Context(Arrays(str(tiny)).load(), Linear(latents=4), 64, Runtime(CPU, "float32"))
    population = Looped.fresh(context, [Member(0, objective, Adam(lr=5e-2))])
    first = population.advance(0, 1)
    population.advance(1, 119)
    logs = [population.advance(t, 2) for t in range(120, 220, 2)]
    kl = torch.stack([log["kl"] for log in logs]).mean()
    assert kl.item() == pytest.approx(2.0, rel=0.05)
    assert logs[-1]["recon"] < 0.5 * first["recon"]
    assert 0.1 < logs[-1]["kl.weight"] < 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": -1.0}, "DynamicVAE.target must be 0 or more; got -1.0."),
        ({"ki": -0.005}, "DynamicVAE.ki must be 0 or more; got -0.005."),
        ({"window": 0}, "DynamicVAE.window must be 1 or more; got 0."),
        ({"beta_max": 0.05}, "DynamicVAE.beta_max must be 0.1 or more; got 0.05."),
        ({"beta_start": -150.0}, "DynamicVAE.beta_start must be 0 or more; got -150.0."),
        ({"ramp_over": 0}, "DynamicVAE.ramp_over must be 1 or more; got 0."),
        ({"ramp_every": 0}, "DynamicVAE.ramp_every must be 1000 or more; got 0."),
    ],
)
def test_bad_settings_are_refused_in_one_line(changes, message):
    with pytest.raises(ConfigError) as error:
        DynamicVAE(**changes)
    assert str(error.value) == message
