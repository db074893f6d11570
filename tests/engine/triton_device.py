"""Where tests of Triton's kernels run: on a GPU, or in Triton's interpreter where there is one."""

import importlib.util
import os
import warnings

import pytest
import torch

from unknot.engine.kernels import configs

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


@pytest.fixture(autouse=True)
def operators(monkeypatch):
    """`torch.ops.unknot`, and float32 products in full precision."""
    if INTERPRETED:
        # Its time goes by programs: few large ones, unless a test is about small ones.
        monkeypatch.setattr(configs, "FEWEST", 1)
    if INTERPRETED or (INSTALLED and torch.cuda.is_available()):
        import unknot.engine.kernels.ops  # noqa: F401
    if not INTERPRETED and torch.cuda.is_available():
        with warnings.catch_warnings():  # the thread of gradients says once that it has no context
            warnings.simplefilter("ignore")
            one = torch.ones(1, 1, device="cuda", requires_grad=True)
            (one @ one).sum().backward()
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    yield
    torch.backends.cuda.matmul.allow_tf32 = before


def draw(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)
