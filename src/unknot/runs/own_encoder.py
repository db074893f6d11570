"""Score an encoder that was trained elsewhere, on any dataset."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from unknot.core.border import check_whole
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.posterior import Posterior
from unknot.core.representation import CodeCache, Representation
from unknot.core.text import shown
from unknot.engine.memory import hold_freed_memory
from unknot.metrics.parts.evaluation import MetricFunction, Table
from unknot.metrics.parts.evaluation import evaluate as evaluate_codes
from unknot.runs.own_data import as_dataset

Encoder: TypeAlias = Callable[[Tensor], Any]
"""Images ``[n, c, h, w]`` to codes ``[n, z]``, to means and log-variances, or to a `Posterior`."""
SMALL = 1e-4
"""Codes of the same images that differ by more, in parts of their size, come from a sampler."""


def evaluate(
    encoder: nn.Module | Encoder,
    data: Any = "dsprites",
    *,
    protocol: str = "unknot",
    metrics: Sequence[str | MetricFunction] | None = None,
    seed: int = 0,
    interval: float | None = None,
    batch: int = 256,
    **settings: Any,
) -> Table:
    """Score an encoder of your own; metrics that intervene choose their own images.

    Only the images that a metric asks for are encoded, each once. A module is used as it is, in
    evaluation mode and without gradients.

    Args:
        encoder: A module or function of images ``[n, c, h, w]`` in [0, 1], as the dataset gives
            them. It returns codes ``[n, z]``, or a pair of means and log-variances. If one tensor
            holds both, split it: ``lambda x: encoder(x).chunk(2, dim=1)``.
        data: A dataset by name, or your own: whatever `unknot.dataset` takes.
        protocol: The name of a metric protocol.
        metrics: Names, perhaps with a protocol, ``dci@study2019``; or functions of codes and
            factors that return a number. All metrics that apply unless given.
        seed: Random seed for the metrics.
        interval: Level of an interval over rows, such as 0.95.
        batch: Images encoded at once.
        **settings: Of the dataset.

    Raises:
        ConfigError: The encoder gives other codes when it sees the same images again.
        ShapeError: It gives no codes ``[n, z]``.

    Example:
        >>> evaluate(lambda x: x.mean(-1).flatten(1)[:, ::50], "xysquares", metrics=["mig"])["mig"]
        mig 0.0626 (protocol unknot v1, 10,000 rows, 6 % of the ceiling 1.000)
    """
    if not callable(encoder):
        raise ConfigError(
            "encoder must be a module or a function of images; got "
            f"{shown(encoder)}, of the type {type(encoder).__name__}."
        )
    batch = check_whole("batch", batch, 1, 2**31 - 1)
    dataset = as_dataset(data, settings)
    hold_freed_memory()
    with evaluating(encoder) as encode:
        latents, has_logvar = _probe(encode, dataset)

        def both(index: Tensor) -> Tensor:
            parts = [torch.cat(encode(dataset.batch(rows)), dim=1) for rows in index.split(batch)]
            return torch.cat(parts)

        rows, space = CodeCache(both, len(dataset)), dataset.space
        codes = Representation(space, latents, lambda index: rows(index)[:, :latents])
        logvar = Representation(space, latents, lambda index: rows(index)[:, latents:])
        return evaluate_codes(
            codes,
            logvar=logvar if has_logvar else None,
            protocol=protocol,
            metrics=metrics,
            seed=seed,
            interval=interval,
        )


@contextmanager
def evaluating(encoder: nn.Module | Encoder) -> Iterator[Callable[[Tensor], list[Tensor]]]:
    """The encoder as a function of images to codes, or to means and log-variances, on the CPU."""
    modules = [*encoder.modules()] if isinstance(encoder, nn.Module) else []
    before = [module.training for module in modules]
    place = next(iter(encoder.parameters()), None) if isinstance(encoder, nn.Module) else None

    @torch.no_grad()
    def encode(images: Tensor) -> list[Tensor]:
        x = images if place is None else images.to(place.device, place.dtype)
        return _tables(encoder(x), len(images))

    for module in modules:
        module.training = False
    try:
        yield encode
    finally:
        for module, training in zip(modules, before, strict=True):
            module.training = training


def _tables(output: Any, n: int) -> list[Tensor]:
    """What an encoder gave for so many images, checked."""
    if isinstance(output, Posterior):
        output = (output.mean, output.logvar)
    listed = output if isinstance(output, tuple | list) else [output]
    if not all(isinstance(table, Tensor | np.ndarray) for table in listed):
        got = ", ".join(type(table).__name__ for table in listed)
        raise ShapeError(f"The encoder must give a tensor of codes, or two; got {got}.")
    tables = [torch.as_tensor(table).detach().cpu().float() for table in listed]
    shapes = [tuple(table.shape) for table in tables]
    if not 1 <= len(tables) <= 2 or len({*shapes}) > 1 or len(shapes[0]) != 2 or shapes[0][0] != n:
        raise ShapeError(
            f"The encoder must give codes [{n}, z] for {n} images, or means and log-variances of "
            f"that shape; got {shapes}."
        )
    return tables


def _probe(encode: Callable[[Tensor], list[Tensor]], dataset: FactorDataset) -> tuple[int, bool]:
    """The number of latents, and whether there are log-variances, from two images seen twice."""
    images = dataset.batch(torch.arange(min(2, len(dataset))))
    try:
        first, second = encode(images), encode(images)
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ShapeError(
            f"The encoder does not take images {tuple(images.shape)} of {dataset.name}: {reason}."
        ) from error
    codes, again = first[0], second[0]
    if bool((codes - again).abs().max() > SMALL * codes.abs().max().clamp(min=1.0)):
        raise ConfigError(
            "The encoder gives other codes for the same images: it samples them. Return the mean."
        )
    return codes.shape[1], len(first) == 2
