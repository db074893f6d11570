"""Launches of kernels, compiled beside each other ahead of the first one.

PyTorch's compiler calls every operator with fake tensors, which have a shape and no numbers, long
before a step is run. A launch on these begins to compile the kernel in a thread, while the step is
compiled too; the first launch on numbers waits for all threads.
"""

import importlib
import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensor

COMPILERS = 8
"""Threads that compile at once; a third of the work is Python's, of which one thread does any."""
pending: list[Future[Any]] = []
"""Compilations that nobody has waited for."""
begun: set[tuple[object, ...]] = set()
"""What was compiled ahead, by kernel, device and arguments."""


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: int) -> None:
    """Run a kernel, or begin to compile it where its arguments are fake."""
    if any(isinstance(argument, FakeTensor) for argument in arguments):
        _compile_ahead(kernel, arguments, options)
        return
    if pending:
        wait(pending)  # one that failed fails again below, where it can be seen
        pending.clear()
    kernel[grid](*arguments, **options)


def _compile_ahead(kernel: Any, arguments: tuple[Any, ...], options: dict[str, int]) -> None:
    """Begin to compile a kernel for these arguments, once."""
    device = next(a.device for a in arguments if isinstance(a, Tensor))
    if any(isinstance(a, torch.SymInt) for a in arguments) or not hasattr(kernel, "warmup"):
        return
    shapes = [(a.dtype, tuple(a.shape)) if isinstance(a, Tensor) else a for a in arguments]
    key = (kernel, device, *shapes, *options.items())
    if key in begun:
        return
    begun.add(key)
    mock = importlib.import_module("triton.runtime.jit").MockTensor
    mocks = [mock(*a) if isinstance(a, tuple) else a for a in shapes]

    def compile_kernel() -> None:
        with torch.cuda.device(device if device.type == "cuda" else -1):
            kernel.warmup(*mocks, grid=(1,), **options)

    pending.append(_threads().submit(compile_kernel))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(min(COMPILERS, os.cpu_count() or 1), "compile a kernel")
