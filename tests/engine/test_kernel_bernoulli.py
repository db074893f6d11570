"""The last layer with its loss in one kernel against float64."""

import pytest
import torch
import torch.nn.functional as F
from engine.triton_device import draw, on_device, on_gpu, operators  # noqa: F401

from unknot.engine.layers import ConvTranspose


def compared(p, b, h, w, inputs, outputs, *, dtype=torch.float32, rectified=True):
    """Losses and gradients: ours, and those of the layer and the loss in float64."""
    from unknot.engine.kernels.bernoulli import bernoulli_up

    layer = ConvTranspose(inputs)
    small = draw(p, b, h, w, inputs, dtype=dtype, seed=1)
    weight = draw(p, 4 * inputs, 4 * outputs, dtype=dtype, seed=2) * 1.5 / inputs**0.5
    bias = draw(p, outputs, dtype=dtype, seed=3)
    x = draw(p, b, 2 * h, 2 * w, outputs, seed=4).sigmoid()
    upstream = draw(p, b, seed=5)
    ours = [v.clone().requires_grad_() for v in (small, weight, bias)]
    loss, residual = bernoulli_up(*ours, x, rectified)
    theirs = [v.double().requires_grad_() for v in (small, weight, bias)]
    taps, images = layer.unpack("weight", theirs[1]), theirs[0].permute(0, 1, 4, 2, 3)
    logits = torch.stack(
        [F.conv_transpose2d(images[i], taps[i], theirs[2][i], 2, 1) for i in range(p)]
    ).permute(0, 1, 3, 4, 2)
    expected = F.binary_cross_entropy_with_logits(logits, x.double(), reduction="none")
    expected = expected.sum((-3, -2, -1))
    found = [loss, residual, *torch.autograd.grad(loss, ours, upstream)]
    wanted = [
        expected,
        logits.sigmoid() - x,
        *torch.autograd.grad(expected, theirs, upstream.double()),
    ]
    if rectified:
        wanted[2] = wanted[2] * (small > 0)
    assert all(f.shape == e.shape for f, e in zip(found, wanted, strict=True))
    pairs = [(f.detach().double(), e.detach()) for f, e in zip(found, wanted, strict=True)]
    return [float((f - e).norm() / e.norm()) for f, e in pairs]


@on_device
@pytest.mark.parametrize("rectified", [False, True])
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 1), (5, 3)])
def test_losses_and_gradients_are_those_of_float64(inputs, outputs, rectified):
    assert max(compared(2, 2, 3, 4, inputs, outputs, rectified=rectified)) < 2e-6


@on_device
def test_many_windows_are_many_programs():
    assert max(compared(1, 1, 13, 12, 4, 1)) < 2e-6


@on_gpu
@pytest.mark.parametrize("outputs", [1, 3])
def test_full_size_in_bfloat16(outputs):
    assert max(compared(4, 64, 32, 32, 32, outputs, dtype=torch.bfloat16)) < 1e-2
