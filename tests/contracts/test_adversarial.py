"""Objectives with a critic: two losses, two optimisers, and nothing leaks between them."""

from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from unknot import testing
from unknot.core.hyper import Hyper
from unknot.core.objective import Adversarial, Net, Step, Term
from unknot.core.optim import Adam
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.losses import bernoulli, kl_normal
from unknot.samplers.singles import Singles

BETAS = 0.5, 0.9


@dataclass(frozen=True)
class Shuffled(Adversarial):
    """A critic that tells codes from codes shuffled within each column."""

    gamma: Hyper = 3.0
    critic_lr: Hyper = 1e-3
    width: int = 7
    net_scale: float = 1.0
    critic_scale: float = 1.0

    @property
    def critic_optim(self) -> Adam:
        return Adam(self.critic_lr, beta1=BETAS[0], beta2=BETAS[1])

    def critic(self, image, z: int) -> nn.Module:
        return nn.Sequential(nn.Linear(z, self.width), nn.Tanh(), nn.Linear(self.width, 2))

    def terms(self, net: Net, step: Step):
        q = net.encode(step.x)
        z = q.sample(step.normal("z", *q.mean.shape[-2:]))
        logits = net.critic(z)
        return {
            "recon": Term(bernoulli(net.decode(z), step.x), self.net_scale),
            "kl": Term(kl_normal(q).sum(-1), self.net_scale),
            "tc": Term((logits[..., 0] - logits[..., 1]).mean(-1) * self.net_scale, self.gamma),
        }

    def critic_terms(self, net: Net, step: Step):
        q = net.encode(step.x)
        z = q.sample(step.normal("z", *q.mean.shape[-2:]))
        other = z.gather(-2, step.permutation("shuffle", *z.shape[-2:]))
        real, fake = net.critic(z), net.critic(other)
        loss = F.softplus(real[..., 1] - real[..., 0]) + F.softplus(fake[..., 0] - fake[..., 1])
        return {"tell": Term(loss.mean(-1), self.critic_scale)}


@pytest.fixture(scope="module")
def context():
    return Context(testing.images(), testing.NET, 8, Runtime(torch.device("cpu"), "float64"))


both_backends = pytest.mark.parametrize("backend", [Looped, Stacked])


def after(context, backend, steps, **changes):
    members = [
        Member(seed, replace(Shuffled(gamma=gamma, critic_lr=lr), **changes), Adam(lr=1e-3))
        for seed, gamma, lr in [(0, 1.0, 1e-3), (5, 40.0, 1e-2)]
    ]
    population = backend.fresh(context, members)
    log = population.advance(0, steps) if steps else {}
    return population.state(), log


def differs(first, second):
    """Which weights are not the same bit for bit: of the net, of the critic."""
    names = {n for n in first if not n.startswith("adam.")}
    changed = {n for n in names if not torch.equal(first[n], second[n])}
    return {"critic" if n.startswith("critic.") else "net" for n in changed}


def test_it_is_adversarial():
    assert isinstance(Shuffled(), Adversarial)


@pytest.mark.parametrize("check", testing.OBJECTIVE_CHECKS, ids=lambda check: check.__name__)
def test_contract(check):
    check(Shuffled())


@both_backends
def test_the_critics_loss_does_not_move_the_net(context, backend):
    usual, _ = after(context, backend, 1)
    assert differs(usual, after(context, backend, 1, critic_scale=7.0)[0]) == {"critic"}
    assert differs(usual, after(context, backend, 1, critic_lr=0.3)[0]) == {"critic"}


@both_backends
def test_the_nets_loss_does_not_move_the_critic(context, backend):
    usual, _ = after(context, backend, 1)
    assert differs(usual, after(context, backend, 1, net_scale=7.0)[0]) == {"net"}
    assert differs(usual, after(context, backend, 1, gamma=0.1)[0]) == {"net"}


@both_backends
def test_each_feels_the_other_a_step_later(context, backend):
    usual, _ = after(context, backend, 2)
    assert differs(usual, after(context, backend, 2, critic_scale=7.0)[0]) == {"net", "critic"}
    assert differs(usual, after(context, backend, 2, gamma=0.1)[0]) == {"net", "critic"}


@both_backends
def test_both_gradients_are_taken_before_any_weight_moves(context, backend):
    """After one step the first moment of Adam is 1 - beta1 times the gradient at the start."""
    before, _ = after(context, backend, 0)
    state, log = after(context, backend, 1)
    with torch.device("meta"):
        critic = Shuffled().critic(testing.IMAGE, testing.NET.latents)
    for i, (seed, gamma) in enumerate([(0, 1.0), (5, 40.0)]):
        rows = Singles().bind(context.dataset, torch.device("cpu"))(seed, 0, context.batch)
        step = Step(
            context.dataset.batch(rows).double(),
            torch.tensor(seed),
            torch.tensor(0),
            len(context.dataset),
        )
        weights = {n: w[i].clone().requires_grad_() for n, w in before.items() if "adam." not in n}
        case = testing.Case(Shuffled(gamma=gamma), critic, weights, {}, step)
        for name, gradient in case.gradients().items():
            beta1 = BETAS[0] if name.startswith("critic.") else Adam().beta1
            moment = state[f"adam.m.{name}"][i]
            torch.testing.assert_close(moment, (1 - beta1) * gradient, rtol=1e-9, atol=1e-14)
        for name, term in case.terms().items():
            torch.testing.assert_close(log[name][i], term.value, rtol=1e-12, atol=0)


@both_backends
def test_what_is_logged(context, backend):
    _, log = after(context, backend, 3, critic_scale=7.0)
    names = {"loss", "critic.loss"}
    names |= {n + end for n in ("recon", "kl", "tc", "critic.tell") for end in ("", ".weight")}
    assert set(log) == names
    assert all(value.shape == (2,) for value in log.values())
    loss = log["recon"] + log["kl"] + torch.tensor([1, 40]) * log["tc"]
    torch.testing.assert_close(log["loss"], loss)
    torch.testing.assert_close(log["critic.loss"], 7 * log["critic.tell"])
    assert log["tc.weight"].tolist() == [1, 40]
    assert log["critic.tell.weight"].tolist() == [7, 7]


@both_backends
def test_the_state_holds_the_critic(context, backend):
    state, _ = after(context, backend, 1)
    shapes = {n: tuple(w.shape) for n, w in state.items() if n.startswith("critic.")}
    assert shapes == {
        "critic.0.weight": (2, 7, 3),
        "critic.0.bias": (2, 7),
        "critic.2.weight": (2, 2, 7),
        "critic.2.bias": (2, 2),
    }
    assert {f"adam.{k}.{n}" for k in "mv" for n in shapes} <= set(state)


def test_critics_start_from_the_members_seed(context):
    state, _ = after(context, Looped, 0)
    other, _ = after(context, Stacked, 0)
    assert not torch.equal(state["critic.0.weight"][0], state["critic.0.weight"][1])
    assert not differs(state, other)
