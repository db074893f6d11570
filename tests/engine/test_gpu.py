"""What must hold on a GPU; run by hand there: ``pytest -m gpu``."""

import warnings
from dataclasses import replace

import pytest
import torch

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.data.parts.images import Bits, Bytes, Streamed
from unknot.data.xysquares import XYSquares
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.encode import encode
from unknot.engine.kernels import SlowerWarning
from unknot.engine.looped import Looped
from unknot.engine.population import Member, populate
from unknot.engine.stacked import Stacked
from unknot.nets.conv64 import Conv64
from unknot.objectives.beta_vae import BetaVAE
from unknot.samplers.pairs import Pairs
from unknot.samplers.parts.weights import Correlated, Without
from unknot.samplers.singles import Singles
from unknot.samplers.triplets import Triplets

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def blobs() -> FactorDataset:
    stored = noise.integers(1, "blobs", 0, 512, 512, high=256).to(torch.uint8)
    space = FactorSpace(("row",), (512,), ("nominal",))
    return FactorDataset("blobs", space, Bits(stored, (1, 64, 64)))


MEMBERS = [
    Member(s, BetaVAE(beta=b), Adam(lr=lr))
    for s, b, lr in [(0, 1.0, 1e-3), (7, 4.0, 1e-4), (3, 16.0, 5e-4)]
]


def test_integers_are_the_same_on_both_devices():
    seeds = torch.tensor([0, 1, 2**40 + 5])
    for draw in (
        lambda s: noise.words(s, "z", 17, 1001),
        lambda s: noise.integers(s, "order", 2**33, 64, high=64**6),
        lambda s: noise.permutation(s, "shuffle", 3, 50, 4),
    ):
        assert torch.equal(draw(seeds), draw(seeds.cuda()).cpu())


WEIGHTS = (Correlated("x_r", "y_r"), Without(("x_g", "y_g"), (0, 0), (3, 3)))


@pytest.mark.parametrize(
    "draw",
    [
        Singles(WEIGHTS),
        Pairs(),
        Pairs(rule="reference"),
        Pairs(weights=WEIGHTS),
        Triplets(weights=WEIGHTS),
        Triplets(order="factors", ties="redrawn"),
        Triplets(order="recon"),
    ],
    ids=repr,
)
def test_draws_are_the_same_on_both_devices_and_can_be_captured(draw):
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    seeds, data = torch.tensor([0, 1, 2**40 + 5]), XYSquares().load()
    expected = [draw.bind(data, cpu)(seeds, torch.tensor(t), 64) for t in (17, 18)]
    rows, order, t = draw.bind(data.to(gpu), gpu), seeds.cuda(), torch.tensor(17, device=gpu)
    assert torch.equal(rows(order, t, 64).cpu(), expected[0])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = rows(order, t, 64)
    for step, same in zip((17, 18), expected, strict=True):
        t.fill_(step)
        graph.replay()
        assert torch.equal(found.cpu(), same)


def test_bits_unpack_the_same_on_both_devices():
    data, rows = blobs(), torch.arange(0, 512, 7)
    assert torch.equal(data.batch(rows), data.to(torch.device("cuda")).batch(rows.cuda()).cpu())


@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
def test_population_equals_alone(precision):
    """Loss curves agree to 1e-4 (float32), 1e-3 (tf32), 1e-2 (bf16) over 50 steps."""
    context = Context(blobs().to(torch.device("cuda")), Conv64(), 32, runtime("cuda", precision))
    together = populate(context, MEMBERS)
    assert isinstance(together, Stacked)
    alone = [populate(context, [member]) for member in MEMBERS]
    tolerance = {"float32": 1e-4, "tf32": 1e-3, "bf16": 1e-2}[precision]
    for start in range(0, 50, 10):
        ours = together.advance(start, 10)["loss"]
        theirs = torch.cat([a.advance(start, 10)["loss"] for a in alone])
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=0)


@pytest.mark.parametrize("channels", [1, 3])
def test_streamed_images_train_as_resident_ones(channels):
    """Bit for bit, in a CUDA graph, and the codes of both are alike."""
    stored = noise.integers(1, "bytes", 0, 300, channels, 64, 64, high=256).to(torch.uint8)
    space = FactorSpace(("row",), (300,), ("nominal",))
    host, gpu = FactorDataset("bytes", space, Bytes(stored)), torch.device("cuda")
    states = []
    for images in (host.images.to(gpu), Streamed(host.images, gpu)):
        data = replace(host, images=images)
        population = populate(Context(data, Conv64(), 32, runtime("cuda", "bf16")), MEMBERS)
        with warnings.catch_warnings():
            warnings.simplefilter("error", SlowerWarning)
            logs = [population.advance(start, 10) for start in (0, 10)]
        codes = encode(population, data, torch.arange(300)).mean
        losses = {f"{i} {name}": value for i, log in enumerate(logs) for name, value in log.items()}
        states.append({**population.state(), **losses, "codes": codes})
    assert data.streamed
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name]), name


def test_a_code_does_not_depend_on_the_rows_beside_it():
    """Bit for bit: scores ask for rows in portions that depend on who asks first."""
    context = Context(blobs().to(torch.device("cuda")), Conv64(), 32, runtime("cuda", "bf16"))
    population = populate(context, MEMBERS)
    index = torch.arange(511, -1, -1).repeat(2)[:700]
    codes = encode(population, context.dataset, index).mean
    for some in (torch.arange(3), torch.arange(690, 20, -1), torch.tensor([650])):
        assert torch.equal(encode(population, context.dataset, index[some]).mean, codes[:, some])


def test_gpu_equals_cpu():
    """The same run on another device: curves agree to 1e-4 over 30 steps in float32."""
    gpu = populate(
        Context(blobs().to(torch.device("cuda")), Conv64(), 32, runtime("cuda")), MEMBERS
    )
    cpu = Looped.fresh(Context(blobs(), Conv64(), 32, runtime("cpu")), MEMBERS)
    for start in range(0, 30, 10):
        ours, theirs = gpu.advance(start, 10)["loss"].cpu(), cpu.advance(start, 10)["loss"]
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=0)


def test_state_crosses_between_backends():
    context = Context(blobs().to(torch.device("cuda")), Conv64(), 32, runtime("cuda"))
    ours = populate(context, MEMBERS)
    ours.advance(0, 10)
    state = ours.state()
    again = populate(context, MEMBERS)
    again.load(state)
    torch.testing.assert_close(
        again.advance(10, 10)["loss"], ours.advance(10, 10)["loss"], rtol=0, atol=0
    )
    cpu = Looped.fresh(Context(blobs(), Conv64(), 32, runtime("cpu")), MEMBERS)
    cpu.load(state)
    for name, value in cpu.state().items():
        assert torch.equal(value, state[name]), name
