"""Pairs of rows that share most of their factors."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from unknot.core import noise
from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.noise import Count
from unknot.data.dataset import FactorDataset
from unknot.data.draw_singles import Rows, check_factors, column, singles


@dataclass(frozen=True)
class Pairs:
    r"""Pairs of rows that share all factors but some.

    The first row is uniform. Of the $F$ factors with more than one value, $k$ are chosen without
    replacement and each gets another value, all others being equally likely.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", section A.2.3; the pairs are those of Locatello et al. 2020.
    Differs: ``sampler="reference"`` does as the public code of 2020 does instead: $k$ from
    $1 .. F - 1$ of all $F$ factors, then a coin between 1 and $k$, and the new value may be the
    old one. More than half of its pairs differ in one factor at most: stronger supervision.

    Args:
        changed: $k$; by default uniform on $1 .. F$ for each pair.
        sampler: ``exact`` or ``reference``.
    """

    changed: int | None = None
    sampler: Literal["exact", "reference"] = "exact"
    views: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.changed is not None and self.changed < 1:
            raise ConfigError(f"Pairs.changed must be 1 or more; got {self.changed}.")
        check_choices(self, "sampler")

    def on(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The draw from a dataset."""
        check_factors(dataset, "Pairs")
        space, exact = dataset.space, self.sampler == "exact"
        able = [i for i, size in enumerate(space.sizes) if size > 1 or not exact]
        if (self.changed or 1) > len(able):
            raise ConfigError(
                f"Pairs that differ in {self.changed or 1} factors need as many with several "
                f"values; {dataset.name} has {len(able)}: {[space.names[i] for i in able]}."
            )
        most = len(able) if exact else len(able) - 1
        if most == 0:
            raise ConfigError(
                f"Pairs of the reference sampler need two factors; {dataset.name} has one."
            )
        strides = column([space.strides[i] for i in able], device)
        sizes = column([space.sizes[i] for i in able], device)

        def rows(seed: Count, t: Count, batch: int) -> Tensor:
            first = singles(seed, t, batch, size=space.size)
            count = self._count(seed, t, batch, most).unsqueeze(-2)
            chosen = noise.permutation(seed, "order/factors", t, len(able), batch) < count
            any_value = noise.integers(seed, "order/values", t, len(able), batch, high=2**62)
            old = first.unsqueeze(-2) // strides % sizes
            new = (old + 1 + any_value % (sizes - 1)) % sizes if exact else any_value % sizes
            second = first + ((new - old) * chosen * strides).sum(-2)
            return torch.cat([first, second], dim=-1)

        return rows

    def _count(self, seed: Count, t: Count, batch: int, most: int) -> Int[Tensor, "..."]:
        """How many factors are chosen for each pair."""
        drawn = 1 + noise.integers(seed, "order/changed", t, batch, high=most)
        k = torch.full_like(drawn, self.changed) if self.changed else drawn
        if self.sampler == "exact":
            return k
        coin = noise.integers(seed, "order/coin", t, batch, high=2)
        return 1 + coin * (k - 1)
