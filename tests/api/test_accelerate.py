"""Accelerate by the plain loop, with the real package: the weights of the loop without it."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import unknot
from unknot import objectives

accelerate = pytest.importorskip("accelerate")
pytestmark = pytest.mark.filterwarnings("ignore")
IMAGES = torch.rand(24, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def modules():
    torch.manual_seed(3)
    encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 6))
    return encoder, nn.Sequential(nn.Linear(3, 64), nn.Unflatten(1, (1, 8, 8)))


def train(objective, prepare=lambda *things: things):
    encoder, decoder, loader = prepare(*modules(), DataLoader(IMAGES, 8))
    model = unknot.Model(objective, encoder, decoder, n_data=len(IMAGES), seed=0)
    for x in loader:
        model.step(model.losses(x))
    return model


@pytest.mark.parametrize(
    "objective", [objectives.BetaVAE(beta=2.0), objectives.FactorVAE(critic_width=8)], ids=str
)
def test_prepared_modules_train_as_others_do(objective):
    prepared = train(objective, accelerate.Accelerator(cpu=True).prepare)
    weights = dict(prepared.named_parameters())
    for name, weight in train(objective).named_parameters():
        assert torch.equal(weights[name], weight), name


def test_its_backward_fills_in_the_gradients_of_the_total():
    accelerator = accelerate.Accelerator(cpu=True)
    prepared, plain = (
        unknot.Model(objectives.BetaVAE(), *pair, n_data=24)
        for pair in (accelerator.prepare(*modules()), modules())
    )
    accelerator.backward(prepared.losses(IMAGES)["total"])
    plain.backward(plain.losses(IMAGES))
    for one, other in zip(prepared.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)
