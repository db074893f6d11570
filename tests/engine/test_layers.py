"""Layers with a member axis against PyTorch's own, one member at a time."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from unknot.engine.layers import Conv, ConvTranspose
from unknot.engine.modules import stack_module

P, B = 3, 2


def weights_of(module, generator):
    return {
        name: torch.randn(P, *p.shape, dtype=torch.float64, generator=generator)
        for name, p in module.named_parameters()
    }


def agree(module, *shape):
    """The stacked module equals the module with each member's weights, and so do its gradients."""
    generator = torch.Generator().manual_seed(0)
    module = module.double()
    weights = weights_of(module, generator)
    x = torch.randn(P, B, *shape, dtype=torch.float64, generator=generator, requires_grad=True)
    plan = stack_module(module)
    packed = {n: plan.pack(n, w).requires_grad_() for n, w in weights.items()}
    for name, value in packed.items():
        assert torch.equal(plan.unpack(name, value.detach()), weights[name])
    ours = plan.run(packed, x)
    alone = [{n: w[i].clone().requires_grad_() for n, w in weights.items()} for i in range(P)]
    theirs = torch.stack([torch.func.functional_call(module, alone[i], (x[i],)) for i in range(P)])
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-11)
    upstream = torch.randn(ours.shape, dtype=torch.float64, generator=generator)
    gradients = torch.autograd.grad(ours, [*packed.values(), x], upstream)
    for (name, mine), gradient in zip(packed.items(), gradients[:-1], strict=True):
        expected = torch.stack(
            [torch.autograd.grad(theirs, a[name], upstream, retain_graph=True)[0] for a in alone]
        )
        got = plan.unpack(name, gradient.reshape(mine.shape))
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)
    return plan


@given(
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    channels=st.sampled_from([(1, 2), (3, 1), (2, 3)]),
)
def test_convolution(kernel, stride, padding, channels):
    module = nn.Sequential(nn.Conv2d(*channels, kernel, stride, padding))
    plan = agree(module, channels[0], 7, 6)
    assert isinstance(plan.layers["0"], Conv)


@given(channels=st.sampled_from([(1, 2), (3, 1), (2, 3)]), size=st.integers(1, 5))
def test_transposed_convolution(channels, size):
    module = nn.Sequential(nn.ConvTranspose2d(*channels, 4, 2, 1))
    plan = agree(module, channels[0], size, size + 1)
    assert isinstance(plan.layers["0"], ConvTranspose)


def test_linear_layers_follow_images_that_are_held_channels_last():
    module = nn.Sequential(
        nn.Conv2d(2, 3, 2, 2), nn.Tanh(), nn.Flatten(), nn.Linear(12, 5), nn.LeakyReLU(0.2),
        nn.Linear(5, 18), nn.Tanh(), nn.Unflatten(1, (2, 3, 3)), nn.ConvTranspose2d(2, 1, 4, 2, 1),
    )  # fmt: skip
    plan = agree(module, 2, 4, 4)
    assert set(plan.layers) == {"0", "3", "5", "8"}


def test_images_without_convolutions_keep_pytorchs_order():
    agree(nn.Sequential(nn.Flatten(), nn.Linear(24, 4)), 2, 3, 4)
    agree(nn.Sequential(nn.Linear(4, 24), nn.Unflatten(1, (2, 3, 4))), 4)


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (nn.Sequential(nn.Conv2d(2, 2, 3, groups=2)), (2, 5, 5)),
        (nn.Sequential(nn.Conv2d(2, 2, 3, dilation=2)), (2, 7, 7)),
        (nn.Sequential(nn.Conv2d(2, 2, 3, bias=False)), (2, 5, 5)),
        (nn.Sequential(nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular")), (1, 5, 5)),
        (nn.Sequential(nn.ConvTranspose2d(2, 2, 3, 2, 1)), (2, 5, 5)),
        (nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), (4,)),
        (nn.Linear(4, 2), (4,)),
    ],
)
def test_modules_beyond_our_layers_are_mapped(module, shape):
    assert agree(module, *shape).layers == {}
