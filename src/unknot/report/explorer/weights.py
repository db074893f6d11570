"""Weights of a decoder as one block of bytes: in 16 bits, or in 8 where pixels stay the same."""

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int8
from torch import Tensor

from unknot.report.explorer.layers import Layer

BLOCK = 16
"""Neighbouring weights that share a scale in 8 bits."""


def pack(layers: Sequence[Layer], eight_bits: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Layers without tensors, and the bytes of all tensors, which the layers refer to.

    Args:
        layers: From `decoder_layers`.
        eight_bits: Numbers of layers whose weights get 8 bits; others get 16. Biases are few and
            keep 32.
    """
    data = bytearray()

    def put(array: np.ndarray) -> dict[str, Any]:
        data.extend(bytes(-len(data) % 4))  # numbers of 4 bytes start at a multiple of 4
        entry = {"kind": array.dtype.name, "at": len(data), "size": array.size}
        data.extend(array.astype(array.dtype.newbyteorder("<")).tobytes())
        return entry

    def put_weight(weight: Tensor, number: int) -> dict[str, Any]:
        if number not in eight_bits:
            return put(weight.half().numpy())
        integers, scales = quantize(weight)
        return {**put(integers.numpy()), "scales": put(scales.numpy()), "block": BLOCK}

    plain = [
        {**layer, "weight": put_weight(layer["weight"], i), "bias": put(layer["bias"].numpy())}
        if "weight" in layer
        else layer
        for i, layer in enumerate(layers)
    ]
    return {"layers": plain, "weights": base64.b64encode(data).decode()}


def rounded(weight: Tensor, *, eight_bits: bool) -> Tensor:
    """Weights as the browser reads them."""
    if not eight_bits:
        return weight.half().float()
    integers, scales = quantize(weight)
    values = integers.float() * scales.float().repeat_interleave(BLOCK)[: integers.numel()]
    return values.reshape(weight.shape)


def quantize(weight: Tensor) -> tuple[Int8[Tensor, " n"], Float[Tensor, " b"]]:
    """Weights in 8 bits, flat, and the scale of each block.

    Example:
        >>> whole, scales = quantize(torch.tensor([[0.5, -1.269], [0.0, 0.02]]))
        >>> whole.tolist(), [round(scale, 4) for scale in scales.tolist()]
        ([50, -127, 0, 2], [0.01])
    """
    flat = weight.flatten()
    blocks = torch.nn.functional.pad(flat, (0, -len(flat) % BLOCK)).reshape(-1, BLOCK)
    # A scale that 16 bits round down must not let a weight leave the range.
    scales = (blocks.abs().amax(1) / 126.9).half().clamp(min=torch.finfo(torch.half).tiny)
    integers = (blocks / scales[:, None].float()).round().to(torch.int8)
    return integers.flatten()[: len(flat)], scales
