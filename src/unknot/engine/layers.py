"""Layers with a member axis: each is the PyTorch layer of the same name, for all members at once.

Images are held as ``[p, b, h, w, c]``, so a convolution is im2col and one batched matrix
product; its gradient is another product and a sum of slices, with no atomic scatter. Weights
are kept in the layout that the product wants, and `pack` and `unpack` translate from and to
PyTorch's own layout when a state comes or goes.
`engine/modules.py` puts them together. On a GPU, convolutions of stride 2, down and up, are Triton
kernels instead, which gather their windows as they multiply (`unknot.engine.kernels`).
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor


@runtime_checkable
class Layer(Protocol):
    """A layer that has weights."""

    def pack(self, name: str, value: Tensor) -> Tensor:
        """PyTorch's layout ``[p, ...]`` to ours."""
        ...

    def unpack(self, name: str, value: Tensor) -> Tensor:
        """Our layout back to PyTorch's."""
        ...

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """Apply the layer to all members."""
        ...


@dataclass(frozen=True)
class Linear:
    """``nn.Linear``; its features may stand in channels-last order where PyTorch's do not."""

    inputs: Tensor | None = None
    outputs: Tensor | None = None

    def pack(self, name: str, value: Tensor) -> Tensor:
        """``[p, out, in]`` to ``[p, in, out]``, features reordered."""
        if self.outputs is not None:
            value = value[:, self.outputs.to(value.device)]
        if name == "bias":
            return value.contiguous()
        if self.inputs is not None:
            value = value[:, :, self.inputs.to(value.device)]
        return value.mT.contiguous()

    def unpack(self, name: str, value: Tensor) -> Tensor:
        """``[p, in, out]`` to ``[p, out, in]``, features put back."""
        if name == "weight":
            value = value.mT
            if self.inputs is not None:
                value = value[:, :, self.inputs.argsort().to(value.device)]
        if self.outputs is not None:
            value = value[:, self.outputs.argsort().to(value.device)]
        return value.contiguous()

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """``x [p, b, in]`` to ``[p, b, out]``; like PyTorch's, it acts on the last axis of any."""
        y = torch.baddbmm(bias.unsqueeze(1), x.reshape(len(x), -1, x.shape[-1]), weight)
        return y.reshape(*x.shape[:-1], -1)


@dataclass(frozen=True)
class Conv:
    """``nn.Conv2d`` with a square kernel."""

    kernel: int
    stride: int
    padding: int
    channels: int

    def pack(self, name: str, value: Tensor) -> Tensor:
        """``[p, out, in, k, k]`` to ``[p, k * k * in, out]``."""
        if name == "bias":
            return value.contiguous()
        return value.permute(0, 3, 4, 2, 1).flatten(1, 3).contiguous()

    def unpack(self, name: str, value: Tensor) -> Tensor:
        """``[p, k * k * in, out]`` to ``[p, out, in, k, k]``."""
        if name == "bias":
            return value.contiguous()
        shape = (value.shape[0], self.kernel, self.kernel, self.channels, value.shape[-1])
        return value.reshape(shape).permute(0, 4, 3, 1, 2).contiguous()

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """``x [p, b, h, w, in]`` to ``[p, b, h', w', out]``."""
        view, h, w = im2col(pad(x, self.padding), self.kernel, self.stride)
        return torch.baddbmm(bias.unsqueeze(1), view, weight).reshape(*x.shape[:2], h, w, -1)


@dataclass(frozen=True)
class ConvTranspose:
    """``nn.ConvTranspose2d`` with kernel 4, stride 2, padding 1.

    Each output pixel sees a 2 x 2 window of the input through 4 of the 16 taps: those of its
    phase, that is whether its row and column are even or odd. One product with all phases side by
    side gives four images, which are then interleaved.
    """

    channels: int

    def pack(self, name: str, value: Tensor) -> Tensor:
        """``[p, in, out, 4, 4]`` to ``[p, 4 * in, 4 * out]``: window taps by phases."""
        if name == "bias":
            return value.contiguous()
        # Phase q meets the window's tap i through the kernel's tap 3 - 2 i - q, along each axis.
        p, inputs, outputs = value.shape[:3]
        taps = value.flip(3, 4).reshape(p, inputs, outputs, 2, 2, 2, 2)
        return taps.permute(0, 3, 5, 1, 4, 6, 2).reshape(p, 4 * inputs, 4 * outputs).contiguous()

    def unpack(self, name: str, value: Tensor) -> Tensor:
        """``[p, 4 * in, 4 * out]`` to ``[p, in, out, 4, 4]``."""
        if name == "bias":
            return value.contiguous()
        p, outputs = value.shape[0], value.shape[-1] // 4
        taps = value.reshape(p, 2, 2, self.channels, 2, 2, outputs).permute(0, 3, 6, 1, 4, 2, 5)
        return taps.reshape(p, self.channels, outputs, 4, 4).flip(3, 4).contiguous()

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        """``x [p, b, h, w, in]`` to ``[p, b, 2 h, 2 w, out]``."""
        p, b, h, w = x.shape[:4]
        view, rows, columns = im2col(pad(x, 1), 2, 1)
        y = torch.bmm(view, weight).reshape(p, b, rows, columns, 2, 2, -1)
        phases = [
            torch.stack([y[:, :, i : i + h, j : j + w, i, j] for j in (0, 1)], dim=4)
            for i in (0, 1)
        ]
        image = torch.stack(phases, dim=3).reshape(p, b, 2 * h, 2 * w, -1)
        return image + bias[:, None, None, None]


def pad(x: Tensor, n: int) -> Tensor:
    """Zeros around images ``[p, b, h, w, c]``."""
    return F.pad(x, (0, 0, n, n, n, n)) if n else x


def im2col(x: Tensor, kernel: int, stride: int) -> tuple[Tensor, int, int]:
    """All windows of images ``[p, b, h, w, c]`` as rows ``[p, b * h' * w', k * k * c]``.

    Slices, not `as_strided`: the gradient of a slice is a padded add, that of a strided view an
    atomic scatter, which took half of a bfloat16 step on an H200.
    """
    p, b, height, width, c = x.shape
    h, w = (height - kernel) // stride + 1, (width - kernel) // stride + 1
    taps = [
        x[:, :, i : i + stride * (h - 1) + 1 : stride, j : j + stride * (w - 1) + 1 : stride]
        for i in range(kernel)
        for j in range(kernel)
    ]
    return torch.stack(taps, dim=4).reshape(p, b * h * w, kernel * kernel * c), h, w
