"""Triton kernels against PyTorch's convolutions in float64.

On a GPU the tests run there; elsewhere they run in Triton's interpreter, where Triton is installed,
in a process of their own: the interpreter is chosen by the environment before Triton is imported.
"""

import os
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from engine.triton_device import (  # the last one is for all tests
    INTERPRETED,
    draw,
    needs_triton,
    on_device,
    on_gpu,
    operators,  # noqa: F401
)
from hypothesis import given, settings
from hypothesis import strategies as st

from unknot.engine.kernels import configs
from unknot.engine.kernels.configs import config, programs, splits
from unknot.engine.kernels.shape import Shape
from unknot.engine.kernels.tuned import TUNED
from unknot.engine.layers import Conv, ConvTranspose


@needs_triton
@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="this is the interpreter")
def test_in_the_interpreter():
    # The interpreter looks names up where a function was wrapped: without the checks of shapes.
    environment = {**os.environ, "UNKNOT_SHAPES": "0", "OMP_NUM_THREADS": "1"}
    environment["TRITON_INTERPRET"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0"]
    command += map(str, Path(__file__).parent.glob("test_kernel*.py"))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


def reference(layer, x, weight, bias, relu):
    """The layer in float64, one member after the other, from packed weights."""
    taps, images = layer.unpack("weight", weight), x.permute(0, 1, 4, 2, 3)
    members = [
        F.conv_transpose2d(images[i], taps[i], bias[i], 2, 1)
        if isinstance(layer, ConvTranspose)
        else F.conv2d(images[i], taps[i], bias[i], 2, layer.padding)
        for i in range(len(x))
    ]
    y = torch.stack(members).permute(0, 1, 3, 4, 2)
    return F.relu(y) if relu else y


def operator(layer):
    if isinstance(layer, ConvTranspose):
        return torch.ops.unknot.conv_up, 4, True
    return torch.ops.unknot.conv_down, layer.kernel, False


def tensors(layer, p, b, h, w, outputs, dtype=torch.float32):
    """Input, packed weight and bias."""
    x = draw(p, b, h, w, layer.channels, dtype=dtype, seed=1)
    if isinstance(layer, ConvTranspose):
        shape = (p, 4 * layer.channels, 4 * outputs)
    else:
        shape = (p, layer.kernel**2 * layer.channels, outputs)
    weight = draw(*shape, dtype=dtype, seed=2) / shape[1] ** 0.5
    return x, weight, draw(p, outputs, dtype=dtype, seed=3)


WAYS = ((False, False), (True, True))
"""Without the masks of ReLUs behind and before, and with them."""


def agree(layer, p, b, h, w, outputs, *, dtype=torch.float32, bound=2e-6, ways=WAYS):
    """Output and gradients."""
    values = tensors(layer, p, b, h, w, outputs, dtype)
    op, kernel, phases = operator(layer)
    for relu, rectified in ways:
        ours = [v.clone().requires_grad_() for v in values]
        theirs = [v.double().requires_grad_() for v in values]
        y = op(*ours, None, kernel, phases, relu, rectified)
        expected = reference(layer, *theirs, relu)
        assert y.shape == expected.shape
        assert y.dtype == dtype
        upstream = draw(*y.shape, dtype=dtype, seed=4)
        # The layer behind hands a gradient down that its ReLU's mask is on already.
        masked = upstream * (expected > 0) if relu else upstream
        found = [y, *torch.autograd.grad(y, ours, masked.to(dtype))]
        wanted = [expected, *torch.autograd.grad(expected, theirs, upstream.double())]
        if rectified:
            wanted[1] = wanted[1] * (values[0] > 0)
        for name, f, e in zip(("output", "input", "weight", "bias"), found, wanted, strict=True):
            assert f.shape == e.shape, name
            error = (f.double() - e).norm() / e.norm()
            assert error < bound, f"{name}: {error:.2e}"


LAYERS = {
    "conv64 1": (Conv(4, 2, 1, 1), 8, 8, 32),
    "conv64 2": (Conv(4, 2, 1, 32), 4, 4, 32),
    "conv64 3": (Conv(4, 2, 1, 32), 4, 4, 64),
    "conv64 4": (Conv(4, 2, 1, 64), 4, 4, 64),
    "locatello 3": (Conv(2, 2, 0, 32), 4, 4, 64),
    "locatello 4": (Conv(2, 2, 0, 64), 4, 4, 64),
    "deconv 1": (ConvTranspose(64), 2, 2, 64),
    "deconv 2": (ConvTranspose(64), 2, 2, 32),
    "deconv 3": (ConvTranspose(32), 2, 2, 32),
    "deconv 4": (ConvTranspose(32), 4, 4, 1),
    "deconv 4, colour": (ConvTranspose(32), 4, 4, 3),
}


# The interpreter is slow, and its arithmetic does not depend on how blocks are cut for a GPU.
SOME = ["conv64 3", "locatello 3", "deconv 2"]


@on_device
@pytest.mark.parametrize("name", SOME if INTERPRETED else LAYERS)
def test_layers_of_the_nets(name):
    layer, h, w, outputs = LAYERS[name]
    agree(layer, 2, 1, h, w, outputs, ways=WAYS[1:])


@on_device
@pytest.mark.parametrize("ones", [False, True])
@pytest.mark.parametrize("name", ["locatello 3", "conv64 2", "deconv 4", "deconv 4, colour"])
def test_both_gradients_of_a_layer_in_one_kernel(name, ones, monkeypatch):
    layer, h, w, outputs = LAYERS[name]
    monkeypatch.setattr("unknot.engine.kernels.ops.joins", lambda *_: True)
    take_ones(monkeypatch, ones)
    agree(layer, 2, 1, h, w, outputs)


def take_ones(monkeypatch, ones):
    """Sums for the bias as products, whatever the shape."""
    usual = configs._usual
    monkeypatch.setattr(configs, "_usual", lambda *a: replace(usual(*a), ones=ones))


@on_device
@pytest.mark.parametrize("name", ["conv64 1", "locatello 3", "deconv 2", "deconv 4, colour"])
def test_sums_for_the_bias_as_products_with_ones(name, monkeypatch):
    layer, h, w, outputs = LAYERS[name]
    take_ones(monkeypatch, True)
    agree(layer, 2, 1, h, w, outputs, ways=WAYS[1:])


FULL = {
    "conv64 2": 16, "locatello 3": 8, "locatello 4": 4, "deconv 4": 32, "deconv 4, colour": 32,
}  # fmt: skip
"""Height of the small image."""


@on_gpu
@pytest.mark.parametrize("name", FULL)
@pytest.mark.parametrize(("dtype", "bound"), [(torch.bfloat16, 1e-2), (torch.float32, 2e-6)])
@pytest.mark.parametrize("joint", [False, True])
def test_gradients_in_one_kernel_and_in_two_at_full_size(name, dtype, bound, joint, monkeypatch):
    layer, _, _, outputs = LAYERS[name]
    side = FULL[name] * (1 if "de" in name else 2)
    monkeypatch.setattr("unknot.engine.kernels.ops.joins", lambda *_: joint)
    agree(layer, 4, 64, side, side, outputs, dtype=dtype, bound=bound)


SIZES = {"p": st.integers(1, 2), "b": st.integers(1, 2), "way": st.sampled_from(WAYS)}
CHANNELS = st.sampled_from([1, 2, 5, 17])


@on_device
@given(
    **SIZES,
    h=st.integers(1, 3),
    w=st.integers(1, 4),
    channels=CHANNELS,
    outputs=CHANNELS,
    kernel=st.sampled_from([2, 4]),
)
@settings(max_examples=5)
def test_any_even_image_is_halved(p, b, way, h, w, channels, outputs, kernel):
    layer = Conv(kernel, 2, kernel // 2 - 1, channels)
    agree(layer, p, b, 2 * h, 2 * w, outputs, ways=[way])


@on_device
@given(**SIZES, h=st.integers(1, 3), w=st.integers(1, 4), channels=CHANNELS, outputs=CHANNELS)
@settings(max_examples=5)
def test_any_image_is_doubled(p, b, way, h, w, channels, outputs):
    agree(ConvTranspose(channels), p, b, h, w, outputs, ways=[way])


@on_device
@pytest.mark.parametrize(
    ("layer", "outputs"), [(Conv(4, 2, 1, 1), 4), (Conv(4, 2, 1, 8), 4), (ConvTranspose(8), 8)]
)
def test_sums_over_many_rows_are_split_and_added_up(layer, outputs, monkeypatch):
    """More rows than one program takes: more partial sums than are added at a time, or fewer."""
    monkeypatch.setattr(configs, "FEWEST", 96)
    phases = isinstance(layer, ConvTranspose)
    big, small = (outputs, layer.channels) if phases else (layer.channels, outputs)
    few = big <= 4
    shape = Shape("weight_gradient_few" if few else "weight_gradient", 19, big, small, 4, phases)
    rows = 19**2 if few else 20**2
    parts = splits(config(shape, "float32", (0, 0), rows, 1), shape, rows, 1)
    assert parts > 4
    assert parts % 16 > 0
    agree(layer, 1, 1, *((19, 19) if phases else (38, 38)), outputs, ways=WAYS[:1])


@on_device
@pytest.mark.parametrize("layer", [Conv(4, 2, 1, 3), Conv(2, 2, 0, 17), ConvTranspose(17)])
def test_the_smaller_cuts_of_a_lone_model(layer, monkeypatch):
    """There are never programs enough, so each kernel is cut as small as it goes."""
    monkeypatch.setattr(configs, "FEWEST", 10**9)
    agree(layer, 1, 1, 6, 6, 40 if isinstance(layer, Conv) else 9, ways=WAYS[1:])


def rows_of(shape):
    """Rows of a member with 64 images."""
    windows = shape.kernel in ("conv_up", "weight_gradient")
    return 64 * (shape.height + (shape.size // 2 - 1 if windows else 0)) ** 2


@pytest.mark.parametrize("shape", dict.fromkeys(chain(*TUNED.values())), ids=str)
@pytest.mark.parametrize("precision", TUNED)
def test_a_lone_model_has_programs_for_all_of_a_gpu(shape, precision, monkeypatch):
    """And 64 members, who fill it anyhow, are cut as they were tuned."""
    monkeypatch.setattr(configs, "FEWEST", 96)
    rows = rows_of(shape)
    alone = config(shape, precision, (9, 0), rows, 1)
    assert programs(alone, shape, rows, 1) >= 96
    assert min(alone.bm, alone.bn, alone.bk) >= 16
    together = config(shape, precision, (9, 0), rows, 64)
    assert together == TUNED[precision].get(shape, together)
    if shape.kernel in ("conv_down", "conv_up"):
        assert alone.bk == together.bk


@on_gpu
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("dtype", "bound"), [(torch.bfloat16, 1e-2), (torch.float32, 2e-3)])
def test_low_precision_at_full_size(name, dtype, bound):
    """bfloat16, and float32 by tf32: as far from float64 as their rounding."""
    torch.backends.cuda.matmul.allow_tf32 = True
    layer, _, _, outputs = LAYERS[name]
    agree(layer, 4, 64, 16, 16, outputs, dtype=dtype, bound=bound)


@on_gpu
@pytest.mark.parametrize("name", LAYERS)
def test_two_runs_and_a_captured_one_are_equal_bit_for_bit(name):
    layer, _, _, outputs = LAYERS[name]
    values = [v.requires_grad_() for v in tensors(layer, 3, 64, 16, 16, outputs, torch.bfloat16)]
    op, kernel, phases = operator(layer)

    def once():
        y = op(*values, None, kernel, phases, False, True)
        return [y.detach(), *torch.autograd.grad(y.square().sum(), values)]

    first, second = once(), once()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = once()
    graph.replay()
    for a, b, c in zip(first, second, captured, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, c)
