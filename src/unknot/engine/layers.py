"""Layers with a member axis: each is the PyTorch layer of the same name, for all members at once.

Images are held as ``[p, b, h, w, c]``, so a convolution is im2col and one batched matrix
product; its gradient is another product and a sum of slices, with no atomic scatter. Weights
are kept in the layout that the product wants, and `pack` and `unpack` translate from and to
PyTorch's own layout when a state comes or goes.

On a GPU, convolutions of stride 2, down and up, are Triton kernels instead, which gather their
windows as they multiply (`unknot.engine.kernels`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast, runtime_checkable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Weights: TypeAlias = Mapping[str, Tensor]
Image: TypeAlias = tuple[int, int, int]


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


@dataclass(frozen=True)
class StackedModule:
    """A module for all members: its layers by parameter prefix, and how to run it."""

    layers: Mapping[str, Layer]
    run: Callable[[Weights, Tensor], Tensor]
    """Weights by name and inputs ``[p, b, ...]`` in PyTorch's shape order to outputs."""

    def pack(self, name: str, value: Tensor) -> Tensor:
        """A parameter in PyTorch's layout to ours."""
        prefix, _, kind = name.rpartition(".")
        return self.layers[prefix].pack(kind, value) if prefix in self.layers else value

    def unpack(self, name: str, value: Tensor) -> Tensor:
        """A parameter in our layout to PyTorch's."""
        prefix, _, kind = name.rpartition(".")
        return self.layers[prefix].unpack(kind, value) if prefix in self.layers else value


def stack_module(module: nn.Module, *, kernels: bool = False) -> StackedModule:
    """The member-axis version of a module: our own layers, or `vmap` for modules beyond them.

    Args:
        module: What one member has.
        kernels: Use Triton kernels where there are any for a layer.
    """
    children = list(module.named_children())
    stacked = _Plan(children, kernels).stack() if type(module) is nn.Sequential else None
    return stacked or _vmap_module(module)


def _vmap_module(module: nn.Module) -> StackedModule:
    """Any module, by `torch.func.vmap`; slower, since it takes no part in the layouts above."""

    def apply_member(weights: Weights, x: Tensor) -> Tensor:
        out: Tensor = torch.func.functional_call(module, dict(weights), (x,))
        return out

    return StackedModule({}, torch.func.vmap(apply_member))


Call: TypeAlias = Callable[[Weights, Tensor], Tensor]
POINTWISE = (nn.ReLU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.ELU, nn.SiLU, nn.GELU, nn.Identity)


class _Plan:
    """Our layers for the children of an ``nn.Sequential``, one child after the other.

    Types are compared exactly: a subclass may compute something else.
    """

    def __init__(self, children: list[tuple[str, nn.Module]], kernels: bool) -> None:
        self.children, self.kernels = children, kernels
        self.layers: dict[str, Linear | Conv | ConvTranspose] = {}
        self.calls: list[Call] = []
        self.channels = 0
        """Of an image that is held channels last, else 0."""
        self.flat_channels = 0
        """Of an image that was flattened channels last, else 0."""
        self.linear = ""
        """The linear layer whose output the present features are."""
        self.rectified = False
        """The image comes from a kernel that has done the ReLU behind it."""

    def stack(self) -> StackedModule | None:
        """The module; None where a child is unknown."""
        if not all(self._add(i, name, module) for i, (name, module) in enumerate(self.children)):
            return None
        if self.channels:
            self._channels_first()
        calls = self.calls

        def run(weights: Weights, x: Tensor) -> Tensor:
            for call in calls:
                x = call(weights, x)
            return x

        return StackedModule(self.layers, run)

    def _add(self, i: int, name: str, module: nn.Module) -> bool:
        """Take the next child; False if there is no way."""
        layer = _layer(module)
        if isinstance(layer, Conv | ConvTranspose):
            self._add_convolution(i, name, layer, cast(nn.Conv2d, module).out_channels)
        elif isinstance(layer, Linear) and not self.channels:
            self._add_linear(name, cast(nn.Linear, module).in_features)
        elif type(module) is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1):
            self._add_flatten(i)
        elif type(module) is nn.Unflatten and module.dim == 1 and not self.channels:
            self._add_unflatten(i, tuple(module.unflattened_size))
        elif type(module) is nn.ZeroPad2d and not self.rectified:
            self.calls.append(_pad_image(module.padding, last=bool(self.channels)))
        elif type(module) in POINTWISE:
            if not self.rectified:
                self.calls.append(_pointwise(module))
        else:
            return False
        return True

    def _child(self, i: int) -> nn.Module | None:
        return self.children[i][1] if i < len(self.children) else None

    def _channels_first(self) -> None:
        self.calls.append(lambda _, x: x.permute(0, 1, 4, 2, 3))
        self.channels = 0

    def _add_convolution(self, i: int, name: str, layer: Conv | ConvTranspose, out: int) -> None:
        if not self.channels:
            self.calls.append(lambda _, x: x.permute(0, 1, 3, 4, 2))
        self.layers[name], self.channels = layer, out
        if not (self.kernels and _has_kernel(layer)):
            self.calls.append(_call_layer(name, layer))
            return
        behind = self._child(i + 2)
        relu = (
            type(self._child(i + 1)) is nn.ReLU
            and behind is not None
            and _has_kernel(_layer(behind))
        )
        self.calls.append(_kernel(name, layer, relu, self.rectified))
        self.rectified = relu

    def _add_linear(self, name: str, features: int) -> None:
        order = _channels_last(self.flat_channels, features) if self.flat_channels else None
        layer = self.layers[name] = Linear(order)
        self.flat_channels, self.linear = 0, name
        self.calls.append(_call_layer(name, layer))

    def _add_flatten(self, i: int) -> None:
        if self.channels and type(self._child(i + 1)) is not nn.Linear:
            self._channels_first()  # no weights to reorder: PyTorch's order
        self.calls.append(lambda _, x: x.flatten(2))
        self.channels, self.flat_channels, self.linear = 0, self.channels, ""

    def _add_unflatten(self, i: int, size: tuple[int, ...]) -> None:
        image = type(self._child(i + 1)) in (nn.Conv2d, nn.ConvTranspose2d)
        if self.linear and image and min(size) > 0:
            # The image is wanted channels last, so the linear layer writes it that way.
            c, h, w = size
            inputs = cast(Linear, self.layers[self.linear]).inputs
            self.layers[self.linear] = Linear(inputs, _channels_last(c, c * h * w))
            size, self.channels = (h, w, c), c
        self.calls.append(_reshape(size))


def _layer(module: nn.Module) -> Linear | Conv | ConvTranspose | None:
    """Our version of a layer with a plain weight and bias."""
    plain = {name for name, _ in module.named_parameters()} == {"weight", "bias"}
    if not plain or module._forward_hooks or module._forward_pre_hooks:
        return None
    if type(module) is nn.Linear:
        return Linear()
    if type(module) is nn.Conv2d or type(module) is nn.ConvTranspose2d:
        return _convolution(module)
    return None


def _convolution(module: nn.Conv2d | nn.ConvTranspose2d) -> Conv | ConvTranspose | None:
    kernel, stride, padding = module.kernel_size, module.stride, module.padding
    if isinstance(padding, str) or module.padding_mode != "zeros" or module.groups != 1:
        return None
    if {*module.dilation} != {1} or not len({*kernel}) == len({*stride}) == len({*padding}) == 1:
        return None
    if isinstance(module, nn.Conv2d):
        return Conv(kernel[0], stride[0], int(padding[0]), module.in_channels)
    halves = (kernel[0], stride[0], padding[0]) == (4, 2, 1) and {*module.output_padding} == {0}
    return ConvTranspose(module.in_channels) if halves else None


def _channels_last(channels: int, features: int) -> Tensor:
    """Where each feature of an image flattened channels last stands in PyTorch's order."""
    return torch.arange(features).reshape(channels, -1).T.flatten()


def _has_kernel(layer: Layer | None) -> bool:
    halves = isinstance(layer, Conv) and (layer.kernel, layer.stride, layer.padding) in (
        (4, 2, 1),
        (2, 2, 0),
    )
    return halves or isinstance(layer, ConvTranspose)


def _kernel(name: str, layer: Conv | ConvTranspose, relu: bool, rectified: bool) -> Call:
    """A layer by its kernel, or as it is for images or numbers that have none.

    The ReLU between two such layers is computed by the first and differentiated by the second. One
    that goes without a kernel does all of it: a second ReLU, or a second mask, changes nothing.
    """

    def run(weights: Weights, x: Tensor) -> Tensor:
        weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
        even = isinstance(layer, ConvTranspose) or x.shape[2] % 2 == x.shape[3] % 2 == 0
        if even and x.dtype in (torch.bfloat16, torch.float32) and x[0].numel() < 2**29:
            if isinstance(layer, ConvTranspose):
                op, kernel = torch.ops.unknot.conv_up, 4
            else:
                op, kernel = torch.ops.unknot.conv_down, layer.kernel
            phases = isinstance(layer, ConvTranspose)
            out: Tensor = op(x.contiguous(), weight, bias, None, kernel, phases, relu, rectified)
            return out
        y = layer(F.relu(x) if rectified else x, weight, bias)
        return F.relu(y) if relu else y

    return run


def _call_layer(name: str, layer: Layer) -> Call:
    return lambda weights, x: layer(x, weights[f"{name}.weight"], weights[f"{name}.bias"])


def _reshape(size: tuple[int, ...]) -> Call:
    return lambda _, x: x.reshape(*x.shape[:2], *size)


def _pad_image(padding: tuple[int, int, int, int], *, last: bool) -> Call:
    """Zeros around images, or rows and columns taken away; channels last or not."""
    return lambda _, x: F.pad(x, (0, 0, *padding) if last else padding)


def _pointwise(module: nn.Module) -> Call:
    return lambda _, x: module(x)
