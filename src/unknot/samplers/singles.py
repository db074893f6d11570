"""Rows one by one, and what all draws share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core import noise
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.noise import Count
from unknot.samplers.parts.weights import Weight, table

Rows: TypeAlias = Callable[[Count, Count, int], Int[Tensor, "..."]]
"""Seed, step and batch to row numbers ``[*p, views * batch]``, the views one after the other."""


@runtime_checkable
class Sampler(Protocol):
    """A frozen dataclass of settings that says which rows come next."""

    @property
    def views(self) -> int:
        """How many rows go together; 1 where they are independent, which suits any objective."""
        ...

    def on(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The draw from a dataset, with its tables on a device; refuses data that it cannot draw.

        A seed or a step may be a tensor, as in ``core/noise.py``: their common shape leads.
        """
        ...


@dataclass(frozen=True)
class Singles:
    """Rows one by one: independent, with replacement, uniform unless there are weights.

    Args:
        weights: What makes some rows likelier than others, as in ``samplers/parts/weights.py``.
    """

    weights: tuple[Weight, ...] = ()
    views: ClassVar[int] = 1

    def on(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The draw from a dataset."""
        draw = independent(dataset, self.weights, device)
        return lambda seed, t, batch: draw(seed, "order", t, batch)


def singles(
    seed: Count, t: Count, batch: int, *, size: int, stream: str = "order"
) -> Int[Tensor, "*p batch"]:
    """Row numbers of the batch at step ``t``: independent, uniform, with replacement.

    Args:
        seed: The seed of the order, or one per member.
        t: The step.
        batch: How many rows.
        size: How many rows the dataset has.
        stream: The name of the noise.

    Example:
        >>> singles(0, 7, 4, size=100).shape
        torch.Size([4])
    """
    return noise.integers(seed, stream, t, batch, high=size)


def independent(
    dataset: FactorDataset, weights: tuple[Weight, ...], device: torch.device
) -> Callable[[Count, str, Count, int], Tensor]:
    """Independent rows of a stream of noise, by weight."""
    if not weights:
        size = len(dataset)
        return lambda seed, stream, t, n: singles(seed, t, n, size=size, stream=stream)
    bounds = table(dataset.space, weights).cumsum(0)
    bounds = (bounds / bounds[-1]).to(device)

    def draw(seed: Count, stream: str, t: Count, n: int) -> Tensor:
        # 53 bits, all that a float64 below 1 holds: 32 would be coarse beside a fine grid.
        u = noise.integers(seed, stream, t, n, high=2**53).double() * 2.0**-53
        # The first row whose bound lies above u: one of weight 0 adds nothing and is never it.
        return torch.searchsorted(bounds, u, right=True)

    return draw


def column(values: Sequence[int], device: torch.device) -> Int[Tensor, "f 1"]:
    """One number per factor, beside row numbers ``[*p, 1, batch]``."""
    return torch.tensor(values, device=device).unsqueeze(-1)


def check_factors(dataset: FactorDataset, who: str, instead: str = "") -> None:
    """Check that rows differ in more than their number.

    Raises:
        ConfigError: The images came without factors.
    """
    if dataset.space.stands_in:
        raise ConfigError(
            f"{who} compare factors and {dataset.name} has none; "
            f"add 'factors' to its file{instead}."
        )
