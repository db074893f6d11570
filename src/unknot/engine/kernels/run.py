"""Each kernel run on images: room for its output, and how it is cut into programs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from unknot.engine.kernels.configs import config, splits, tiles
from unknot.engine.kernels.convolutions import (
    add_up_kernel,
    conv_down_kernel,
    conv_up_kernel,
    weight_gradient_few_kernel,
    weight_gradient_kernel,
)
from unknot.engine.kernels.joint import joint_down_kernel, joint_up_kernel
from unknot.engine.kernels.launch import launch
from unknot.engine.kernels.shape import Config, Shape
from unknot.engine.kernels.tuned import tuned

FEW = 4
"""Up to so many channels of the big image, its windows cost less than the small image's."""


def _small(big: Tensor, weight: Tensor, phases: bool) -> tuple[int, ...]:
    p, b, height, width, _ = big.shape
    return p, b, height // 2, width // 2, weight.shape[1] // 4 if phases else weight.shape[2]


def _big(small: Tensor, weight: Tensor, phases: bool, kernel: int) -> tuple[int, ...]:
    p, b, height, width, _ = small.shape
    channels = weight.shape[2] // 4 if phases else weight.shape[1] // (kernel * kernel)
    return p, b, 2 * height, 2 * width, channels


def _products() -> str:
    """How float32 numbers are multiplied, as the engine has set it."""
    return "tf32" if torch.backends.cuda.matmul.allow_tf32 else "ieee"


def _precision(image: Tensor) -> str:
    """Of a layer, as users name it."""
    if image.element_size() == 2:
        return "bf16"
    return "tf32" if _products() == "tf32" else "float32"


def run_conv_down(
    big: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    kernel: int,
    phases: bool,
    relu: bool,
    how: Config | None = None,
) -> Tensor:
    """`conv_down` without gradients, cut as asked."""
    small = big.new_empty(_small(big, weight, phases))
    p, b, height, width, cs = small.shape
    cb, rows = big.shape[-1], b * height * width
    how = how or _config(big, Shape("conv_down", height, cb, cs, kernel, phases), rows, p)
    launch(
        conv_down_kernel, (-(-rows // how.bm), -(-cs // how.bn), p),
        big, weight, small if bias is None else bias, small if mask is None else mask, small, rows,
        height, width, cb, cs, kernel, phases,
        bias is not None, relu, mask is not None, _products(),
        how.bm, how.bn, how.bk, num_warps=how.warps, num_stages=how.stages,
    )  # fmt: skip
    return small


def run_conv_up(
    small: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    kernel: int,
    phases: bool,
    relu: bool,
    how: Config | None = None,
) -> Tensor:
    """`conv_up` without gradients, cut as asked."""
    p, b, height, width, cs = small.shape
    big = small.new_empty(_big(small, weight, phases, kernel))
    cb = big.shape[-1]
    rows = b * _windows(height, width, kernel)
    how = how or _config(small, Shape("conv_up", height, cb, cs, kernel, phases), rows, p)
    launch(
        conv_up_kernel, (-(-rows // how.bm), -(-4 * cb // how.bn), p),
        small, weight, big if bias is None else bias, big if mask is None else mask, big, b,
        height, width, cb, cs, kernel, phases,
        bias is not None, relu, mask is not None, _products(),
        how.bm, how.bn, how.bk, num_warps=how.warps, num_stages=how.stages,
    )  # fmt: skip
    return big


def run_weight_gradient(
    big: Tensor,
    small: Tensor,
    weight: Tensor,
    kernel: int,
    phases: bool,
    how: Config | None = None,
) -> tuple[Tensor, Tensor]:
    """`weight_gradient`, cut as asked."""
    p, b, height, width, cs = small.shape
    cb = big.shape[-1]
    few = cb <= FEW
    shape = Shape(
        "weight_gradient_few" if few else "weight_gradient", height, cb, cs, kernel, phases
    )
    rows = b * (height * width if few else _windows(height, width, kernel))
    how = how or _config(big, shape, rows, p)
    chunk, sums = _sums(weight, how, shape, rows, p)
    launch(
        weight_gradient_few_kernel if few else weight_gradient_kernel,
        (tiles(how, shape), sums.parted, p),
        big, small, sums.parts, sums.columns, b,
        height, width, cb, cs, kernel, phases, chunk, _products(),
        how.ones, how.bm, how.bn, how.bk, num_warps=how.warps, num_stages=how.stages,
    )  # fmt: skip
    return sums.add_up(weight)


def joins(big: Tensor, small: Tensor, kernel: int, phases: bool) -> bool:
    """Whether one kernel computes both gradients of a layer: where that was measured to be faster.

    The sums of all taps have to find room beside each other in a program. With more channels two
    kernels are faster, though they read both images twice.
    """
    shape = _joint(big, small, kernel, phases)
    return tuned(shape, _precision(big), _capability(big)) is not None


def run_joint(
    big: Tensor,
    small: Tensor,
    weight: Tensor,
    kernel: int,
    phases: bool,
    masked: bool,
    how: Config | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`joint_gradients`, cut as asked."""
    p, b, height, width, cs = small.shape
    cb = big.shape[-1]
    shape = _joint(big, small, kernel, phases)
    rows = b * (height * width if phases else _windows(height, width, kernel))
    how = how or _config(big, shape, rows, p)
    chunk, sums = _sums(weight, how, shape, rows, p)
    back = torch.empty_like(small if phases else big)
    taps = () if phases else (kernel,)
    launch(
        joint_up_kernel if phases else joint_down_kernel, (tiles(how, shape), sums.parted, p),
        big, small, weight, back, sums.parts, sums.columns, b,
        height, width, cb, cs, *taps, chunk, masked, _products(),
        how.ones, how.bm, how.bn, how.bk, num_warps=how.warps, num_stages=how.stages,
    )  # fmt: skip
    return back, *sums.add_up(weight)


@dataclass(frozen=True)
class Sums:
    """What programs that share a sum over rows leave: a part each."""

    parts: Tensor
    columns: Tensor
    """Sums for the bias: one line of a part, or one for each place in a block of 2 x 2 pixels."""

    @property
    def parted(self) -> int:
        """How many parts there are."""
        return self.parts.shape[1]

    def add_up(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of a weight and its bias."""
        p, parted, size = self.parts.shape
        _, lines, channels = self.columns.shape
        taps, bias = torch.empty_like(weight), weight.new_empty(p, channels)
        launch(
            add_up_kernel, (-(-max(size, channels) // 256), p),
            self.parts, self.columns, taps, bias, parted, size, lines, channels, 256, 16,
        )  # fmt: skip
        return taps, bias


def _sums(weight: Tensor, how: Config, shape: Shape, rows: int, p: int) -> tuple[int, Sums]:
    """How many rows a program takes, and room for the parts."""
    chunk = -(-rows // (splits(how, shape, rows, p) * how.bm)) * how.bm
    parted = -(-rows // chunk)
    lines, channels = (4 * parted, shape.cb) if shape.phases else (parted, shape.cs)
    parts = weight.new_empty(p, parted, weight[0].numel(), dtype=torch.float32)
    return chunk, Sums(parts, weight.new_empty(p, lines, channels, dtype=torch.float32))


def _windows(height: int, width: int, kernel: int) -> int:
    """Windows of `conv_up` in an image."""
    return (height + kernel // 2 - 1) * (width + kernel // 2 - 1)


def _joint(big: Tensor, small: Tensor, kernel: int, phases: bool) -> Shape:
    name = "joint_up" if phases else "joint_down"
    return Shape(name, small.shape[2], big.shape[-1], small.shape[-1], kernel, phases)


def _capability(image: Tensor) -> tuple[int, int]:
    """Of the GPU that an image is on, if it is on one."""
    return torch.cuda.get_device_capability(image.device) if image.is_cuda else (0, 0)


def _config(image: Tensor, shape: Shape, rows: int, members: int) -> Config:
    return config(shape, _precision(image), _capability(image), rows, members)
