"""Net, Step, Term and the total of terms."""

from dataclasses import replace

import pytest
import torch

from unknot.core import noise
from unknot.core.errors import ConfigError
from unknot.core.hyper import LinearSchedule
from unknot.core.objective import Adversarial, Net, Objective, Step, Term, no_critic, total
from unknot.core.optim import Adam
from unknot.objectives.vae import VAE


def test_the_total_is_the_weighted_sum():
    terms = {"a": Term(torch.tensor(3.0)), "b": Term(torch.tensor(2.0), 4.0)}
    assert total(terms).item() == 3 + 8
    assert total({"a": Term(torch.tensor(3.0), 0.0)}).item() == 0


def test_each_member_has_its_own_total():
    value = torch.tensor([1.0, 2.0, 3.0])
    terms = {
        "a": Term(value),
        "b": Term(value, torch.tensor([0.0, 10.0, 100.0])),
        "c": Term(value, 2.0),
    }
    assert total(terms).tolist() == [3, 26, 309]


def test_the_gradient_of_the_total_is_the_weight():
    value = torch.tensor([1.0, 2.0], requires_grad=True)
    total({"a": Term(value, torch.tensor([5.0, 7.0]))}).sum().backward()
    assert value.grad.tolist() == [5, 7]


def test_an_objective_without_a_critic_says_so():
    net = Net(lambda x: x, lambda z: z)
    assert net.critic is no_critic
    with pytest.raises(ConfigError) as caught:
        net.critic(torch.zeros(4, 10))
    assert str(caught.value) == (
        "net.critic was called with codes of shape (4, 10), but this objective has no "
        "critic: declare it `Adversarial`, with a method `critic(self, image, z) -> nn.Module`."
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_step_draws_its_own_noise_in_its_own_precision(dtype):
    seeds, t = torch.tensor([3, 2**40]), torch.tensor(2**33 + 7)
    step = Step(torch.zeros(2, 4, 1, 8, 8, dtype=dtype), seeds, t, 100)
    drawn = step.normal("z", 4, 3)
    assert drawn.dtype == dtype
    assert torch.equal(drawn, noise.normal(seeds, "z", t, 4, 3, dtype=dtype))
    alone = Step(step.x[1], seeds[1], t, 100)
    assert torch.equal(alone.normal("z", 4, 3), drawn[1])
    assert not torch.equal(replace(step, t=t + 1).normal("z", 4, 3), drawn)
    assert not torch.equal(step.normal("shuffle", 4, 3), drawn)
    orders = step.permutation("shuffle", 5, 2)
    assert torch.equal(orders, noise.permutation(seeds, "shuffle", t, 5, 2))
    assert torch.equal(alone.permutation("shuffle", 5, 2), orders[1])


def test_what_is_an_objective_and_what_has_a_critic():
    assert isinstance(VAE(), Objective)
    assert not isinstance(VAE(), Adversarial)
    assert not isinstance(Adam(), Objective)


@pytest.mark.parametrize(
    ("field", "value"),
    [("lr", 0.0), ("lr", -1e-3), ("beta1", 1.0), ("beta1", -0.1), ("beta2", 1.0), ("eps", 0.0)],
)
def test_settings_of_adam_out_of_range_are_refused(field, value):
    with pytest.raises(ConfigError, match=rf"^optim\.{field} must .*; got {value}\.$"):
        Adam(**{field: value})


@pytest.mark.parametrize(
    "lr", [float("nan"), LinearSchedule(-1.0, 0.1, 2.0), LinearSchedule(0.1, -1e-9, 2.0)]
)
def test_a_learning_rate_is_a_number_and_never_negative(lr):
    with pytest.raises(ConfigError, match="lr must be"):
        Adam(lr=lr)


def test_the_learning_rate_may_be_a_schedule_or_one_per_member():
    schedule = LinearSchedule(1e-3, 1e-4, 100.0)
    assert Adam(lr=schedule).lr == schedule
    assert Adam(lr=torch.tensor([1e-3, 1e-4])).lr.shape == (2,)
