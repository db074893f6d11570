"""The AnnealedVAE: schedule, absolute value of a mean, and what holds the divergence there."""

import math

import pytest
import torch

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.hyper import at, stack
from unknot.core.objective import Net, Note, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.annealed_vae import PRESETS, AnnealedVAE
from unknot.objectives.beta_vae import BetaVAE
from unknot.schedules import linear


def constant(mean, logvar):
    """One latent per image; nothing to reconstruct."""
    q = Posterior(*(torch.tensor(v, dtype=torch.float64).unsqueeze(-1) for v in (mean, logvar)))
    return Net(lambda x: q, lambda z: z[..., None, None])


def step(b=2, t=0):
    x = torch.zeros(b, 1, 1, 1, dtype=torch.float64)
    return Step(x, torch.tensor(0), torch.tensor(t), n_data=100)


@pytest.mark.parametrize("c_max", [5.0, 10.0, 25.0, 50.0, 75.0, 100.0])
def test_the_capacity_of_the_2019_study(c_max):
    """min(c_max, c_max t / T), T = 100,000, at each of its settings."""
    objective = AnnealedVAE(c=linear(0.0, c_max, 100_000.0))
    for t in (0, 1, 33_333, 50_000, 99_999, 100_000, 100_001, 300_000):
        now = at(objective, torch.tensor(t), torch.float64)
        noted = now.terms(constant([1.0, 2.0], [0.0, 0.0]), step(t=t))["capacity"]
        assert isinstance(noted, Note)
        assert noted.value.item() == pytest.approx(min(c_max, c_max * t / 100_000), abs=1e-12)


def test_defaults_and_presets():
    assert AnnealedVAE() == PRESETS["study2019"]
    ends = [at(PRESETS["burgess"], torch.tensor(t), torch.float64).c for t in (0, 100_000, 200_000)]
    assert ends == [0.5, 25.0, 25.0]
    assert PRESETS["burgess"].gamma == 1000.0


def test_capacity_zero_is_the_beta_vae_bit_for_bit():
    ours = testing.cases(AnnealedVAE(gamma=7.0, c=0.0))[1][0]
    theirs = testing.cases(BetaVAE(beta=7.0))[1][0]
    assert torch.equal(total(ours.terms()), total(theirs.terms()))
    gradients = theirs.gradients()
    for name, gradient in ours.gradients().items():
        assert torch.equal(gradient, gradients[name])


def test_the_absolute_value_is_of_the_batch_mean():
    """Divergences 0.5 and 4.5 have a mean of 2.5: at capacity 2 it is 0.5 off, each alone 2."""
    terms = AnnealedVAE(gamma=3.0, c=2.0).terms(constant([1.0, 3.0], [0.0, 0.0]), step())
    assert terms["kl"].value.item() == 2.5
    assert terms["kl_off_capacity"].value.item() == 0.5
    assert total(terms).item() == terms["recon"].value.item() + 1.5


@pytest.mark.parametrize(("c", "sign"), [(2.0, 1), (3.0, -1)])
def test_the_divergence_is_pulled_from_both_sides(c, sign):
    mean = torch.tensor([[1.0], [3.0]], dtype=torch.float64, requires_grad=True)
    net = Net(lambda x: Posterior(mean, torch.zeros_like(mean)), lambda z: z[..., None, None])
    value = AnnealedVAE(c=c).terms(net, step())["kl_off_capacity"].value
    (gradient,) = torch.autograd.grad(value, mean)
    torch.testing.assert_close(gradient, sign * mean.detach() / 2)


def test_members_have_schedules_of_their_own():
    members = [AnnealedVAE(gamma=g, c=linear(0.0, m, 100.0)) for g, m in [(1.0, 5.0), (2.0, 50.0)]]
    both = at(stack(members, testing.CPU, torch.float64), torch.tensor(50), torch.float64)
    x = torch.zeros(2, 2, 1, 1, 1, dtype=torch.float64)
    each = Step(x, torch.tensor([0, 1]), torch.tensor(50), n_data=100)
    terms = both.terms(constant([[1.0, 3.0]] * 2, [[0.0, 0.0]] * 2), each)
    assert terms["capacity"].value.tolist() == [2.5, 25.0]
    assert terms["kl_off_capacity"].value.tolist() == [0.0, 22.5]
    assert terms["kl_off_capacity"].weight.tolist() == [1.0, 2.0]


def test_a_negative_weight_or_capacity_is_refused():
    with pytest.raises(ConfigError, match=r"^AnnealedVAE.gamma must be 0 or more; got -1.0.$"):
        AnnealedVAE(gamma=-1.0)
    with pytest.raises(ConfigError, match=r"^AnnealedVAE.c must be 0 or more; got -5.0.$"):
        AnnealedVAE(c=linear(0.0, -5.0, 10.0))


def test_training_ends_at_the_capacity(tiny):
    """As the published models of the 2019 study do (5.00, 10.00, 25.00, ... nats)."""
    curves = unknot.train(
        "arrays",
        "annealed_vae",
        "linear",
        steps=200,
        batch=64,
        lr=1e-2,
        device="cpu",
        log_every=4,
        data_settings={"path": str(tiny)},
        net_settings={"latents": 3},
        c=linear(0.0, 3.0, 100.0),
        gamma=100.0,
    ).training.curves
    assert curves["recon"][-5:].mean() < 0.5 * curves["recon"][0].mean()
    assert curves["capacity"][-1].item() == pytest.approx(3, rel=1e-6)
    assert curves["kl"][-22:].mean().item() == pytest.approx(3, rel=0.05)


def test_a_capacity_that_would_not_be_reached_is_refused(tiny):
    with pytest.raises(ConfigError, match=r"objective.c changes until step 100,000, but the run"):
        unknot.train(
            "arrays", "annealed_vae", "linear", steps=99, data_settings={"path": str(tiny)}
        )


def test_divergence_of_a_batch_is_never_below_zero():
    """So that at capacity 0 nothing is lost by the absolute value."""
    q = constant([0.0, 0.0], [0.0, 0.0])
    assert AnnealedVAE(c=0.0).terms(q, step())["kl_off_capacity"].value.item() == 0
    assert math.isfinite(total(AnnealedVAE(c=0.0).terms(q, step())).item())
