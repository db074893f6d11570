"""A training step as fast as a GPU runs it: compiled, and captured as one CUDA graph.

Both are more than PyTorch alone can promise: there may be no compiler on the machine, or code in an
objective or a dataset that cannot be captured. What fails is left out, the rest is kept, and a
`SlowerWarning` says so once.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import UnknotError
from unknot.core.objective import Objective, Step
from unknot.engine.compiled import keep_compiled
from unknot.engine.context import Rows, State
from unknot.engine.kernels import first_line, slower
from unknot.engine.labels import Labels
from unknot.losses.overlap import learnt_kernel

Losses: TypeAlias = Callable[[State, State, Objective, Step], tuple[Tensor, State, State]]
WARM = 3
"""Steps before a capture: compilers, libraries and the allocator settle down."""

TRIALS = 32
"""Steps whose row numbers are compared with those of the uncompiled sampler."""


@dataclass(frozen=True)
class Parts:
    """What a step calls, each as it is or compiled."""

    rows: Rows
    images: Callable[[Tensor], Tensor]
    labels: Labels
    losses: Losses
    update: Callable[..., None]


def fastest(
    parts: Parts, train: Callable[[Parts], None], order: Tensor, t: Tensor
) -> Callable[[], None]:
    """The step as a call that repeats it; some steps are taken on the way.

    Args:
        parts: What a step is made of.
        train: A step.
        order: Seeds to draw rows with.
        t: The step counter.
    """
    with compiler_settings():
        ahead = [(order, t + i) for i in range(TRIALS)]
        rows = same_bits(parts.rows, ahead)
        images = same_bits(parts.images, [(parts.rows(*batch),) for batch in ahead[:WARM]])
        parts = replace(parts, rows=rows, images=images)
        try:
            losses, update = (compile_function(part) for part in (parts.losses, parts.update))
            step = partial(train, replace(parts, losses=losses, update=update))
            _warm(step)
        except Exception as error:
            _refuse(error)
            slower(f"Training runs without PyTorch's compiler, and slower: {first_line(error)}")
            step = partial(train, parts)
            _warm(step)
        try:
            return capture_graph(step)
        except Exception as error:
            _refuse(error)
            slower(
                "Training runs without a CUDA graph, and slower; a graph holds nothing that waits "
                f"for the GPU or copies to it: {first_line(error)}"
            )
            return step


def compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function compiled for the shapes that it is called with."""
    call: Callable[..., Any] = torch.compile(function, dynamic=False)
    return call


def same_bits(
    function: Callable[..., Tensor], trials: Sequence[tuple[Tensor, ...]]
) -> Callable[..., Tensor]:
    """A function compiled, if that gives the bits that it gives as it is; else as it is.

    Which images come, and how they look, must not depend on a compiler. One that takes overflow of
    signed integers for impossible, as C++ does, draws other rows; one that divides by approximation
    makes other images.
    """
    faster = compile_function(function)
    try:
        with _exact_division():
            same = all(torch.equal(faster(*trial), function(*trial)) for trial in trials)
    except Exception as error:  # such as NumPy in a dataset of one's own
        _refuse(error)
        return function
    return faster if same else function


def capture_graph(step: Callable[[], None]) -> Callable[[], None]:
    """A step as one CUDA graph, which repeats its kernels without the host."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def _warm(step: Callable[[], None]) -> None:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM):
            step()
    torch.cuda.current_stream().wait_stream(stream)


def _refuse(error: Exception) -> None:
    """Raise what a slower way would not help."""
    if isinstance(error, UnknotError | torch.OutOfMemoryError):
        raise error


def _exact_division() -> AbstractContextManager[object]:
    """Let what is compiled here round its divisions as PyTorch does, where it can be asked to."""
    from torch._inductor import config

    if hasattr(getattr(config, "eager_numerics", None), "division_rounding"):
        exact: AbstractContextManager[object] = config.patch(
            "eager_numerics.division_rounding", True
        )
        return exact
    return nullcontext()


@contextmanager
def compiler_settings() -> Iterator[None]:
    """Let PyTorch's compiler take on a step: what is constant to it, and its limits."""
    keep_compiled()
    # The compiler cannot look into zlib or a file; these are constants to it.
    torch.compiler.assume_constant_result(noise.stream_number)
    torch.compiler.assume_constant_result(learnt_kernel)
    # Each population is compiled once, for its own shapes. The limit counts them all together,
    # and past it the step would run eagerly without a word.
    limits = torch._dynamo.config.patch(recompile_limit=10_000, accumulated_recompile_limit=10_000)
    with limits, warnings.catch_warnings():
        # float32 without tf32 is what the user chose; the compiler need not advise against it.
        warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
        # Fourier transforms of a learnt kernel's blur run as they are.
        warnings.filterwarnings("ignore", message="Torchinductor does not support code gen")
        yield
