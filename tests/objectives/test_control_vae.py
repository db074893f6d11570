"""ControlVAE: the controller inside the objective, step after step."""

import math

import numpy as np
import pytest
import torch

from unknot.core.errors import ConfigError
from unknot.core.hyper import at
from unknot.core.objective import Carry, ExtraState, Net, Step, total
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.data.arrays import Arrays
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.nets.linear import Linear as LinearNet
from unknot.objectives.beta_vae import BetaVAE
from unknot.objectives.control_vae import PRESETS, ControlVAE
from unknot.objectives.parts.control import target_at
from unknot.schedules import linear

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


def test_the_series_of_weights_is_that_simulated_by_hand():
    """With the ramp, by the loop of Shao et al.'s code; errors stay so small that nothing waits."""
    kls = 0.6 + 0.002 * np.arange(400) + 0.2 * np.sin(np.arange(400))
    objective = ControlVAE(target=1.2, ramp_every=50)
    logs = follow(objective, kls)
    c, integral = 0.5, 0.0
    for t, (kl, terms) in enumerate(zip(kls, logs, strict=True)):
        if (t + 1) % 50 == 0:
            c = min(c + 0.15, 1.2)
        e = c - kl
        integral -= 0.001 * e
        assert terms["target"].value.item() == pytest.approx(c, rel=1e-12)
        assert terms["error"].value.item() == pytest.approx(e, abs=1e-12)
        expected = max(0.01 / (1 + math.exp(e)) + integral + 1, 1)
        assert terms["kl"].weight.item() == pytest.approx(expected, rel=1e-12)
        assert terms["kl"].value.item() == pytest.approx(kl, rel=1e-12)
    assert c == 1.2


def test_the_weight_of_a_step_is_made_of_its_own_divergence():
    one, other = (follow(ControlVAE(ramp=False, ki=0.1), [20.0, kl])[1] for kl in (30.0, 50.0))
    assert (other["kl"].weight - one["kl"].weight).item() == pytest.approx(2.0, abs=0.01)


def test_no_gradient_goes_through_the_weight():
    terms = follow(ControlVAE(), [25.0])[0]
    assert terms["kl"].value.requires_grad
    assert not terms["kl"].weight.requires_grad
    assert not terms["integral"].value.requires_grad


def test_without_gains_it_is_the_beta_vae_at_the_least_weight():
    x = torch.rand(6, 1, 1, 1, generator=torch.Generator().manual_seed(0)).double()
    objective = ControlVAE(kp=0.0, ki=0.0, beta_min=4.0)
    step = Step(x, torch.tensor(3), torch.tensor(8), 10)
    net = net_with(3.0, objective.extra_state(1, torch.tensor(3)).carried)
    assert torch.equal(total(objective.terms(net, step)), total(BetaVAE(beta=4.0).terms(net, step)))


def test_a_target_may_be_a_schedule_where_there_is_no_ramp():
    objective, t = ControlVAE(target=linear(1.0, 5.0, 100.0), ramp=False), torch.tensor(50)
    assert target_at(at(objective, t, torch.float64), t).item() == 3.0


def test_state_starts_at_the_least_weight_for_every_member():
    own = ControlVAE(beta_min=2.0).extra_state(3, torch.tensor([4, 5]))
    assert isinstance(own, ExtraState)
    assert own.carried["integral"].tolist() == [0, 0]
    assert own.carried["output"].tolist() == [2, 2]


def test_presets_are_the_settings_of_the_documents():
    for name in ("ozcan", "ozcan_no_ramp"):
        preset = PRESETS[name]
        assert (preset.target, preset.kp, preset.ki) == (18.0, 0.01, 0.001)
        assert preset.likelihood == "sigmoid_gaussian"
    last = torch.tensor(299_999)
    assert target_at(PRESETS["ozcan"], last).item() == pytest.approx(9.5)
    assert target_at(PRESETS["ozcan_no_ramp"], torch.tensor(0)).item() == 18.0


def test_in_training_the_divergence_settles_at_the_target(tiny):
    objective = ControlVAE(target=2.0, ramp=False, beta_min=0.0, ki=0.1)
    context = Context(Arrays(str(tiny)).load(), LinearNet(latents=4), 64, Runtime(CPU, "float32"))
    population = Looped.fresh(context, [Member(0, objective, Adam(lr=5e-2))])
    first = population.advance(0, 1)
    population.advance(1, 119)
    logs = [population.advance(t, 2) for t in range(120, 220, 2)]
    kl = torch.stack([log["kl"] for log in logs]).mean()
    assert kl.item() == pytest.approx(2.0, rel=0.05)
    assert logs[-1]["recon"] < 0.5 * first["recon"]
    assert logs[-1]["target"].item() == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": -1.0}, "ControlVAE.target must be 0 or more; got -1.0."),
        ({"ki": -0.001}, "ControlVAE.ki must be 0 or more; got -0.001."),
        ({"kp": -0.01}, "ControlVAE.kp must be 0 or more; got -0.01."),
        ({"beta_max": 0.5}, "ControlVAE.beta_max must be 1.0 or more; got 0.5."),
        ({"beta_min": -1.0}, "ControlVAE.beta_min must be 0 or more; got -1.0."),
        ({"ramp_every": 0}, "ControlVAE.ramp_every must be 1 or more; got 0."),
        ({"ramp_step": -0.1}, "ControlVAE.ramp_step must be 0 or more; got -0.1."),
        ({"target": linear(1.0, -2.0, 9.0)}, "ControlVAE.target must be 0 or more; got -2.0."),
    ],
)
def test_bad_settings_are_refused_in_one_line(changes, message):
    with pytest.raises(ConfigError) as error:
        ControlVAE(**changes)
    assert str(error.value) == message
