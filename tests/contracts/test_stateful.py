"""Objectives with tensors of their own: learnt by the optimiser, or carried from step to step."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch

from unknot import testing
from unknot.core import noise
from unknot.core.errors import ConfigError
from unknot.core.hyper import Hyper, lift
from unknot.core.objective import (
    Batchwise,
    Carry,
    ExtraState,
    Net,
    Note,
    Recoding,
    Stateful,
    Step,
    Term,
)
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member, populate
from unknot.engine.stacked import Stacked
from unknot.losses import bernoulli, kl_normal

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Remembering(Stateful, Recoding, Batchwise):
    """A learnt scale per latent, and the sums of two of its terms over all steps so far."""

    start: Hyper = 2.0
    rate: Hyper = 0.1
    least_batch: ClassVar[int] = 3

    def extra_state(self, z, seed):
        ones = torch.ones(*seed.shape, z, dtype=torch.float64)
        return ExtraState(
            {"scale": lift(self.start, 1) * ones, "shift": noise.normal(seed, "shift", 0, z)},
            {"sum": torch.zeros(seed.shape), "means": torch.zeros(*seed.shape, z)},
        )

    def recode(self, net, q):
        return Posterior(q.mean + net.extra["shift"].unsqueeze(-2), q.logvar)

    def terms(self, net: Net, step: Step):
        q = net.encode(step.x)
        z = q.sample(step.normal("z", *q.mean.shape[-2:]))
        z = z * net.extra["scale"].unsqueeze(-2) + net.extra["shift"].unsqueeze(-2)
        kl = kl_normal(q).sum(-1)
        weight = 1 + self.rate * net.extra["sum"]
        return {
            "recon": Term(bernoulli(net.decode(z), step.x)),
            "kl": Term(kl, weight),
            "largest": Note(net.extra["scale"].amax(-1)),
            "sum": Carry(net.extra["sum"] + kl),
            "means": Carry(net.extra["means"] + q.mean.mean(-2)),
        }


@pytest.fixture(scope="module")
def context():
    return Context(testing.images(), testing.NET, 8, Runtime(CPU, "float64"))


@pytest.fixture
def every():
    return [Member(s, Remembering(start=a), Adam(lr=1e-2)) for s, a in [(0, 1.0), (5, 3.0)]]


both_backends = pytest.mark.parametrize("backend", [Looped, Stacked])


@pytest.mark.parametrize("check", testing.OBJECTIVE_CHECKS, ids=lambda check: check.__name__)
def test_contract(check):
    assert isinstance(Remembering(), Stateful)
    check(Remembering())


@both_backends
def test_state_starts_by_member_and_moves(context, every, backend):
    population = backend.fresh(context, every)
    before = population.state()
    assert before["extra.scale"].tolist() == [[1.0] * 3, [3.0] * 3]
    assert torch.equal(before["extra.shift"][1], noise.normal(5, "shift", 0, 3).double())
    assert before["carried.sum"].tolist() == [0, 0]
    logs = [population.advance(t, 1) for t in range(3)]
    after = population.state()
    torch.testing.assert_close(after["carried.sum"], sum(log["kl"] for log in logs))
    assert (after["extra.scale"] != before["extra.scale"]).all()
    assert (after["adam.m.extra.scale"] != 0).all()
    assert "adam.m.carried.sum" not in after
    # The weight of a step is made of what the steps before it carried over.
    torch.testing.assert_close(
        logs[2]["kl.weight"], 1 + 0.1 * (logs[0]["kl"] + logs[1]["kl"]), rtol=1e-6, atol=0
    )
    assert logs[2]["largest"].shape == (2,)
    assert "largest.weight" not in logs[2]


@pytest.mark.parametrize(("first", "second"), [(Looped, Looped), (Looped, Stacked), (Stacked,) * 2])
def test_a_loaded_state_goes_on_as_if_never_left(context, every, first, second):
    whole, half, rest = (backend.fresh(context, every) for backend in (first, first, second))
    log = whole.advance(0, 6)
    half.advance(0, 3)
    rest.load(half.state())
    for name, value in rest.advance(3, 3).items():
        torch.testing.assert_close(value, log[name], rtol=1e-9, atol=0)
    for name, value in rest.state().items():
        torch.testing.assert_close(value, whole.state()[name], rtol=1e-6, atol=1e-9)


@both_backends
def test_scores_see_the_recoded_posterior(context, every, backend):
    population = backend.fresh(context, every)
    x = context.dataset.batch(torch.arange(4)).double()
    shift = population.state()["extra.shift"]
    plain = Looped.fresh(context, [Member(m.seed, Plain(), Adam()) for m in every])
    torch.testing.assert_close(population.encode(x).mean, plain.encode(x).mean + shift.unsqueeze(1))


@dataclass(frozen=True)
class Plain:
    def terms(self, net, step):
        raise NotImplementedError


@dataclass(frozen=True)
class Unannounced:
    def terms(self, net, step):
        value = net.encode(step.x).mean.square().sum((-2, -1))
        return {"size": Term(value), "means": Carry(value)}


@both_backends
def test_a_carry_that_was_not_announced_is_refused(context, backend):
    with pytest.raises(ConfigError, match="Carry 'means' of shape"):
        backend.fresh(context, [Member(0, Unannounced(), Adam())]).advance(0, 1)


def test_too_small_a_batch_is_refused_before_training(context):
    small = Context(context.dataset, context.net, 2, context.runtime)
    with pytest.raises(ConfigError, match="needs 3 or more; got a batch of 2"):
        populate(small, [Member(0, Remembering(), Adam())])
