"""Where and how precisely a population computes."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import torch

from unknot.core.border import check_type
from unknot.core.errors import ConfigError

Precision: TypeAlias = Literal["float32", "tf32", "bf16", "float64"]


@dataclass(frozen=True)
class Runtime:
    """A device and a precision.

    ``float32`` multiplies in full single precision, ``tf32`` in Nvidia's 19-bit format (GPU only),
    ``bf16`` runs the networks in bfloat16 with float32 weights, losses and optimiser; ``float64``
    is for checking.
    """

    device: torch.device
    precision: Precision = "float32"

    @property
    def dtype(self) -> torch.dtype:
        """What weights, losses and noise are held in."""
        return torch.float64 if self.precision == "float64" else torch.float32

    @property
    def compute(self) -> torch.dtype:
        """What the networks multiply in."""
        return torch.bfloat16 if self.precision == "bf16" else self.dtype

    @property
    def exact(self) -> "Runtime":
        """The same device, multiplying in what weights are held in.

        Codes and images are computed so, however a population is trained: codes of bfloat16 come in
        256 steps to a power of two, which scores that split them notice.
        """
        return self if self.precision == "float64" else replace(self, precision="float32")

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Compute here: on this device, with the process-wide tf32 switches at this precision.

        A CUDA graph is captured and replayed on the current device, whichever holds the tensors. A
        CPU has no such switches, and those of a user who has set them otherwise are left alone.
        """
        if self.device.type == "cpu":
            yield
            return
        switches: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
        before = [switch.allow_tf32 for switch in switches]
        try:
            for switch in switches:
                switch.allow_tf32 = self.precision == "tf32"
            with torch.cuda.device(self.device):
                yield
        finally:
            for switch, value in zip(switches, before, strict=True):
                switch.allow_tf32 = value


def runtime(device: str = "auto", precision: Precision = "float32") -> Runtime:
    """The runtime for a device name: ``auto``, ``cpu``, ``cuda`` or ``cuda:1``."""
    check_type("device", device, str)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(device)
    except RuntimeError:
        place = torch.device("meta")
    if place.type == "mps":
        raise ConfigError(
            "GPUs of Apple (mps) are not supported: they have no float64, in which noise and "
            "schedules are computed. Use the device cpu."
        )
    if place.type not in ("cpu", "cuda"):
        raise ConfigError(f"Devices are auto, cpu, cuda or cuda:N; got '{device}'.")
    if place.type == "cpu" and place.index not in (None, 0):
        raise ConfigError(f"There is one device cpu, without a number; got '{device}'.")
    if place.type == "cuda" and (place.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"Device '{device}' was asked for, but PyTorch sees {torch.cuda.device_count()} GPUs. "
            "Use --device cpu, or install a CUDA build of PyTorch."
        )
    if precision not in get_args(Precision):
        raise ConfigError(f"Precisions are {', '.join(get_args(Precision))}; got '{precision}'.")
    if precision == "tf32" and place.type == "cpu":
        raise ConfigError("Precision tf32 exists on GPUs only; use float32 or bf16 on the CPU.")
    return Runtime(place, precision)


def to_read(device: str, precision: Precision) -> Runtime:
    """The runtime to use trained weights in."""
    return Runtime(runtime(device).device, precision).exact


@contextmanager
def threads(count: int | None) -> Iterator[None]:
    """Compute with this many threads of the CPU, and afterwards with as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def cores() -> int:
    """Those that this process may use.

    Example:
        >>> cores() >= 1
        True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
