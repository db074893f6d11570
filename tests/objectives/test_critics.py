"""What critics share: their network, their loss, and what is refused."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from unknot.core.errors import ConfigError
from unknot.objectives.aae import AAE
from unknot.objectives.avb import AVB
from unknot.objectives.factor_vae import FactorVAE
from unknot.objectives.parts.critics import mlp, tell_apart

DRAW = torch.Generator().manual_seed(8)


def randn(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def test_a_critic_ends_in_logits():
    """Mushom 2020, Table 5.5, prints an activation on the outputs; logits have none."""
    critic = mlp(3, 2, layers=4, width=5, slope=0.2)
    kinds = [type(layer) for layer in critic]
    assert kinds == [nn.Linear, nn.LeakyReLU] * 4 + [nn.Linear]
    assert {layer.negative_slope for layer in critic if isinstance(layer, nn.LeakyReLU)} == {0.2}
    assert (critic[0].in_features, critic[-1].out_features) == (3, 2)


def test_the_loss_is_the_cross_entropy_of_the_probabilities():
    first, second = 3 * randn(2, 40), 3 * randn(2, 50)
    p, q = (1 / (1 + np.exp(-odds.numpy())) for odds in (first, second))
    expected = -0.5 * np.log(p).mean(-1) - 0.5 * np.log(1 - q).mean(-1)
    found = tell_apart(first, second)
    np.testing.assert_allclose(found["tell"].value, expected, rtol=1e-12)
    np.testing.assert_allclose(
        found["accuracy"].value, ((p > 0.5).mean(-1) + (q < 0.5).mean(-1)) / 2
    )


def test_it_is_the_cross_entropy_of_two_logits():
    """The paper's critic has two of them; only their difference counts."""
    logits, kinds = randn(30, 2), torch.tensor([0] * 15 + [1] * 15)
    odds = logits[:, 0] - logits[:, 1]
    expected = torch.nn.functional.cross_entropy(logits, kinds)
    torch.testing.assert_close(tell_apart(odds[:15], odds[15:])["tell"].value, expected)


def test_the_best_critic_pays_ln_2_less_the_jensen_shannon_divergence():
    """Goodfellow et al. 2014, Theorem 1, on two distributions over four values."""
    p, q = np.array([4, 3, 2, 1]), np.array([1, 1, 4, 4])
    odds = torch.tensor(np.log(p / q))
    first, second = (odds.repeat_interleave(torch.tensor(n)) for n in (p, q))
    p, q = p / 10, q / 10
    m = (p + q) / 2
    jsd = 0.5 * (p * np.log(p / m)).sum() + 0.5 * (q * np.log(q / m)).sum()
    assert tell_apart(first, second)["jsd"].value.item() == pytest.approx(jsd, rel=1e-12)


def test_a_critic_that_cannot_tell_is_right_half_the_time():
    found = tell_apart(torch.zeros(8), torch.zeros(8))
    assert found["accuracy"].value == 0.5
    assert found["jsd"].value.abs() < 1e-7


def test_a_confident_mistake_keeps_its_gradient():
    """Probabilities clipped to [1e-6, 1 - 1e-6] have none beyond log-odds of 13.8."""
    first = torch.tensor([-1e4, 50.0], requires_grad=True)
    second = torch.tensor([1e4], requires_grad=True)
    loss = tell_apart(first, second)["tell"].value
    assert loss.item() == pytest.approx(0.5 * (5e3 + 1e4))
    grads = torch.autograd.grad(loss, [first, second])
    assert grads[0][0].item() == -0.25
    assert grads[1].item() == 0.5


@pytest.mark.parametrize("kind", [FactorVAE, AAE, AVB])
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("critic_layers", 0, "critic_layers must be 1 or more; got 0."),
        ("critic_width", 0, "critic_width must be 1 or more; got 0."),
        ("critic_slope", -0.1, "critic_slope must be 0 or more; got -0.1."),
        ("critic_lr", 0.0, "critic_lr must be above 0; got 0.0."),
        ("critic_lr", -1.0, "critic_lr must be 0 or more; got -1.0."),
        ("critic_lr", math.nan, "critic_lr must be 0 or more; got nan."),
        ("critic_beta1", 1.0, r"critic_beta1 must lie in \[0, 1\); got 1.0."),
        ("critic_beta2", -0.5, r"critic_beta2 must lie in \[0, 1\); got -0.5."),
    ],
)
def test_what_is_refused(kind, field, value, message):
    with pytest.raises(ConfigError, match=f"^{kind.__name__}.{message}$"):
        kind(**{field: value})
