"""Activations of decoders: those that hooks of PyTorch see, for one model and for many."""

from dataclasses import dataclass

import pytest
import torch
from torch import nn
from torch.func import functional_call

import unknot
from unknot import testing
from unknot.core.errors import ConfigError
from unknot.core.objective import Net, Term
from unknot.core.optim import Adam
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.looped import Looped
from unknot.engine.modules import stack_module
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.engine.stacked_net import detach_net
from unknot.losses import gaussian
from unknot.nets.conv64 import Conv64
from unknot.nets.parts.features import Features
from unknot.nets.parts.weights import initialize

SEEDS = torch.tensor([3, 2**40 + 1])
Z = torch.randn(2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
SHAPES = [(256,), (1024,), (64, 8, 8), (32, 16, 16), (32, 32, 32)]


class Own(nn.Module):
    """No `nn.Sequential`: it says itself what its features are."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 6), nn.Linear(6, 8)

    def forward(self, z):
        return self.second(self.features(z)[0])

    def features(self, z):
        return [self.first(z).tanh()]


def hooked(module, weights, z):
    """The outputs of activation functions as PyTorch's own hooks see them."""
    outputs = []
    for part in module.modules():
        if isinstance(part, nn.ReLU | nn.Tanh):
            part.register_forward_hook(lambda _, __, y: outputs.append(y))
    functional_call(module, weights, (z,))
    return outputs


def start(module):
    weights = initialize(module, "decoder", "torch", SEEDS, dtype=torch.float64)
    return {name.removeprefix("decoder."): w for name, w in weights.items()}


@pytest.mark.parametrize("kernels", [False, True])
def test_stacked_features_and_their_gradients_are_what_hooks_see(kernels):
    """With kernels each ReLU belongs to the layer before it, its gradient to the one behind it."""
    module = Conv64(latents=4).decoder((1, 64, 64))
    many, weights = stack_module(module, kernels=kernels), start(module)
    leaves = {n: many.pack(n, w).detach().requires_grad_() for n, w in weights.items()}
    features = many.features(leaves, Z)
    slopes = torch.autograd.grad(sum(f.pow(3).sum() for f in features), [*leaves.values()],
                                 materialize_grads=True)  # fmt: skip
    for i in range(2):
        mine = {n: w[i].clone().requires_grad_() for n, w in weights.items()}
        expected = hooked(Conv64(latents=4).decoder((1, 64, 64)), mine, Z[i])
        assert [f.shape[1:] for f in expected] == SHAPES
        for ours, theirs in zip(features, expected, strict=True):
            torch.testing.assert_close(ours[i], theirs)
        gradients = torch.autograd.grad(sum(f.pow(3).sum() for f in expected), [*mine.values()],
                                        materialize_grads=True)  # fmt: skip
        for name, slope, theirs in zip(leaves, slopes, gradients, strict=True):
            torch.testing.assert_close(many.unpack(name, slope)[i], theirs)


def test_other_modules_say_what_their_features_are():
    module = Own()
    weights, many = start(module), stack_module(module)
    (together,) = many.features(weights, Z)
    for i in range(2):
        mine = {n: w[i] for n, w in weights.items()}
        expected = torch.nn.functional.linear(Z[i], mine["first.weight"], mine["first.bias"]).tanh()
        torch.testing.assert_close(together[i], expected)


def test_a_module_that_does_not_say_is_refused_in_one_line():
    with pytest.raises(ConfigError, match=r"^The objective reads activations .* and Bilinear does"):
        Features(nn.Bilinear(2, 2, 2))(torch.zeros(1, 2))
    with pytest.raises(ConfigError, match=r"^net\.features was called with codes of .*\(5, 4\)"):
        Net(lambda x: x, lambda z: z).features(Z[0])


@dataclass(frozen=True)
class Quiet:
    """An autoencoder whose decoder should be quiet inside."""

    def terms(self, net, step):
        z = net.encode(step.x).mean
        features = net.features(z)
        assert [f.shape[-len(s) :] for f, s in zip(features, SHAPES, strict=True)] == SHAPES
        assert {f.dtype for f in features} == {step.x.dtype}
        assert not any(f.requires_grad for f in detach_net(net).features(z))
        loud = sum(f.square().flatten(-len(s)).mean((-2, -1))
                   for f, s in zip(features, SHAPES, strict=True))  # fmt: skip
        return {"recon": Term(gaussian(net.decode(z), step.x)), "loud": Term(loud, 3.0)}


@pytest.mark.parametrize("precision", ["float64", "bf16"])
def test_an_objective_trains_on_them_stacked_as_looped(precision):
    data = unknot.data.XYSquares(spacing=3).load()
    context = Context(data, Conv64(latents=4), 2, runtime("cpu", precision))
    members = [Member(seed, Quiet(), Adam(lr=1e-3)) for seed in (0, 1)]
    logs = [backend.fresh(context, members).advance(0, 3) for backend in (Looped, Stacked)]
    tolerance = 1e-10 if precision == "float64" else 2e-2
    assert logs[0]["loud"].min() > 0
    for key in ("loud", "recon"):
        torch.testing.assert_close(logs[0][key], logs[1][key], rtol=tolerance, atol=0)


def test_a_linear_decoder_has_none():
    module = testing.NET.decoder((1, 8, 8))
    assert Features(module)(torch.zeros(2, 3)) == ()
    weights = {n: w.expand(2, *w.shape) for n, w in module.named_parameters()}
    many = stack_module(module)
    packed = {n: many.pack(n, w) for n, w in weights.items()}
    assert many.features(packed, torch.zeros(2, 2, 3)) == ()


def test_a_model_in_a_loop_of_ones_own_has_them():
    net = Conv64(latents=4)
    parts = net.encoder((1, 64, 64)), net.decoder((1, 64, 64))
    model = unknot.Model(unknot.objectives.VAE(), *parts, n_data=10)
    assert len(model.net().features(torch.zeros(2, 4))) == 5
