"""What a training step cannot go without: operations and bytes, and the time a card needs for them.

Products of matrices and copies are timed on the card; each product of a step takes the longer of
its operations at that rate and its bytes at that rate.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from unknot.engine.kernels.shape import Shape
from unknot.engine.kernels.tuned import TUNED

PRECISIONS = ("bf16", "tf32", "float32")


@dataclass(frozen=True)
class Work:
    """A product of matrices, or a pass over memory: operations and bytes."""

    flops: float
    bytes: float


def work(net, image: tuple[int, int, int], batch: int, precision: str) -> list[Work]:
    """What one model's step cannot go without, from its layers.

    A layer's output, the gradient of its input (not of images) and that of its weight are a product
    each, which reads two of the three tensors and writes the third once; ReLUs, masks and losses
    ride along. Adam reads gradient, weight and two moments and writes the last three.
    """
    item = 2 if precision == "bf16" else 4
    found = []
    for part, start in (
        (net.encoder(image), (batch, *image)),
        (net.decoder(image), (batch, net.latents)),
    ):
        for layer, x, y in _layers(part.to("meta"), torch.empty(start, device="meta")):
            size = layer.weight.numel()
            # A transposed layer's inputs, another one's outputs, meet each of their taps once.
            meets = x if isinstance(layer, nn.ConvTranspose2d) else y
            flops = 2.0 * meets.numel() * (size // meets.shape[1])
            traffic = float(item * (x.numel() + y.numel() + size))
            first = part[0] is layer and start[1:] == image
            found += [Work(flops, traffic)] * (2 if first else 3)
            found.append(Work(0.0, (6 * 4 + item + (item if item < 4 else 0)) * float(size)))
    return found


def _layers(module: nn.Module, x: Tensor) -> list[tuple[nn.Module, Tensor, Tensor]]:
    found: list[tuple[nn.Module, Tensor, Tensor]] = []
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            layer.register_forward_hook(lambda m, given, y: found.append((m, given[0], y)))
    module(x)
    return found


@dataclass(frozen=True)
class Traffic:
    """Bytes that a layer's kernels move for one model and step, each tensor once per kernel."""

    name: str
    forward: float
    apart: float
    """Both gradients by a kernel each; that of the input reads the input again as a ReLU's mask."""
    joint: float
    """Both gradients by one kernel."""
    adam: float

    @property
    def joins(self) -> bool:
        """Whether the engine has one kernel for both."""
        return self.joint < self.apart


def traffic(net, image: tuple[int, int, int], batch: int, item: int) -> list[Traffic]:
    """Bytes of each layer, of numbers of ``item`` bytes; losses and images are not among them."""
    rows = []
    for part, module, start in (
        ("encoder", net.encoder(image), (batch, *image)),
        ("decoder", net.decoder(image), (batch, net.latents)),
    ):
        layers = _layers(module.to("meta"), torch.empty(start, device="meta"))
        for i, (layer, x, y) in enumerate(layers):
            inputs, outputs, weights = (item * float(t.numel()) for t in (x, y, layer.weight))
            first = part == "encoder" and i == 0
            dense = isinstance(layer, nn.Linear)
            forward = inputs + outputs + weights
            weight_gradient = inputs + outputs + weights
            mask = 0.0 if dense else inputs
            input_gradient = 0.0 if first else outputs + weights + mask + inputs
            apart = joint = weight_gradient + input_gradient
            if not first and not dense and _joins(layer, x, y):
                joint = 2 * inputs + outputs + 2 * weights
            adam = (6 * 4 + item + (item if item < 4 else 0)) * float(layer.weight.numel())
            name = f"{part} {i + 1}: {_size(x)} → {_size(y)}"
            rows.append(Traffic(name, forward, apart, joint, adam))
    return rows


def _joins(layer: nn.Module, x: Tensor, y: Tensor) -> bool:
    """Whether the engine does in bfloat16, where that was measured."""
    up = isinstance(layer, nn.ConvTranspose2d)
    small, big = (x, y) if up else (y, x)
    channels, size = (big.shape[1], small.shape[1]), layer.kernel_size[0]
    name = "joint_up" if up else "joint_down"
    return Shape(name, small.shape[-2], *channels, size, up) in TUNED["bf16"]


def _size(x: Tensor) -> str:
    return f"{x.shape[-1]}² × {x.shape[1]}" if x.ndim == 4 else str(x.shape[1])


def least_seconds(works: list[Work], flops: float, bandwidth: float) -> float:
    return sum(max(w.flops / flops, w.bytes / bandwidth) for w in works)


def measured(device: torch.device, n: int = 8192, megabytes: int = 2048) -> dict[str, float]:
    """Operations per second of square products by precision, and bytes per second of a copy."""
    found = {}
    for precision in PRECISIONS:
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        a, b = (torch.randn(n, n, device=device).to(dtype) for _ in range(2))
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        found[precision] = 2 * n**3 / _seconds(lambda a=a, b=b: a @ b, 5, device)
    torch.backends.cuda.matmul.allow_tf32 = False
    source = torch.zeros(megabytes * 2**18, device=device)
    target = torch.empty_like(source)
    found["bytes"] = 2 * source.nbytes / _seconds(lambda: target.copy_(source), 10, device)
    return found


def _seconds(call: Callable[[], object], repeat: int, device: torch.device) -> float:
    """Seconds of a call, the best of three rounds."""
    call()
    rounds = []
    for _ in range(3):
        wait(device)
        began = time.perf_counter()
        for _ in range(repeat):
            call()
        wait(device)
        rounds.append((time.perf_counter() - began) / repeat)
    return min(rounds)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()
