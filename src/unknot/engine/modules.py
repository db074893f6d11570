"""Whole modules with a member axis, of the layers in `engine/layers.py` or by `vmap`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unknot.engine.kernels import first_line
from unknot.engine.layers import Conv, ConvTranspose, Layer, Linear
from unknot.nets.parts.features import ACTIVATIONS, Features
from unknot.nets.parts.weights import RANDOM

Weights: TypeAlias = Mapping[str, Tensor]
Call: TypeAlias = Callable[[Weights, Tensor], Tensor]
POINTWISE = (*ACTIVATIONS, nn.Identity)


@dataclass(frozen=True)
class StackedModule:
    """A module for all members: its layers by parameter prefix, and how to run it."""

    layers: Mapping[str, Layer]
    run: Call
    """Weights by name and inputs ``[p, b, ...]`` in PyTorch's shape order to outputs."""
    features: Callable[[Weights, Tensor], tuple[Tensor, ...]]
    """The same to the outputs of activation functions on the way, of a decoder."""

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


def why_not_stacked(
    encoder: nn.Module, decoder: nn.Module, image: tuple[int, int, int], latents: int
) -> str | None:
    """Why modules that a user gave cannot train side by side; None where they can."""
    for word, module, shape in (("encoder", encoder, image), ("decoder", decoder, (latents,))):
        if buffers := [name for name, _ in module.named_buffers()]:
            return f"the {word} has buffers ({', '.join(buffers)})"
        if chance := [type(part).__name__ for part in module.modules() if isinstance(part, RANDOM)]:
            return f"the {word} draws at random ({', '.join(chance)})"
        stacked = stack_module(module)
        weights = {
            name: stacked.pack(name, torch.stack([weight.detach()] * 2))
            for name, weight in module.named_parameters()
        }
        try:
            stacked.run(weights, torch.zeros(2, 2, *shape))
        except Exception as error:  # whatever a user's module does
            return f"the {word} cannot be stacked: {first_line(error)}"
    return None


def _vmap_module(module: nn.Module) -> StackedModule:
    """Any module, by `torch.func.vmap`; slower, since it takes no part in the layouts above."""

    def apply_member(weights: Weights, x: Tensor) -> Tensor:
        out: Tensor = torch.func.functional_call(module, dict(weights), (x,))
        return out

    inside = Features(module)

    def features_of_member(weights: Weights, x: Tensor) -> tuple[Tensor, ...]:
        named = {f"decoder.{name}": weight for name, weight in weights.items()}
        out: tuple[Tensor, ...] = torch.func.functional_call(inside, named, (x,))
        return out

    return StackedModule({}, torch.func.vmap(apply_member), torch.func.vmap(features_of_member))


class _Plan:
    """Our layers for the children of an ``nn.Sequential``, one child after the other.

    Types are compared exactly: a subclass may compute something else.
    """

    def __init__(self, children: list[tuple[str, nn.Module]], kernels: bool) -> None:
        self.children, self.kernels = children, kernels
        self.layers: dict[str, Linear | Conv | ConvTranspose] = {}
        self.calls: list[Call] = []
        self.features: dict[int, Call] = {}
        """By the call that computes an activation: what makes PyTorch's own of its output."""
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
        calls, as_in_torch = self.calls, self.features
        last = max(as_in_torch, default=-1)

        def run(weights: Weights, x: Tensor) -> Tensor:
            for call in calls:
                x = call(weights, x)
            return x

        def features(weights: Weights, x: Tensor) -> tuple[Tensor, ...]:
            activations = []
            for i, call in enumerate(calls[: last + 1]):
                x = call(weights, x)
                if i in as_in_torch:
                    activations.append(as_in_torch[i](weights, x))
            return tuple(activations)

        return StackedModule(self.layers, run, features)

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
            if type(module) in ACTIVATIONS:
                self.features[len(self.calls) - 1] = self._as_in_torch()
        else:
            return False
        return True

    def _as_in_torch(self) -> Call:
        """From a present activation to what PyTorch's module would have."""
        layers, linear = self.layers, self.linear
        if self.channels and self.rectified:
            # The layer behind masks the gradient of a kernel's ReLU, for its own input alone.
            return lambda _, x: F.relu(x).permute(0, 1, 4, 2, 3)
        if self.channels:
            return lambda _, x: x.permute(0, 1, 4, 2, 3)

        def put_back(_: Weights, x: Tensor) -> Tensor:
            # Known only when all layers are: an image behind it reorders a linear layer's outputs.
            layer = layers.get(linear)
            order = layer.outputs if isinstance(layer, Linear) else None
            return x if order is None else x[..., order.argsort().to(x.device)]

        return put_back

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
