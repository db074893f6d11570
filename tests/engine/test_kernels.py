"""Triton kernels against PyTorch's convolutions in float64.

On a GPU the tests run there; elsewhere they run in Triton's interpreter, where Triton is installed,
in a process of their own: the interpreter is chosen by the environment before Triton is imported.
"""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from unknot.engine.kernels import configs
from unknot.engine.kernels.configs import TUNED, Shape, config, programs, splits
from unknot.engine.layers import Conv, ConvTranspose, stacked

INSTALLED = importlib.util.find_spec("triton") is not None
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = "cpu" if INTERPRETED else "cuda"

# Not among the tools for development: it comes with PyTorch for GPUs.
needs_triton = pytest.mark.skipif(not INSTALLED, reason="Triton is not installed")


def on_device(test):
    """Run in the interpreter, or on a GPU."""
    if INTERPRETED:
        return needs_triton(test)
    there = torch.cuda.is_available()
    return pytest.mark.gpu(needs_triton(pytest.mark.skipif(not there, reason="no GPU")(test)))


def on_gpu(test):
    there = torch.cuda.is_available() and not INTERPRETED
    return pytest.mark.gpu(needs_triton(pytest.mark.skipif(not there, reason="no GPU")(test)))


@needs_triton
@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="this is the interpreter")
def test_in_the_interpreter():
    environment = {**os.environ, "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


@pytest.fixture(autouse=True)
def operators(monkeypatch):
    """`torch.ops.unknot`, and float32 products in full precision."""
    if (
        INTERPRETED
    ):  # whose time goes by programs: few large ones, unless a test is about small ones
        monkeypatch.setattr(configs, "FEWEST", 1)
    if INTERPRETED or (INSTALLED and torch.cuda.is_available()):
        import unknot.engine.kernels.ops  # noqa: F401
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def draw(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


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
        return torch.ops.unknot.double, 4, True
    return torch.ops.unknot.halve, layer.kernel, False


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
    shape = Shape("correlate_few" if few else "correlate", 19, big, small, 4, phases)
    rows = 19**2 if few else 20**2
    parts = splits(config(shape, 4, (0, 0), rows, 1), shape, rows, 1)
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
    windows = shape.kernel in ("double", "correlate")
    return 64 * (shape.height + (shape.size // 2 - 1 if windows else 0)) ** 2


@pytest.mark.parametrize("shape", TUNED, ids=str)
@pytest.mark.parametrize("item", [2, 4])
def test_a_lone_model_has_programs_for_all_of_a_gpu(shape, item, monkeypatch):
    """And 64 members, who fill it anyhow, are cut as they were tuned."""
    monkeypatch.setattr(configs, "FEWEST", 96)
    rows = rows_of(shape)
    alone = config(shape, item, (9, 0), rows, 1)
    assert programs(alone, shape, rows, 1) >= 96
    assert min(alone.bm, alone.bn, alone.bk) >= 16
    together = config(shape, item, (9, 0), rows, 64)
    if item == 2:
        assert together == TUNED[shape]
    if shape.kernel in ("halve", "double"):
        assert alone.bk == together.bk


def nets():
    encoder = nn.Sequential(
        nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 5, 2, 2), nn.ReLU(),
        nn.Conv2d(5, 6, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 2 * 2, 3),
    )  # fmt: skip
    decoder = nn.Sequential(
        nn.Linear(3, 24), nn.ReLU(), nn.Unflatten(1, (6, 2, 2)),
        nn.ConvTranspose2d(6, 5, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(5, 4, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(4, 1, 4, 2, 1),
    )  # fmt: skip
    odd = nn.Sequential(  # 16, 8, 4, 3 (no kernel), 1 (odd: no kernel): both ways to change over
        nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 4, 4, 2, 1), nn.ReLU(),
        nn.Conv2d(4, 5, 2), nn.ReLU(), nn.Conv2d(5, 3, 4, 2, 1), nn.ReLU(), nn.Flatten(),
    )  # fmt: skip
    small = nn.Sequential(  # 14, 7, 3: the second is asked for a kernel and has none
        nn.Conv2d(1, 4, 4, 2, 1), nn.ReLU(), nn.Conv2d(4, 4, 4, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(4, 2, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    return [(encoder, (1, 16, 16)), (decoder, (3,)), (odd, (1, 16, 16)), (small, (1, 14, 14))]


def both(module, shape, dtype=torch.float32, p=3, b=4, compiler=None):
    """Outputs and gradients of a module with kernels and without."""
    weights = {n: draw(p, *w.shape, seed=5) / 4 for n, w in module.named_parameters()}
    x, found = draw(p, b, *shape, seed=6), []
    for kernels in (True, False):
        plan = stacked(module, kernels=kernels)
        packed = {n: plan.pack(n, w).requires_grad_() for n, w in weights.items()}
        image = x.clone().requires_grad_()

        def run(weights, image, plan=plan):  # casts inside, as in training
            return plan.run({n: w.to(dtype) for n, w in weights.items()}, image.to(dtype)).float()

        y = (compiler(run) if compiler and kernels else run)(packed, image)
        upstream = draw(*y.shape, seed=7)
        found.append([y.detach(), *torch.autograd.grad(y, [image, *packed.values()], upstream)])
    return found


@on_device
@pytest.mark.parametrize("which", range(4))
def test_a_traced_net_is_the_same_with_kernels_and_without(which):
    def compiler(run):
        return torch.compile(run, dynamic=False, backend="aot_eager", fullgraph=True)

    for ours, theirs in zip(*both(*nets()[which], p=1, b=2, compiler=compiler), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


@on_device
def test_numbers_without_a_kernel_take_the_plain_way():
    module, shape = nets()[0]
    plan = stacked(module.double(), kernels=True)
    packed = {
        n: plan.pack(n, draw(2, *w.shape, dtype=torch.float64))
        for n, w in module.named_parameters()
    }
    x = draw(2, 3, *shape, dtype=torch.float64)
    assert torch.equal(plan.run(packed, x), stacked(module).run(packed, x))


@on_gpu
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize(("dtype", "bound"), [(torch.bfloat16, 1e-2), (torch.float32, 2e-3)])
def test_low_precision_at_full_size(name, dtype, bound):
    """bfloat16, and float32 by tf32: as far from float64 as their rounding."""
    torch.backends.cuda.matmul.allow_tf32 = True
    layer, _, _, outputs = LAYERS[name]
    agree(layer, 4, 64, 16, 16, outputs, dtype=dtype, bound=bound)


@on_gpu
@pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores")  # off, as users choose it
@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_compiled_net_is_the_same(which, dtype):
    """As near to float32 without kernels as its own numbers come without kernels.

    In bfloat16 a ReLU near 0 falls either way: gradients of these nets are off by up to 6 %.
    """

    def compiler(run):
        return torch.compile(run, dynamic=False)

    net, close = nets()[which], {torch.float32: 1e-4, torch.bfloat16: 1e-2}[dtype]
    found = [*both(*net, dtype, compiler=compiler), both(*net)[1]]
    for place, (ours, theirs, right) in enumerate(zip(*found, strict=True)):
        far, usual = ((of - right).norm() / right.norm() for of in (ours, theirs))
        assert far < max(close, 1.5 * usual), (place, far, usual)


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
