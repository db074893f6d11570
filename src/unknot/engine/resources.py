"""What this machine has for training, and what will be slow on it and why."""

import os
import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import torch

from unknot.engine.device import cores

FEW_CORES = 4
LITTLE_MEMORY = 8 * 2**30


@dataclass(frozen=True)
class Gpu:
    """A GPU that PyTorch sees."""

    name: str
    memory: int
    capability: tuple[int, int]


@dataclass(frozen=True)
class Resources:
    """Software and hardware that training makes use of."""

    python: str
    system: str
    torch: str
    cuda: str | None
    """The version of CUDA that PyTorch was built for; None for a build without."""
    gpus: tuple[Gpu, ...]
    triton: str | None
    compiler: str | None
    """The C compiler that Triton and PyTorch build their kernels with."""
    cores: int
    memory: int | None
    """Of the machine, in bytes; None where the system does not say."""


def find_resources() -> Resources:
    """Look around, without starting anything on a GPU."""
    gpus = [torch.cuda.get_device_properties(k) for k in range(torch.cuda.device_count())]
    return Resources(
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        torch=torch.__version__,
        cuda=torch.version.cuda,
        gpus=tuple(Gpu(g.name, g.total_memory, (g.major, g.minor)) for g in gpus),
        triton=_version("triton"),
        compiler=next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None),
        cores=cores(),
        memory=_memory(),
    )


def describe_slow(resources: Resources) -> list[str]:
    """What will be slow and why, a sentence each; none where nothing will be.

    Example:
        >>> fast = Resources("3.12", "Linux", "2.11", "12.8", (Gpu("H200", 2**37, (9, 0)),), "3.6",
        ...                  "/usr/bin/cc", 16, 2**37)
        >>> describe_slow(fast)
        []
    """
    reasons = []
    if not resources.gpus:
        why = (
            "PyTorch is a build without CUDA"
            if resources.cuda is None
            else "PyTorch sees none, though it is built for CUDA"
        )
        reasons.append(f"No GPU ({why}): models train one after the other on the CPU.")
    else:
        if resources.triton is None:
            reasons.append("No Triton: models on the GPU train without our kernels.")
        if resources.compiler is None:
            reasons.append("No C compiler: nothing can be compiled for the GPU.")
        old = [gpu.name for gpu in resources.gpus if gpu.capability < (8, 0)]
        if old:
            reasons.append(f"{', '.join(old)}: no bf16 and no tf32; train in float32.")
    if not resources.gpus and resources.cores < FEW_CORES:
        reasons.append(f"{resources.cores} CPU cores: studies train as many models at a time.")
    if resources.memory is not None and resources.memory < LITTLE_MEMORY:
        gib = resources.memory / 2**30
        reasons.append(f"{gib:.0f} GiB of memory: large datasets are read from the disk.")
    return reasons


def _version(package: str) -> str | None:
    if find_spec(package) is None:
        return None
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown version"


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # of other systems
        return None
