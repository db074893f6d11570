"""Triton kernels at the sizes of training: 64 models of 64 images, with blocks cut for these."""

import math

import pytest
import torch
from engine.test_kernels import LAYERS as OTHERS
from engine.test_kernels import SOME, operator, reference
from engine.triton_device import (  # the last one is for all tests
    DEVICE,
    INTERPRETED,
    on_device,
    operators,  # noqa: F401
)

from unknot.engine.layers import Conv, ConvTranspose

LAYERS = {**OTHERS, "conv64 1, colour": (Conv(4, 2, 1, 3), 8, 8, 32)}
SMALL = {
    "conv64 1": 32, "conv64 2": 16, "conv64 3": 8, "conv64 4": 4, "locatello 3": 8,
    "locatello 4": 4, "deconv 1": 4, "deconv 2": 8, "deconv 3": 16, "deconv 4": 32,
    "deconv 4, colour": 32, "conv64 1, colour": 32,
}  # fmt: skip
"""Height of the small image of each layer."""
PRECISIONS = {
    "bf16": (torch.bfloat16, 1e-2),
    "tf32": (torch.float32, 2e-3),
    "float32": (torch.float32, 2e-6),
}
"""What images are, and how far a result may be from float64."""


def check(name, members, images, small, precision):
    """Output and gradients of some members against float64, and the same bits twice."""
    dtype, bound = PRECISIONS[precision]
    layer, _, _, outputs = LAYERS[name]
    up = isinstance(layer, ConvTranspose)
    sides = (small, 2 * small) if up else (2 * small, small)
    shapes = [(members, images, side, side) for side in sides]
    taps = (4 * layer.channels, 4 * outputs) if up else (layer.kernel**2 * layer.channels, outputs)
    generator = torch.Generator(DEVICE).manual_seed(1)

    def draw(*shape):
        return torch.randn(shape, device=DEVICE, generator=generator).to(dtype)

    x = draw(*shapes[0], layer.channels).relu_()
    weight = draw(members, *taps) / taps[0] ** 0.5
    values = [x, weight, draw(members, outputs)]
    gradient = draw(*shapes[1], outputs)
    op, kernel, phases = operator(layer)
    given = [value.requires_grad_() for value in values]

    def once():
        # The output takes the place of this, and gradients that of the next: all is written.
        poison = torch.full_like(gradient, math.nan)
        del poison
        y = op(*given, None, kernel, phases, False, True)
        poison = torch.full_like(x, math.nan)
        del poison
        return [y.detach(), *torch.autograd.grad(y, given, gradient)]

    found, again = once(), once()
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))
    for member in {0, members // 4, members - 1}:
        only = slice(member, member + 1)
        inputs = [value[only].detach().double().requires_grad_() for value in values]
        y = reference(layer, *inputs, relu=False)
        expected = [y, *torch.autograd.grad(y, inputs, gradient[only].double())]
        expected[1] = expected[1] * (x[only] > 0)
        for what, f, e in zip(("output", "input", "weight", "bias"), found, expected, strict=True):
            error = (f[only].double() - e).norm() / e.norm()
            assert error < bound, f"{what} of member {member}: {error:.1e}"


@on_device
@pytest.mark.parametrize("precision", ["float32"] if INTERPRETED else PRECISIONS)
@pytest.mark.parametrize("name", SOME if INTERPRETED else LAYERS)
def test_layers_agree_with_float64_and_repeat_their_bits(name, precision):
    """Small ones in the interpreter, which knows no blocks."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    members, images, small = (2, 1, 2) if INTERPRETED else (64, 64, SMALL[name])
    check(name, members, images, small, precision)


def test_every_layer_has_its_size():
    assert [*SMALL] == [*LAYERS]
