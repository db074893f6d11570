"""What a sampler is, which one a run takes, and independent rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core import noise, registry
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.noise import Count
from unknot.core.objective import Objective, sampler_of, views_of
from unknot.samplers.parts.split import InPart, Part, Split
from unknot.samplers.parts.weights import Weight, table

Rows: TypeAlias = Callable[[Count, Count, int], Int[Tensor, "..."]]
"""Seed, step and batch to row numbers ``[*p, views * batch]``, the views one after the other."""


@runtime_checkable
class Sampler(Protocol):
    """A frozen dataclass of settings that says which rows come next."""

    @property
    def views(self) -> int:
        """Rows of a pair or triplet; 1 where rows are independent, which suits any objective."""
        ...

    def bind(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """Check the sampler against a dataset once, and put its tables on a device.

        What it returns is a pure function that never waits for the host. A seed or a step may be a
        tensor, as in ``core/noise.py``: their common shape leads.
        """
        ...


class PartlyLabelled(ABC):
    """Hook of a sampler that gives objectives the factors of some rows only."""

    @abstractmethod
    def labelled_rows(self, dataset: FactorDataset) -> Int[Tensor, " n"]:
        """The rows whose factors are told, on the CPU."""


def sampler_for(objective: Objective, sampler: Sampler | None = None) -> Sampler:
    """The sampler given, else the one that the objective names, else single rows."""
    if sampler is None:
        sampler = registry.get("samplers", sampler_of(objective))()
    gives, takes = sampler.views, views_of(objective)
    if gives not in (1, takes):
        raise ConfigError(
            f"The sampler {type(sampler).__name__} gives {gives} views and "
            f"{type(objective).__name__} takes {takes}; name another sampler or another objective."
        )
    return sampler


def inside_part(sampler: Sampler, split: Split, part: Part) -> Sampler:
    """A sampler all of whose views stay inside a part of a split."""
    names: list[str] = [f.name for f in fields(sampler)] if is_dataclass(sampler) else []
    if "weights" not in names:
        raise ConfigError(
            f"The sampler {type(sampler).__name__} takes no weights, so it cannot be kept inside "
            "the training part of a split; give it a field `weights`, or leave out the split."
        )
    weights = (*getattr(sampler, "weights", ()), InPart(split, part))
    inside: Sampler = replace(sampler, weights=weights)  # type: ignore[type-var]
    return inside


def independent_rows(
    dataset: FactorDataset, weights: tuple[Weight, ...], device: torch.device
) -> Callable[[Count, str, Count, int], Int[Tensor, "*p n"]]:
    """Seed, stream of noise, step and number to rows with replacement: uniform, or by weight."""
    if not weights:
        size = len(dataset)
        return lambda seed, stream, t, n: noise.integers(seed, stream, t, n, high=size)
    bounds = table(dataset.space, weights).cumsum(0)
    bounds = (bounds / bounds[-1]).to(device)

    def rows(seed: Count, stream: str, t: Count, n: int) -> Tensor:
        # 53 bits, all that a float64 below 1 holds: 32 would be coarse beside a fine grid.
        u = noise.integers(seed, stream, t, n, high=2**53).double() * 2.0**-53
        # The first row whose bound lies above u: one of weight 0 adds nothing and is never it.
        return torch.searchsorted(bounds, u, right=True)

    return rows


def column(values: Sequence[int], device: torch.device) -> Int[Tensor, "f 1"]:
    """One number per factor, beside row numbers ``[*p, 1, batch]``."""
    return torch.tensor(values, device=device).unsqueeze(-1)
