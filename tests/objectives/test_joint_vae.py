"""JointVAE: divergences in closed form, the relaxed sample, capacities and codes."""

import math

import pytest
import torch

from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Step, total
from unknot.core.posterior import Posterior
from unknot.objectives.joint_vae import JointVAE, kl_uniform

LOGITS = torch.tensor([[0.5, -1.0, 2.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
MEAN = torch.tensor([[1.0, -0.5], [0.0, 2.0]], dtype=torch.float64)
LOGVAR = torch.tensor([[0.3, 0.0], [-1.0, 0.0]], dtype=torch.float64)
X = torch.full((2, 1, 1, 5), 0.5, dtype=torch.float64)
Q = Posterior(torch.cat([LOGITS, MEAN], -1), torch.cat([torch.full_like(LOGITS, 9.0), LOGVAR], -1))


def terms(objective, t=0, q=Q, decoded=None):
    def decode(z):
        if decoded is not None:
            decoded.append(z)
        return z.unflatten(-1, (1, 1, 5))

    n = len(q.mean)
    step = Step(X[:1].expand(n, 1, 1, 5), torch.tensor(3), torch.tensor(t), n_data=9)
    return objective.terms(Net(lambda _: q, decode), step)


def test_divergences_are_those_of_torch():
    ours = terms(JointVAE(categories=3, gamma=2.0, c_z=0.0, c_c=0.0, likelihood="gaussian"))
    categorical = torch.distributions.Categorical(logits=LOGITS)
    uniform = torch.distributions.Categorical(probs=torch.full((2, 3), 1 / 3).double())
    of_value = torch.distributions.kl_divergence(categorical, uniform)
    torch.testing.assert_close(kl_uniform(LOGITS), of_value)
    assert ours["value_off_capacity"].value.item() == pytest.approx(of_value.mean().item())
    normal = torch.distributions.Normal(MEAN, (LOGVAR / 2).exp())
    prior = torch.distributions.Normal(torch.zeros_like(MEAN), torch.ones_like(MEAN))
    of_others = torch.distributions.kl_divergence(normal, prior).sum(-1).mean()
    assert ours["kl_off_capacity"].value.item() == pytest.approx(of_others.item())
    assert ours["kl"].value.item() == pytest.approx((of_others + of_value.mean()).item())
    parts = ours["recon"].value + 2 * (of_others + of_value.mean())
    assert total(ours).item() == pytest.approx(parts.item())


def test_both_sides_of_them_cost():
    start, end = (
        terms(JointVAE(categories=3, c_z=0.0, c_c=0.0)),
        terms(JointVAE(categories=3, c_z=8.0, c_c=1.0)),
    )
    kl, of_value = start["kl_off_capacity"].value, start["value_off_capacity"].value
    assert end["kl_off_capacity"].value.item() == pytest.approx(8 - kl.item())
    assert end["value_off_capacity"].value.item() == pytest.approx(1 - of_value.item())
    # No value has more than its logarithm, so that no capacity asks for more.
    most = terms(JointVAE(categories=3, c_z=0.0, c_c=5.0))["value_off_capacity"].value.item()
    assert most == pytest.approx(math.log(3) - of_value.item())


def test_the_relaxed_sample_takes_each_value_as_often_as_its_probability():
    """The Gumbel trick: the largest entry is a draw of the categorical distribution."""
    decoded, n = [], 40_000
    q = Posterior(Q.mean[:1].expand(n, 5), Q.logvar[:1].expand(n, 5))
    terms(JointVAE(categories=3, c_z=0.0, c_c=0.0, likelihood="gaussian"), q=q, decoded=decoded)
    value = decoded[0][:, :3]
    torch.testing.assert_close(value.sum(-1), torch.ones(n).double())
    shares = torch.bincount(value.argmax(-1), minlength=3) / n
    torch.testing.assert_close(shares.double(), LOGITS[0].softmax(-1), atol=0.01, rtol=0)
    assert decoded[0][:, 3].std().item() == pytest.approx(math.exp(0.15), rel=0.02)


def test_a_low_temperature_gives_corners():
    middle = []
    for temperature in (0.05, 5.0):
        decoded = []
        objective = JointVAE(
            categories=3, c_z=0.0, c_c=0.0, temperature=temperature, likelihood="gaussian"
        )
        terms(objective, decoded=decoded)
        middle.append(decoded[0][:, :3].amax(-1).mean().item())
    assert middle[0] > 0.99
    assert middle[1] < 0.6


def test_the_code_has_probabilities_and_the_other_posteriors():
    code = JointVAE(categories=3).recode(Net(lambda x: x, lambda z: z), Q)
    torch.testing.assert_close(code.mean[:, :3], LOGITS.softmax(-1))
    assert code.logvar[:, :3].max() == -20
    assert torch.equal(code.mean[:, 3:], MEAN)
    assert torch.equal(code.logvar[:, 3:], LOGVAR)


def test_refusals():
    with pytest.raises(ConfigError, match="needs 3 latents or more; the net has 2"):
        terms(JointVAE(categories=3), q=Posterior(MEAN, MEAN))
    with pytest.raises(ConfigError, match="temperature"):
        JointVAE(temperature=0.0)
    with pytest.raises(ConfigError, match="categories"):
        JointVAE(categories=1)
