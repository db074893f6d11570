"""The layers that kernels are timed on, by ``bench/kernels.py`` and ``bench/kernel_tuning.py``."""

import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor

from unknot.engine.kernels.shape import Shape
from unknot.engine.layers import Conv, ConvTranspose

MEMBERS, BATCH = 64, 64


@dataclass(frozen=True)
class Case:
    """A layer: sizes of its small image, channels of big and small, kernel, transposed or not."""

    name: str
    height: int
    cb: int
    cs: int
    size: int
    phases: bool

    @property
    def big(self) -> tuple[int, ...]:
        return MEMBERS, BATCH, 2 * self.height, 2 * self.height, self.cb

    @property
    def small(self) -> tuple[int, ...]:
        return MEMBERS, BATCH, self.height, self.height, self.cs

    @property
    def weight(self) -> tuple[int, ...]:
        if self.phases:
            return MEMBERS, 4 * self.cs, 4 * self.cb
        return MEMBERS, self.size**2 * self.cb, self.cs

    @property
    def bias(self) -> tuple[int, ...]:
        return MEMBERS, self.cb if self.phases else self.cs

    @property
    def flops(self) -> float:
        return 2 * math.prod(self.small) * self.size**2 * self.cb

    @property
    def layer(self) -> Conv | ConvTranspose:
        if self.phases:
            return ConvTranspose(self.cs)
        return Conv(self.size, 2, self.size // 2 - 1, self.cb)

    def shape(self, kernel: str) -> Shape:
        if kernel == "joint":
            kernel = "joint_up" if self.phases else "joint_down"
        if kernel == "weight_gradient" and self.cb <= 4:
            kernel = "weight_gradient_few"
        return Shape(kernel, self.height, self.cb, self.cs, self.size, self.phases)


CASES = (
    Case("conv1", 32, 1, 32, 4, False),
    Case("conv2", 16, 32, 32, 4, False),
    Case("conv3", 8, 32, 64, 4, False),
    Case("conv4", 4, 64, 64, 4, False),
    Case("deconv1", 4, 64, 64, 4, True),
    Case("deconv2", 8, 32, 64, 4, True),
    Case("deconv3", 16, 32, 32, 4, True),
    Case("deconv4", 32, 1, 32, 4, True),
    Case("conv1rgb", 32, 3, 32, 4, False),
    Case("deconv4rgb", 32, 3, 32, 4, True),
    Case("locatello3", 8, 32, 64, 2, False),
    Case("locatello4", 4, 64, 64, 2, False),
)


def random(*shape: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    return torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype)


def use(precision: str) -> torch.dtype:
    """The type of images in a precision, in which products are computed from now on."""
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    return torch.bfloat16 if precision == "bf16" else torch.float32


def say(*words: object) -> None:
    print(*words, flush=True)


class Clock:
    """What is left of the seconds that a part may take."""

    def __init__(self, seconds: float) -> None:
        self.end = time.perf_counter() + seconds

    def over(self) -> bool:
        return time.perf_counter() > self.end
