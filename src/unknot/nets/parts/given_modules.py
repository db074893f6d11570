"""An encoder and a decoder that a user gives as modules, and how a run knows them again."""

import copy
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from unknot.core import noise, user_classes
from unknot.core.errors import ConfigError, ShapeError

Make: TypeAlias = Callable[[], tuple[nn.Module, nn.Module]]
"""A user's function that makes an encoder and a decoder."""
PLAIN = (bool, int, float, str, tuple, list, type(None))

_pairs: dict[tuple[str, ...], "Pair"] = {}
"""By structure, the last ones that were given; and by structure and weights."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Copies of the modules that a user gave, whose weights nobody changes."""

    encoder: nn.Module
    decoder: nn.Module
    make: Make | None = None
    """The function that made them, which gives each seed weights of its own."""

    @cached_property
    def structure(self) -> str:
        """A hash of all that decides what the modules compute, but for their weights."""
        digest = hashlib.blake2b(digest_size=8)
        for text in (*module_lines(self.encoder), "decoder", *module_lines(self.decoder)):
            digest.update(f"{text}\n".encode())
        return digest.hexdigest()

    @cached_property
    def weights_hash(self) -> str:
        """A hash of the weights and buffers."""
        digest = hashlib.blake2b(digest_size=8)
        for module in (self.encoder, self.decoder):
            for tensor in named_tensors(module).values():
                digest.update(
                    tensor.detach().contiguous().flatten().view(torch.uint8).numpy().tobytes()
                )
        return digest.hexdigest()

    def of_seed(self, seed: int) -> "Pair":
        """With the weights of a seed, if there is a function that makes them."""
        if self.make is None:
            return self
        pair = make_pair(self.make, seed)
        return pair.side_by_side() if isinstance(self.encoder, SideBySide) else pair

    def side_by_side(self) -> "Pair":
        """With an encoder of tensors in place of one of pairs."""
        return replace(self, encoder=SideBySide(self.encoder))


class SideBySide(nn.Module):
    """An encoder of pairs ``(mean, logvar)`` as one of tensors ``[n, 2 z]``."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        """Means and log-variances side by side."""
        return torch.cat(split_encoding(self.module(x)), dim=-1)


def split_encoding(encoded: Any) -> tuple[Tensor, Tensor]:
    """Mean and log-variance, from a pair of them or from one tensor ``[n, 2 z]``."""
    if isinstance(encoded, tuple | list) and len(encoded) == 2:
        return encoded[0], encoded[1]
    if not isinstance(encoded, Tensor) or encoded.ndim != 2 or encoded.shape[-1] % 2:
        shape = tuple(encoded.shape) if isinstance(encoded, Tensor) else type(encoded).__name__
        raise ShapeError(
            "The encoder must give means and log-variances side by side, [n, 2 z], or a pair of "
            f"tensors; got {shape}."
        )
    mean, logvar = encoded.chunk(2, dim=-1)
    return mean, logvar


def copy_pair(encoder: nn.Module, decoder: nn.Module, make: Make | None = None) -> Pair:
    """Copies on the CPU, which later changes of the user's modules do not reach."""
    weights = {id(w) for w in encoder.parameters()}
    if weights & {id(w) for w in decoder.parameters()}:
        raise ConfigError("Encoder and decoder share weights, which would come apart in training.")
    if any(isinstance(w, UninitializedParameter) for w in encoder.parameters()):
        raise ConfigError("The encoder has lazy layers; call it with some images first.")
    return Pair(copy.deepcopy(encoder).cpu(), copy.deepcopy(decoder).cpu(), make)


def make_pair(make: Make, seed: int) -> Pair:
    """What a user's function makes, with PyTorch's generator set from a seed."""
    try:
        inspect.signature(make).bind()
    except TypeError as error:
        raise ConfigError(
            "net is a function without arguments that makes (encoder, decoder): "
            f"lambda: (Encoder(), Decoder()); this one is called otherwise: {error}."
        ) from error
    with seeded(seed, "modules", 0):
        modules = make()
    return copy_pair(*as_modules(modules), make)


def find_modules(net: Any) -> tuple[nn.Module, nn.Module] | None:
    """Encoder and decoder of a pair, or of an object that has both; None of anything else."""
    attributes = [getattr(net, name, None) for name in ("encoder", "decoder")]
    pair = net if isinstance(net, tuple | list) else attributes
    match [*pair]:
        case [nn.Module() as encoder, nn.Module() as decoder]:
            return encoder, decoder
    return None


def as_modules(net: Any) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder; anything else is refused."""
    if (modules := find_modules(net)) is None:
        raise ConfigError(
            f"net is an encoder and a decoder, (nn.Module, nn.Module); got {type(net).__name__}."
        )
    return modules


def give(pair: Pair) -> None:
    """Make modules known in this process."""
    _pairs[pair.structure,] = _pairs[pair.structure, pair.weights_hash] = pair


def find(structure: str, weights: str = "") -> Pair:
    """The modules that a run was trained with.

    Args:
        structure: Their hash.
        weights: The hash of their weights; where none have it, those that were given last.
    """
    pair = _pairs.get((structure, weights)) or _pairs.get((structure,))
    if pair is None:
        raise ConfigError(
            "The modules of this run were given in Python and are not stored; pass them again: "
            "net=(encoder, decoder)."
        )
    return pair


@contextmanager
def seeded(seed: Any, stream: str, step: Any, device: torch.device | None = None) -> Iterator[None]:
    """PyTorch's generator set from a seed and a step; afterwards it is as it was."""
    cuda = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(int(noise.integers(seed, stream, step, 1, high=2**63 - 1)))
        yield


def named_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Weights and buffers by name."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def module_lines(module: nn.Module) -> Iterable[str]:
    """What a module is made of, line by line."""
    for name, part in module.named_modules():
        kind = type(part)
        in_torch = kind.__module__.partition(".")[0] in user_classes.KNOWN_PACKAGES
        source = "" if in_torch else user_classes.source_hash(kind) or f"version {part.version}"
        values = {
            key: value if isinstance(value, PLAIN) else getattr(value, "__qualname__", "")
            for key, value in vars(part).items()
            if not key.startswith("_") and key != "training" and not isinstance(value, nn.Module)
        }
        yield f"{name} {kind.__module__}:{kind.__qualname__} {source} {sorted(values.items())}"
    for name, tensor in named_tensors(module).items():
        yield f"{name} {tuple(tensor.shape)} {tensor.dtype}"
