"""Net and critic learn beside each other, each from its own loss alone."""

import torch

from unknot import testing
from unknot.core.objective import Term
from unknot.core.optim import Adam
from unknot.engine import stacked
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.objectives.factor_vae import FactorVAE


class Careless(FactorVAE):
    """Its critic's loss goes through all of the net, and nothing in it says that this is fixed."""

    def critic_terms(self, net, step):
        x = step.x.chunk(self.views, dim=-4)[0]
        q = net.encode(x)
        z = q.sample(step.normal("z", *q.mean.shape[-2:]))
        drawn = net.decode(z).square().mean((-1, -2, -3, -4))
        return {"tell": Term(net.critic(z).square().mean((-1, -2)) + drawn)}


def trained(backend):
    objective = Careless(gamma=3.0, critic_width=8, critic_layers=2, critic_lr=1e-2)
    context = Context(testing.images(), testing.NET, 6, runtime("cpu", "float64"))
    population = backend.fresh(context, [Member(seed, objective, Adam(lr=1e-2)) for seed in (0, 4)])
    population.advance(0, 4)
    return population.state()


def test_one_pass_back_gives_each_the_gradient_of_its_own_loss():
    """As looped, which asks for the gradients of one loss after the other."""
    ours, reference = trained(Stacked), trained(Looped)
    assert ours.keys() == reference.keys()
    for name, value in reference.items():
        torch.testing.assert_close(ours[name], value, rtol=1e-10, atol=1e-12, msg=name)


def test_that_would_notice_a_loss_that_moves_the_others_weights(monkeypatch):
    monkeypatch.setattr(stacked, "detach_net", lambda net: net)
    ours, reference = trained(Stacked), trained(Looped)
    assert not torch.allclose(ours["encoder.1.weight"], reference["encoder.1.weight"])
