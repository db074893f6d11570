"""FlowVAE: its density against brute force, and the VAE as its limit."""

import math

import pytest
import torch
from torch.autograd.functional import jacobian
from torch.distributions import Normal

from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.optim import Adam
from unknot.core.posterior import Posterior
from unknot.data.arrays import Arrays
from unknot.engine.context import Context
from unknot.engine.device import Runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.nets.linear import Linear
from unknot.objectives.flow_vae import FlowVAE
from unknot.objectives.vae import VAE

CPU = torch.device("cpu")
SEED = torch.tensor(3)


def posterior(n, z, seed=0):
    draw = torch.Generator().manual_seed(seed)
    mean, logvar = torch.randn(2, n, z, dtype=torch.float64, generator=draw)
    return Posterior(mean, 0.5 * logvar - 0.5)


def net_of(objective, z, q=None, **changes):
    """A net with the flow's first weights, larger and half open so that the flow bends visibly."""
    own = {name: 3 * weight for name, weight in objective.extra_state(z, SEED).learnt.items()}
    own |= {"out_bias": own["out_bias"] / 10} if own else {}
    return Net(lambda _: q, lambda z: z[..., None, None], extra={**own, **changes})


def inverse(objective, net, q, z):
    """Back through the flow one latent at a time: its net needs only those found before it."""
    for t in reversed(range(objective.steps)):
        single = FlowVAE(steps=1, width=objective.width)
        own = {
            name: weight[t : t + 1] if t % 2 == 0 else backwards(name, weight[t : t + 1])
            for name, weight in net.extra.items()
        }
        flip = (lambda a: a) if t % 2 == 0 else (lambda a: a.flip(-1))
        out, base = flip(z), torch.zeros_like(z)
        for j in range(z.shape[-1]):
            moved, log_sigma = single.flow(Net(net.encode, net.decode, extra=own), q, base)
            # Latent j of the result is sigma_j * base_j + shift_j, of latents before j only.
            sigma, shift = log_sigma.exp(), moved - log_sigma.exp() * base
            base = base.clone()
            base[..., j] = (out[..., j] - shift[..., j]) / sigma[..., j]
        z = flip(base)
    return z


def backwards(name, weight):
    """Weights of the same step with its latents in the other order."""
    if name == "latent_weight":
        return weight.flip(-1)
    if name in ("out_weight", "out_bias"):
        axis = -2 if name == "out_weight" else -1
        m, s = weight.chunk(2, dim=axis)
        return torch.cat([m.flip(axis), s.flip(axis)], axis)
    return weight


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_the_log_determinant_is_that_of_the_brute_force_jacobian(steps):
    objective, q = FlowVAE(steps=steps, width=13), posterior(1, 4)
    net, z = net_of(objective, 4), q.sample(torch.full((1, 4), 0.7).double())
    square = jacobian(lambda z: objective.flow(net, q, z)[0], z).reshape(4, 4)
    _, log_sigma = objective.flow(net, q, z)
    torch.testing.assert_close(square.slogdet()[1], log_sigma.sum(), rtol=1e-10, atol=1e-14)
    if steps > 1:
        assert (square.triu(1) != 0).any()
        assert (square.tril(-1) != 0).any()


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_flow_can_be_undone(steps):
    objective, q = FlowVAE(steps=steps, width=13), posterior(6, 4)
    net, z = net_of(objective, 4), q.sample(posterior(6, 4, seed=1).mean)
    there, _ = objective.flow(net, q, z)
    assert (there - z).abs().mean() > 0.1
    torch.testing.assert_close(inverse(objective, net, q, there), z, rtol=1e-8, atol=1e-8)


def density(objective, net, q, z):
    """q(z|x) at any point, through the inverse."""
    base = inverse(objective, net, q, z)
    _, log_sigma = objective.flow(net, q, base)
    normal = Normal(q.mean, (q.logvar / 2).exp())
    return (normal.log_prob(base) - log_sigma).sum(-1).exp()


@pytest.mark.parametrize("steps", [1, 2])
def test_the_density_integrates_to_one(steps):
    """With the determinant's sign wrong, as in Mushom 2020, section 3.4, it would not."""
    objective, q = FlowVAE(steps=steps, width=8), posterior(1, 2)
    net, line = net_of(objective, 2), torch.linspace(-8, 8, 321, dtype=torch.float64)
    grid = torch.cartesian_prod(line, line)
    same = Posterior(q.mean.expand_as(grid), q.logvar.expand_as(grid))
    mass = density(objective, net, same, grid).sum() * (line[1] - line[0]) ** 2
    assert mass.item() == pytest.approx(1, abs=1e-3)


def test_the_divergence_is_that_of_the_density():
    objective, q = FlowVAE(steps=3, width=13), posterior(5, 4)
    net, x = net_of(objective, 4, q), torch.zeros(5, 4, 1, 1).double()
    step = Step(x, SEED, torch.tensor(2), 10)
    z, _ = objective.flow(net, q, q.sample(step.normal("z", 5, 4)))
    prior = Normal(torch.zeros(4).double(), 1.0).log_prob(z).sum(-1)
    expected = (density(objective, net, q, z).log() - prior).mean()
    kl = objective.terms(net, step)["kl"].value
    torch.testing.assert_close(kl, expected, rtol=1e-8, atol=0)


def test_no_steps_is_the_vae_with_the_sampled_divergence():
    q, x = posterior(5, 4), posterior(5, 4, seed=2).mean.sigmoid()[..., None, None]
    net = net_of(FlowVAE(steps=0), 4, q)
    assert net.extra == {}
    for t in range(3):
        step = Step(x, SEED, torch.tensor(t), 10)
        ours, vae = FlowVAE(steps=0).terms(net, step), VAE().terms(net, step)
        assert torch.equal(ours["recon"].value, vae["recon"].value)
        z = q.sample(step.normal("z", 5, 4))
        own = Normal(q.mean, (q.logvar / 2).exp()).log_prob(z)
        sampled = (own - Normal(torch.zeros(1).double(), 1.0).log_prob(z)).sum(-1).mean()
        torch.testing.assert_close(ours["kl"].value, sampled, rtol=1e-12, atol=1e-12)


def test_the_sampled_divergence_is_the_closed_form_in_expectation():
    q, x = posterior(1, 4), torch.zeros(20_000, 4, 1, 1).double()
    many = Posterior(q.mean.expand(20_000, 4), q.logvar.expand(20_000, 4))
    step = Step(x, SEED, torch.tensor(0), 10)
    ours, vae = (
        o.terms(net_of(FlowVAE(steps=0), 4, many), step) for o in (FlowVAE(steps=0), VAE())
    )
    assert ours["kl"].value.item() == pytest.approx(vae["kl"].value.item(), abs=0.05)


def test_an_identity_flow_is_no_flow():
    """Gates wide open: sigma is 1 whatever m says."""
    q, x = posterior(5, 4), posterior(5, 4, seed=2).mean.sigmoid()[..., None, None]
    objective = FlowVAE(steps=3, width=7)
    still = torch.cat([torch.zeros(3, 4), torch.full((3, 4), 60.0)], -1).double()
    net = net_of(objective, 4, q, out_weight=torch.zeros(3, 8, 7).double(), out_bias=still)
    step = Step(x, SEED, torch.tensor(1), 10)
    ours, none = objective.terms(net, step), FlowVAE(steps=0).terms(net, step)
    torch.testing.assert_close(total(ours), total(none), rtol=1e-14, atol=0)
    assert torch.equal(objective.recode(net, q).mean, q.mean)


def test_scores_take_the_flow_of_the_mean_and_the_sigmas_there():
    objective, q = FlowVAE(steps=2, width=13), posterior(1, 4)
    net = net_of(objective, 4)
    code = objective.recode(net, q)
    torch.testing.assert_close(code.mean, objective.flow(net, q, q.mean)[0])
    # Of one step: as orders alternate, the diagonal of two is not the product of their diagonals.
    single = FlowVAE(steps=1, width=13)
    square = jacobian(lambda z: single.flow(net, q, z)[0], q.mean).reshape(4, 4)
    expected = q.logvar + square.diagonal().square().log()
    torch.testing.assert_close(single.recode(net, q).logvar, expected)


@pytest.mark.parametrize("backend", [Looped, Stacked])
def test_a_population_encodes_through_the_flow(backend):
    context = Context(testing.images(), testing.NET, 8, Runtime(CPU, "float64"))
    members = [Member(s, FlowVAE(width=5), Adam()) for s in (0, 5)]
    x = context.dataset.batch(torch.arange(4)).double()
    population = backend.fresh(context, members)
    plain = Looped.fresh(context, [Member(m.seed, VAE(), Adam()) for m in members]).encode(x)
    own = FlowVAE(width=5).extra_state(testing.NET.latents, torch.tensor([0, 5])).learnt
    expected = FlowVAE(width=5).recode(Net(lambda _: plain, lambda z: z, extra=own), plain)
    found = population.encode(x)
    torch.testing.assert_close(found.mean, expected.mean)
    torch.testing.assert_close(found.logvar, expected.logvar)


def test_weights_start_small_by_seed_and_the_same_for_any_number_of_steps():
    own = FlowVAE(steps=3, width=50).extra_state(4, torch.tensor([1, 2])).learnt
    assert {name: tuple(weight.shape) for name, weight in own.items()} == {
        "latent_weight": (2, 3, 50, 4),
        "context_weight": (2, 3, 50, 8),
        "hidden_bias": (2, 3, 50),
        "out_weight": (2, 3, 8, 50),
        "out_bias": (2, 3, 8),
    }
    for name, inputs in (("latent_weight", 12), ("context_weight", 12), ("out_weight", 50)):
        assert 0.95 < own[name].abs().max() * math.sqrt(inputs) <= 1
        assert abs(own[name].mean()) * math.sqrt(inputs) < 0.1
        assert (own[name][0] != own[name][1]).all()
    assert own["out_bias"][1, 2].tolist() == [0.0] * 4 + [2.0] * 4
    fewer = FlowVAE(steps=1, width=50).extra_state(4, torch.tensor([1, 2])).learnt
    assert torch.equal(fewer["out_weight"][:, 0], own["out_weight"][:, 0])


def test_gradients_are_right():
    case = testing.cases(FlowVAE(width=4))[1][0]
    for name in ("extra.latent_weight", "extra.out_bias", "encoder.1.weight"):

        def loss(weight, name=name):
            case.weights[name] = weight
            return total(case.terms())

        assert torch.autograd.gradcheck(loss, case.weights[name], fast_mode=True)


def test_training_lowers_the_loss(tiny):
    context = Context(Arrays(str(tiny)).load(), Linear(latents=4), 32, Runtime(CPU, "float32"))
    population = Looped.fresh(context, [Member(0, FlowVAE(width=32), Adam(lr=1e-2))])
    before = population.state()
    first, last = population.advance(0, 1), population.advance(1, 200)
    assert last["loss"] < 0.5 * first["loss"]
    after = population.state()
    for name in ("latent_weight", "context_weight", "hidden_bias", "out_weight", "out_bias"):
        assert not torch.equal(before[f"extra.{name}"], after[f"extra.{name}"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": -1}, "FlowVAE.steps must be 0 or more; got -1."),
        ({"width": 0}, "FlowVAE.width must be 1 or more; got 0."),
    ],
)
def test_bad_settings_are_refused_in_one_line(changes, message):
    with pytest.raises(ConfigError) as error:
        FlowVAE(**changes)
    assert str(error.value) == message
