"""Steps compiled and captured: the same bits, and a way on where either fails.

There is no GPU here. Streams and graphs are stood in for; the compiler is PyTorch's own for C++.
"""

import os
import subprocess
import sys
import warnings
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
import torch

from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.optim import Adam
from unknot.data.parts.images import Bytes, StoredVariants, Streamed
from unknot.engine import capture, kernels
from unknot.engine.context import Context
from unknot.engine.device import runtime
from unknot.engine.kernels import SlowerWarning
from unknot.engine.population import Member
from unknot.engine.stacked import Stacked
from unknot.nets.linear import Linear
from unknot.objectives.beta_vae import BetaVAE
from unknot.samplers.parts.split import RowSplit

SPACE = FactorSpace(("row",), (40,), ("nominal",))
STORED = torch.arange(40 * 16).reshape(40, 1, 4, 4).remainder(251).to(torch.uint8)
DATA = FactorDataset("bytes", SPACE, Bytes(STORED))


class Graph:
    """A graph that calls the step again instead of its kernels."""

    def __init__(self, step):
        self.replay = step


class Recorder:
    """Stand-ins for what a GPU has; which of them fail is set by name."""

    def __init__(self, monkeypatch, fails=()):
        self.fails, self.compiled, self.graphs = fails, [], 0
        monkeypatch.setattr(torch, "compile", self.compile)
        monkeypatch.setattr(capture, "capture_graph", self.capture)
        for name in ("Stream", "current_stream"):
            monkeypatch.setattr(torch.cuda, name, lambda: self)
        monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
        kernels.slower.cache_clear()

    def wait_stream(self, other):
        pass

    def compile(self, function, *, dynamic):
        assert dynamic is False
        self.compiled.append(function)
        if "compiler" not in self.fails:
            return function

        def broken(*_, **__):
            raise RuntimeError("no C compiler\nat all")

        return broken

    def capture(self, step):
        self.graphs += 1
        if "graph" in self.fails:
            raise RuntimeError("operation not permitted when stream is capturing")
        return Graph(step).replay


def population(precision="float32", dataset=DATA, split=None):
    context = Context(dataset, Linear(latents=2), 8, runtime("cpu", precision), split=split)
    each = [Member(s, BetaVAE(beta=b), Adam(lr=1e-3)) for s, b in ((0, 1.0), (7, 4.0))]
    return Stacked.fresh(context, each)


def repeated(ours):
    """The step as on a GPU, in place of the plain one of a CPU."""
    ours.replay = ours.prepare(graph=True)
    return ours


def both(precision="float32", dataset=DATA):
    """States and logs after some steps: as on a GPU, and plain."""
    results = []
    for ours in (repeated(population(precision, dataset)), population(precision, dataset)):
        log = ours.advance(0, 5)
        results.append({**ours.state(), **log})
    return results


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("fails", [(), ("compiler",), ("graph",), ("compiler", "graph")])
def test_whatever_fails_the_run_is_the_same(monkeypatch, fails, precision):
    recorder = Recorder(monkeypatch, fails)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ours, plain = both(precision)
    assert ours.keys() == plain.keys()
    for name, value in plain.items():
        assert torch.equal(ours[name], value), name
    assert recorder.graphs == 1
    assert [w.category for w in said] == [SlowerWarning] * len(fails)
    texts = [str(w.message) for w in said]
    assert all("\n" not in text for text in texts)
    if "compiler" in fails:
        assert texts[0].endswith("RuntimeError: no C compiler")
    if "graph" in fails:
        assert "RuntimeError: operation not permitted when stream is capturing" in texts[-1]


def test_it_is_said_once_for_many_populations(monkeypatch):
    Recorder(monkeypatch, ("compiler",))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(3):
            repeated(population())
    assert len(said) == 1


def test_a_user_of_the_command_line_sees_one_line():
    code = (
        "from unknot.cli import main\n"
        "from unknot.engine.kernels import slower\n"
        "main.app = lambda **_: [slower('Slower, because: reasons') for _ in range(2)] and None\n"
        "main.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "SlowerWarning: Slower, because: reasons\n"


@pytest.mark.parametrize("kernels_work", [True, False])
def test_without_kernels_convolutions_are_windows(monkeypatch, kernels_work):
    """Whatever keeps them from running: said once for a device, in one line."""
    kernels.ready.cache_clear()
    kernels.slower.cache_clear()
    monkeypatch.setitem(sys.modules, "triton", None if not kernels_work else sys)
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setitem(
        sys.modules, "unknot.engine.kernels.ops", SimpleNamespace(trial=lambda _: None)
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = [kernels.ready(torch.device("cuda", 3)) for _ in range(3)]
    kernels.ready.cache_clear()
    assert found == [kernels_work] * 3
    assert len(said) == (0 if kernels_work else 1)
    assert all("cuda:3: ModuleNotFoundError" in str(w.message) for w in said)


@dataclass(frozen=True)
class Broken:
    """An objective that fails."""

    error: Exception

    def terms(self, net, step):
        raise self.error


@pytest.mark.parametrize("error", [ConfigError("bad"), torch.OutOfMemoryError("CUDA")])
def test_what_a_slower_way_would_not_help_is_raised(monkeypatch, error):
    recorder = Recorder(monkeypatch)
    context = Context(DATA, Linear(latents=2), 8, runtime("cpu"))
    ours = Stacked.fresh(context, [Member(0, Broken(error), Adam())])
    with pytest.raises(type(error)):
        ours.prepare(graph=True)
    assert recorder.graphs == 0


@dataclass(frozen=True)
class InNumPy:
    """Images that leave PyTorch on the way."""

    shape: tuple[int, int, int] = (1, 4, 4)

    def pixels(self, index):
        return torch.from_numpy(STORED.numpy()[index.numpy()]).float() / 255

    def to(self, device):
        return self


def test_images_that_cannot_be_compiled_are_made_as_they_are(monkeypatch):
    """The losses are compiled all the same, and nobody is warned: some small kernels are little."""
    recorder = Recorder(monkeypatch)
    compile_all = recorder.compile

    def compiler(function, *, dynamic):
        if function.__name__ != "_images":
            return compile_all(function, dynamic=dynamic)

        def broken(_):
            raise RuntimeError("numpy")

        return broken

    monkeypatch.setattr(torch, "compile", compiler)
    ours, plain = both(dataset=replace(DATA, images=InNumPy()))
    for name, value in plain.items():
        assert torch.equal(ours[name], value), name
    assert {f.__name__ for f in recorder.compiled} == {"<lambda>", "_losses", "update"}


@pytest.mark.parametrize("split", [None, RowSplit()])
def test_streamed_images_are_brought_to_a_graph_that_reads_one_place(monkeypatch, split):
    """A graph on a GPU reads the memory that it was captured with."""
    recorder = Recorder(monkeypatch)
    streamed = replace(DATA, images=StoredVariants(Streamed(DATA.images, torch.device("cpu")), 1))
    assert streamed.streamed
    assert not DATA.streamed
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ours = population(dataset=streamed, split=split)
        ours = repeated(ours)
        place = ours.feed.batch.data_ptr()
        log = ours.advance(0, 5)
    assert (recorder.graphs, said) == (1, [])
    assert ours.feed.batch.data_ptr() == place
    resident = population(dataset=DATA, split=split)
    expected = {**resident.advance(0, 5), **resident.state()}
    for name, value in {**log, **ours.state()}.items():
        assert torch.equal(value, expected[name]), name


def test_a_function_that_the_compiler_alters_is_left_as_it_is(monkeypatch):
    def draw(x):
        return x * 3

    def altered(x):
        return torch.where(x == 31, 0, x * 3)

    trials = [(torch.tensor(i),) for i in range(32)]
    monkeypatch.setattr(capture, "compile_function", lambda _: altered)
    assert capture.same_bits(draw, trials) is draw
    assert capture.same_bits(draw, trials[:31]) is altered


def test_the_copies_that_networks_use_follow_the_weights():
    """In bfloat16, and after a load; in float32 they are the weights."""
    ours = population("bf16")
    ours.advance(0, 3)
    other = population("bf16")
    other.load(ours.state())
    for name, weight in ours.weights.items():
        assert weight.dtype == torch.float32
        assert ours.used[name].dtype == torch.bfloat16
        assert torch.equal(ours.used[name], weight.bfloat16())
        assert torch.equal(other.used[name], ours.used[name])
    plain = population()
    assert all(plain.used[name] is weight for name, weight in plain.weights.items())


@pytest.mark.slow
def test_compiled_draws_and_images_have_the_same_bits(tmp_path):
    """In a process of its own: the compiler cannot look through the type checks of these tests.

    Philox multiplies past 63 bits. Triton wraps around, C++ need not and does not, so its compiler
    is told to.
    """
    compiler = tmp_path / "c++"
    compiler.write_text('#!/bin/sh\nexec c++ "$@" -fwrapv -O0\n')
    compiler.chmod(0o755)
    environment = {
        **os.environ,
        "CXX": str(compiler),
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-W", "ignore", "-c", COMPARED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert [line for line in lines if not line.endswith(" True")] == []


COMPARED = """
import torch
import torch._inductor.config
from unknot.core import noise
from unknot.core.factors import FactorSpace
from unknot.core.dataset import FactorDataset
from unknot.data.parts.images import Bits, Bytes
from unknot.samplers.parts.weights import Correlated, Without
from unknot.samplers.pairs import Pairs
from unknot.samplers.singles import Singles
from unknot.samplers.triplets import Triplets
from unknot.data.xysquares import XYSquares
from unknot.engine import capture

weights = (Correlated("x_r", "y_r"), Without(("x_g", "y_g"), (0, 0), (3, 3)))
data, cpu = XYSquares().load(), torch.device("cpu")
seeds = torch.tensor([0, 1, 2**40 + 5])
stored = noise.integers(1, "blobs", 0, 64, 512, high=256).to(torch.uint8)
space = FactorSpace(("row",), (64,), ("nominal",))

torch._inductor.config.cpp.simdlen = 1  # plain loops take the least time to compile

def report(names, functions, trials):
    # All in one, as each that is compiled takes seconds.
    every = lambda *inputs: [function(*inputs) for function in functions]
    whole = torch.compile(every, dynamic=False, fullgraph=True)
    pairs = [zip(whole(*one), every(*one), strict=True) for one in trials]
    for name, *same in zip(names, *([torch.equal(*two) for two in one] for one in pairs)):
        print(name, all(same), flush=True)

with capture.compiler_settings():
    draws = (Singles(weights), Pairs(), Triplets())
    rows = [draw.bind(data, cpu) for draw in draws]
    steps = [(seeds, torch.tensor(t)) for t in (0, 17, 18, 2**33 + 1, *range(100, 120))]
    report(draws, [lambda order, t, row=row: row(order, t, 16) for row in rows], steps)
    images = (
        FactorDataset("bits", space, Bits(stored, (1, 64, 64))),
        FactorDataset("bytes", space, Bytes(stored.reshape(64, 2, 16, 16))),
        data,
    )
    index = noise.integers(torch.tensor([3, 4]), "order", 0, 16, high=2**40)
    batches = [lambda index, one=one: one.at(index % len(one)) for one in images]
    report([one.name for one in images], batches, [(index,)])
"""
