"""Labels: what objectives are told of the factors of their images."""

from collections.abc import Callable
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core.factor_table import FactorTable, Space
from unknot.core.factors import FactorSpace

Labels: TypeAlias = Callable[[Tensor], Tensor | None]
"""Rows ``[*p, n]`` to their factors ``[*p, n, f]``, or to None where none are told."""
OfRows: TypeAlias = Callable[[Tensor], Tensor]


def label_source(
    space: Space, told: Int[Tensor, " rows"] | None, device: torch.device, dtype: torch.dtype
) -> Callable[[Int[Tensor, "*p n"]], Float[Tensor, "*p n f"]]:
    """Rows to their factors, each scaled to 0 .. 1; NaN where they are missing or not told.

    The values of a factor are equally far apart, but for continuous labels, which keep their
    distances. Nothing waits for the host.

    Args:
        space: The factors.
        told: The rows whose factors are told; all of them when None.
        device: Of the result.
        dtype: Of the result.

    Example:
        >>> from unknot.core.factors import FactorSpace
        >>> space = FactorSpace(("a", "b"), (2, 3), ("nominal", "ordered"))
        >>> labels = label_source(space, None, torch.device("cpu"), torch.float32)
        >>> labels(torch.tensor([0, 4])).tolist()
        [[0.0, 0.0], [1.0, 0.5]]
    """
    if isinstance(space, FactorTable):
        of_rows = _from_table(space, device, dtype)
    else:
        of_rows = _from_grid(space, device, dtype)
    known = torch.ones(0, dtype=torch.bool, device=device)
    if told is not None:
        known = torch.zeros(space.size, dtype=torch.bool)
        known = known.index_fill(0, told, value=True).to(device)

    def labels(index: Tensor) -> Tensor:
        row = index.to(device) % space.size  # of nuisance variants, too
        factors = of_rows(row)
        return factors if told is None else factors.where(known[row].unsqueeze(-1), torch.nan)

    return labels


def _from_grid(space: FactorSpace, device: torch.device, dtype: torch.dtype) -> OfRows:
    strides, sizes = (torch.tensor(n, device=device) for n in (space.strides, space.sizes))
    last = (sizes - 1).clamp(min=1).to(dtype)
    return lambda row: (row.unsqueeze(-1) // strides % sizes).to(dtype) / last


def _from_table(table: FactorTable, device: torch.device, dtype: torch.dtype) -> OfRows:
    columns = []
    for i, kind in enumerate(table.kinds):
        level = torch.arange(table.sizes[i], dtype=torch.float64)
        if kind == "continuous":
            level = torch.tensor(table.levels[i], dtype=torch.float64)
        scaled = (level - level[0]) / (level[-1] - level[0]) if len(level) > 1 else level * 0
        columns.append(torch.cat([scaled, scaled.new_full((1,), torch.nan)])[table.values[:, i]])
    values = torch.stack(columns, dim=-1).to(device, dtype)
    return lambda row: values[row]
