"""Pairs of rows that share most of their factors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factor_table import FactorTable, Space
from unknot.core.noise import Count
from unknot.core.typed import check_fields
from unknot.samplers.parts.blocks import LEAST, PARTS, Blocks, join
from unknot.samplers.parts.sampler import Rows, column, independent_rows
from unknot.samplers.parts.weights import Weight, table

Axes: TypeAlias = Sequence[tuple[int, int]]
"""Of some factors: how many rows lie between two of its values, and how many values there are."""
Change: TypeAlias = Callable[
    [Int[Tensor, "*p b"], Bool[Tensor, "*p f b"], Int[Tensor, "*p f b"]], Int[Tensor, "*p b"]
]
"""Rows, which factors change in each, and a number of 62 bits for each: other rows."""


@dataclass(frozen=True)
class Pairs:
    r"""Pairs of images that differ in some factors and share the others.

    The first row is uniform. Of the $F$ factors with more than one value, $k$ are chosen without
    replacement and each gets another value, all others being equally likely.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data", section A.2.3; the pairs are those of Locatello et al. 2020,
    "Weakly-supervised disentanglement without compromises".
    Differs: ``rule="reference"`` does as the public code of 2020 does instead: $k$ from
    $1 .. F - 1$ of all $F$ factors, then a coin between 1 and $k$, and the new value may be the
    old one. More than half of its pairs differ in one factor at most: stronger supervision.

    With weights the first row is drawn by weight, and $F$ counts the factors of which several
    values have any. The chosen factors change one after the other, in the order of the data, each
    to another value by the weights of the rows that it leads to. One stays where there is none.

    Of labels that fill no grid, the chosen ones change one after the other too, each to that of a
    row that agrees in all other labels. Rows that lack a label stay by themselves.

    Args:
        changed: $k$; by default uniform on $1 .. F$ for each pair.
        rule: ``exact`` or ``reference``.
        weights: What makes some rows likelier than others, as in ``samplers/parts/weights.py``.

    Example: `unknot.train("dsprites", "ada_gvae", sampler=samplers.Pairs(changed=1))`
    """

    changed: int | None = None
    rule: Literal["exact", "reference"] = "exact"
    weights: tuple[Weight, ...] = ()
    views: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_fields(self, "changed", "weights")
        if self.changed is not None and self.changed < 1:
            raise ConfigError(f"Pairs.changed must be 1 or more; got {self.changed}.")
        check_choices(self, "rule")

    def bind(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The pairs of a dataset."""
        dataset.require_factors("Pairs")
        space, exact = dataset.space, self.rule == "exact"
        weight = table(space, self.weights) if self.weights else None
        values = space.sizes if weight is None else _values(space, weight)
        able = [i for i, several in enumerate(values) if several > 1 or not exact]
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
        first_rows = independent_rows(dataset, self.weights, device)
        if isinstance(space, FactorTable):
            change = _among_labels(space, able, weight, device, another=exact)
        else:
            axes = [(space.strides[i], space.sizes[i]) for i in able]
            change = (
                _uniform(axes, device, another=exact)
                if weight is None
                else _weighted(axes, weight.to(device), another=exact)
            )

        def rows(seed: Count, t: Count, batch: int) -> Tensor:
            first = first_rows(seed, "order", t, batch)
            count = self._count(seed, t, batch, most).unsqueeze(-2)
            moves = noise.permutation(seed, "order/factors", t, len(able), batch) < count
            any_value = noise.integers(seed, "order/values", t, len(able), batch, high=2**62)
            return torch.cat([first, change(first, moves, any_value)], dim=-1)

        return rows

    def _count(self, seed: Count, t: Count, batch: int, most: int) -> Int[Tensor, "..."]:
        """How many factors are chosen for each pair."""
        any_count = 1 + noise.integers(seed, "order/changed", t, batch, high=most)
        k = torch.full_like(any_count, self.changed) if self.changed else any_count
        if self.rule == "exact":
            return k
        coin = noise.integers(seed, "order/coin", t, batch, high=2)
        return 1 + coin * (k - 1)


def _values(space: Space, weight: Float64[Tensor, " size"]) -> list[int]:
    """How many values of each factor have any weight."""
    if isinstance(space, FactorTable):
        return [len(c[(weight > 0) & (c >= 0)].unique()) for c in space.values.T]
    grid = weight.reshape(space.sizes) > 0
    return [int(grid.movedim(i, 0).flatten(1).any(1).sum()) for i in range(len(space))]


def _uniform(axes: Axes, device: torch.device, *, another: bool) -> Change:
    strides, sizes = (column(numbers, device) for numbers in zip(*axes, strict=True))

    def change(row: Tensor, moves: Tensor, any_value: Tensor) -> Tensor:
        old = row.unsqueeze(-2) // strides % sizes
        new = (old + 1 + any_value % (sizes - 1)) % sizes if another else any_value % sizes
        return row + ((new - old) * moves * strides).sum(-2)

    return change


def _among_labels(
    table: FactorTable,
    able: Sequence[int],
    weight: Float64[Tensor, " size"] | None,
    device: torch.device,
    *,
    another: bool,
) -> Change:
    """Labels change one after the other, each to that of a row that agrees in all others."""
    weight = torch.ones(table.size, dtype=torch.float64) if weight is None else weight
    weight = torch.where(table.has_gaps, 0.0, weight)  # whoever lacks a label agrees with nobody
    if not bool((weight > 0).any()):
        raise ConfigError("Pairs need rows that have all labels, and there are none.")
    blocks = []
    for i in able:
        others = [k for k in range(len(table)) if k != i]
        group = torch.where(table.has_gaps, table.size, join(table.values[:, others]))
        blocks.append(Blocks.from_rows(group, table.values[:, i], weight, device))
    alone = [bool((b.total - b.inside)[weight.to(device) > 0].max() == 0) for b in blocks]
    if another and all(alone):
        raise ConfigError(
            f"No two rows differ in one of the labels {', '.join(table.names)} and agree in the "
            "others, so there are no pairs; give fewer labels."
        )

    def change(row: Tensor, moves: Tensor, any_value: Tensor) -> Tensor:
        for i, block in enumerate(blocks):
            new = block.other_value(row, any_value[..., i, :], another=another)
            row = torch.where(moves[..., i, :], new, row)
        return row

    return change


def _weighted(axes: Axes, weight: Float64[Tensor, " size"], *, another: bool) -> Change:
    def change(row: Tensor, moves: Tensor, any_value: Tensor) -> Tensor:
        for i, (stride, size) in enumerate(axes):
            old, values = row // stride % size, torch.arange(size, device=row.device)
            along = weight[(row - old * stride).unsqueeze(-1) + values * stride]
            if another:
                along = along * (values != old.unsqueeze(-1))
            # Whole numbers add up to the same on every device; any weight is 1 or more.
            most = along.amax(-1, keepdim=True).clamp(min=LEAST)
            bounds = (along / most * PARTS).ceil().long().cumsum(-1)
            total = bounds[..., -1]
            place = any_value[..., i, :] % total.clamp(min=1)
            new = (bounds <= place.unsqueeze(-1)).sum(-1)
            row = torch.where(moves[..., i, :] & (total > 0), row + (new - old) * stride, row)
        return row

    return change
