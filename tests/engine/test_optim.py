"""Adam with one learning rate per member."""

import pytest
import torch

from unknot.core.objective import Adam
from unknot.engine.stacked import adam


def test_each_member_is_pytorchs_adam():
    generator = torch.Generator().manual_seed(1)
    start = torch.randn(3, 4, 5, dtype=torch.float64, generator=generator)
    rates = [1e-3, 1e-1, 3e-2]
    settings = Adam(lr=torch.tensor(rates, dtype=torch.float64), beta1=0.5, beta2=0.9, eps=1e-6)
    ours, m, v = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    theirs = [start[i].clone().requires_grad_() for i in range(3)]
    optimizers = [
        torch.optim.Adam([p], lr=lr, betas=(0.5, 0.9), eps=1e-6)
        for p, lr in zip(theirs, rates, strict=True)
    ]
    for t in range(200):
        gradient = torch.randn(3, 4, 5, dtype=torch.float64, generator=generator)
        adam([ours], [m], [v], [gradient], settings, torch.tensor(t))
        for p, optimizer, g in zip(theirs, optimizers, gradient, strict=True):
            p.grad = g.clone()
            optimizer.step()
    torch.testing.assert_close(ours, torch.stack(theirs).detach(), rtol=1e-11, atol=1e-11)


def test_the_first_step_has_the_length_of_the_learning_rate():
    """Kingma and Ba 2015, section 2.1: the bias-corrected first step is lr times the sign."""
    w = torch.zeros(2, 3, dtype=torch.float64)
    g = torch.tensor([[1e-3, -5.0, 2.0], [7.0, -1e-2, 1.0]], dtype=torch.float64)
    settings = Adam(lr=torch.tensor([0.1, 0.01], dtype=torch.float64), eps=1e-30)
    adam([w], [torch.zeros_like(w)], [torch.zeros_like(w)], [g], settings, torch.tensor(0))
    expected = -torch.tensor([[0.1], [0.01]], dtype=torch.float64) * g.sign()
    torch.testing.assert_close(w, expected)


@pytest.mark.parametrize(
    "settings", [{"lr": 0.0}, {"lr": -1.0}, {"beta1": 1.0}, {"beta2": -0.1}, {"eps": 0.0}]
)
def test_settings_out_of_range_are_refused(settings):
    from unknot.core.errors import ConfigError

    with pytest.raises(ConfigError, match=f"optim.{next(iter(settings))}"):
        Adam(**settings)
