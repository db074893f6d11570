"""Kernels are compiled when their arguments are fake, and run when they are numbers."""

import sys
import threading
import types

import pytest
import torch
from torch._subclasses import FakeTensorMode

from unknot.engine.kernels import launch


class Kernel:
    """One that notes what becomes of it."""

    def __init__(self, fails=False):
        self.heard, self.go, self.fails = [], threading.Event(), fails

    def warmup(self, *arguments, grid, **options):
        self.go.wait()
        if self.fails:
            raise RuntimeError("no compiler")
        self.heard.append(("compiled", arguments, options))

    def __getitem__(self, grid):
        return lambda *arguments, **options: self.heard.append(("run", grid, arguments, options))


with FakeTensorMode():  # before Triton is replaced, which this imports
    FAKE = {size: torch.empty(size) for size in (2, 3)}


@pytest.fixture(autouse=True)
def mock(monkeypatch):
    """Triton's stand-in for a tensor, where there is no Triton."""
    jit = types.ModuleType("triton.runtime.jit")
    jit.MockTensor = lambda dtype, shape: (dtype, shape)
    monkeypatch.setitem(sys.modules, "triton", types.ModuleType("triton"))
    monkeypatch.setitem(sys.modules, "triton.runtime", types.ModuleType("triton.runtime"))
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", jit)


def test_the_first_launch_on_numbers_waits_for_what_compiles():
    kernel, x = Kernel(), torch.ones(3)
    launch.launch(kernel, (4,), FAKE[3], 7, num_warps=2)
    assert kernel.heard == []
    threading.Timer(0.2, kernel.go.set).start()
    launch.launch(kernel, (4,), x, 7, num_warps=2)
    compiled = ("compiled", ((torch.float32, (3,)), 7), {"num_warps": 2})
    assert kernel.heard == [compiled, ("run", (4,), (x, 7), {"num_warps": 2})]
    assert launch.pending == []


def test_what_is_asked_again_is_compiled_once():
    kernel = Kernel()
    kernel.go.set()
    for size in (2, 2, 3):
        launch.launch(kernel, (1,), FAKE[size], 7)
    launch.launch(kernel, (1,), FAKE[2], 8)
    launch.launch(Kernel(), (1,), torch.ones(2))
    assert {arguments for _, arguments, _ in kernel.heard} == {
        ((torch.float32, (2,)), 7), ((torch.float32, (2,)), 8), ((torch.float32, (3,)), 7),
    }  # fmt: skip


def test_a_failure_is_left_to_the_launch_on_numbers():
    kernel, x = Kernel(fails=True), torch.ones(2)
    kernel.go.set()
    launch.launch(kernel, (1,), FAKE[2])
    launch.launch(kernel, (1,), x)
    assert [what for what, *_ in kernel.heard] == ["run"]
