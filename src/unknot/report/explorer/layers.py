"""Layers of a decoder as plain values, for a browser to compute; nets of other layers have none."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from unknot.core.dataset import FactorDataset
from unknot.losses.likelihood import Likelihood, is_of_counts, pixel_likelihood

Layer = dict[str, Any]
"""Its kind, its settings, the shape that it gives, and tensors ``weight`` and ``bias``."""

ACTIVATIONS: Mapping[type[nn.Module], str] = {
    nn.ReLU: "relu",
    nn.LeakyReLU: "leaky_relu",
    nn.ELU: "elu",
    nn.SiLU: "silu",
    nn.Tanh: "tanh",
    nn.Sigmoid: "sigmoid",
}


class UnknownLayerError(Exception):
    """A layer that the browser does not know; the message says which."""


def decoder_layers(decoder: nn.Module, latents: int) -> list[Layer]:
    """The layers of a decoder, from the code to its outputs.

    Args:
        decoder: In evaluation mode.
        latents: Length of a code.

    Raises:
        UnknownLayerError: There is a layer that the browser does not know.
    """
    # Shapes alone matter, but a decoder may compute in any precision and on any device.
    like = next(decoder.parameters(), torch.empty(0))
    values, layers = like.new_zeros(1, latents), []
    with torch.no_grad():
        for module in steps(decoder):
            layer = _describe(module)
            values = module(values)
            layers.append({**layer, "shape": [*values.shape[1:]]})
    return layers


def output_layers(dataset: FactorDataset, likelihood: Likelihood) -> list[Layer]:
    """What turns outputs of a decoder into pixels from 0 to 1.

    Raises:
        UnknownLayerError: The outputs stand for counts.
    """
    layers, shape = [], [*dataset.shape]
    density = pixel_likelihood(likelihood)
    if is_of_counts(density):
        raise UnknownLayerError("its outputs are counts")
    if density != "gaussian":
        layers.append({"kind": "activation", "name": "sigmoid", "shape": shape})
    if dataset.mean:
        means, deviations = [*dataset.mean], [*dataset.std]
        layers.append({"kind": "scale", "mean": means, "std": deviations, "shape": shape})
    return layers


def steps(module: nn.Module) -> Iterator[nn.Module]:
    """Modules that are applied one after the other; what a class of its own does is not known."""
    if type(module) is nn.Sequential:
        for inner in module:
            yield from steps(inner)
    elif type(module) is not nn.Identity:
        yield module


def _describe(module: nn.Module) -> Layer:
    kind = type(module)
    if kind in ACTIVATIONS:
        constant = getattr(module, "negative_slope", getattr(module, "alpha", None))
        return {"kind": "activation", "name": ACTIVATIONS[kind], "constant": constant}
    describe = DESCRIPTIONS.get(kind)
    layer = describe(module) if describe else None
    if layer is None:
        raise UnknownLayerError(f"{kind.__name__}")
    return layer


def _linear(module: nn.Linear) -> Layer:
    return {"kind": "linear", **_tensors(module.weight, module.bias, module.out_features)}


def _convolution(module: nn.Conv2d | nn.ConvTranspose2d) -> Layer | None:
    plain = module.groups == 1 and module.dilation == (1, 1) and module.padding_mode == "zeros"
    if not plain or isinstance(module.padding, str):
        return None
    transposed = isinstance(module, nn.ConvTranspose2d)
    return {
        "kind": "transposed_convolution" if transposed else "convolution",
        "kernel": [*module.kernel_size],
        "stride": [*module.stride],
        "padding": [*module.padding],
        **_tensors(module.weight, module.bias, module.out_channels),
    }


def _reshape(module: nn.Unflatten | nn.Flatten) -> Layer | None:
    first = module.dim if isinstance(module, nn.Unflatten) else module.start_dim
    return {"kind": "reshape"} if first == 1 else None


def _pad(module: nn.ZeroPad2d) -> Layer:
    return {"kind": "pad", "widths": [*module.padding]}


def _tensors(weight: Tensor, bias: Tensor | None, outputs: int) -> dict[str, Tensor]:
    zero = weight.new_zeros(outputs)
    tensors = {"weight": weight, "bias": zero if bias is None else bias}
    return {name: tensor.detach().float().cpu() for name, tensor in tensors.items()}


DESCRIPTIONS: Mapping[type[nn.Module], Callable[[Any], Layer | None]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.ConvTranspose2d: _convolution,
    nn.Unflatten: _reshape,
    nn.Flatten: _reshape,
    nn.ZeroPad2d: _pad,
}
