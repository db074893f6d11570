"""Biases of transposed convolutions in bfloat16: numbers of PyTorch, bit for bit."""

import copy

import pytest
import torch
from torch import nn

from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.data.parts.images import Bytes
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.population import Member
from unknot.engine.transposed import Transposed, sum_biases
from unknot.nets.conv import Conv
from unknot.objectives.beta_vae import BetaVAE

LAYERS = {
    "up": nn.ConvTranspose2d(8, 5, 4, stride=2, padding=1),
    "last": nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1),
    "uneven": nn.ConvTranspose2d(8, 6, (3, 5), stride=(2, 1), padding=1, output_padding=(1, 0)),
    "groups": nn.ConvTranspose2d(8, 4, 3, groups=2, dilation=2),
}


def twins(layer):
    """A layer of PyTorch's and ours of the same weights."""
    ours = copy.deepcopy(layer)
    sum_biases(nn.Sequential(ours))
    assert type(ours) is Transposed
    return layer, ours


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("bf16", [True, False], ids=["bf16", "float32"])
def test_images_and_gradients_have_the_bits_of_pytorch(name, bf16):
    torch.manual_seed(0)
    x = torch.randn(6, 8, 7, 7).contiguous(memory_format=torch.channels_last)
    found = []
    for layer in twins(LAYERS[name]):
        inputs = x.clone(memory_format=torch.preserve_format).requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            y = layer(inputs)
            loss = (y.float() ** 2).mean()
        assert y.dtype == (torch.bfloat16 if bf16 else torch.float32)
        found.append((y, *torch.autograd.grad(loss, [inputs, layer.weight, layer.bias])))
    for theirs, ours in zip(*found, strict=True):
        assert torch.equal(theirs, ours)


def test_derivatives_of_derivatives_are_there():
    """In bfloat16, so that they are near those of float32 and no more."""
    theirs, ours = twins(LAYERS["up"])
    x, direction = torch.randn(2, 8, 5, 5), torch.randn(2, 8, 5, 5)

    def slope(layer, enabled):
        def of(inputs):
            with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                return torch.func.jvp(lambda v: layer(v).float() ** 2, (inputs,), (direction,))[1]

        value = of(x).square().mean()
        return value, *torch.autograd.grad(value, [layer.weight, layer.bias])

    for exact, found in zip(slope(theirs, False), slope(ours, True), strict=True):
        assert (exact - found).abs().max() < 0.03 * exact.abs().max()


def test_a_member_trains_with_them(context, member):
    """Their gradient reaches the biases, and names of weights are those of PyTorch."""
    (model,) = Looped.fresh(context, [member]).models
    layers = [m for m in model.modules.modules() if isinstance(m, nn.ConvTranspose2d)]
    assert layers
    assert all(isinstance(layer, Transposed) for layer in layers)
    before = [layer.bias.clone() for layer in layers]
    with context.runtime.computing():
        model.advance(0, 2)
    assert not any(map(torch.equal, before, (layer.bias for layer in layers)))


@pytest.fixture
def member():
    return Member(0, BetaVAE(), Adam(lr=1e-2))


@pytest.fixture
def context():
    stored = torch.randint(256, (16, 1, 16, 16), dtype=torch.uint8)
    data = FactorDataset("bytes", FactorSpace(("row",), (16,), ("nominal",)), Bytes(stored))
    return Context(data, Conv(latents=2), 4, runtime("cpu", "bf16"))
