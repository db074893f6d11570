"""Columns of numbers: their ranks, scales and correlations."""

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.metrics.parts.tables import ratio


def midranks(values: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    """Ranks from 0, column by column; equal values share the middle of their ranks."""
    columns = []
    for column in values.T:
        _, inverse, sizes = torch.unique(column, return_inverse=True, return_counts=True)
        columns.append((sizes.cumsum(0) - 0.5 * (sizes + 1)).to(values)[inverse])
    return torch.stack(columns, dim=1)


def correlation(a: Float[Tensor, "n z"], b: Float[Tensor, "n f"]) -> Float[Tensor, "z f"]:
    """Pearson's correlation of all columns; 0 where a column is constant."""
    a, b = to_unit_range(a), to_unit_range(b)
    a, b = a - a.mean(0), b - b.mean(0)
    return ratio(a.T @ b, a.norm(dim=0)[:, None] * b.norm(dim=0))


def to_unit_range(
    values: Float[Tensor, "m c"], like: Float[Tensor, "n c"] | None = None
) -> Float[Tensor, "m c"]:
    """Columns scaled to lie between 0 and 1, those of ``like`` if given; constant ones are 0."""
    like = values if like is None else like
    low, high = like.amin(0), like.amax(0)
    return (values - low) / torch.where(high > low, high - low, torch.inf)


def normal_scores(codes: Float[Tensor, "n z"]) -> Float[Tensor, "n z"]:
    """Each code replaced by the normal quantiles of its ranks; a constant code becomes 0.

    Example:
        >>> normal_scores(torch.tensor([[5.0], [70.0], [6.0]]).double()).round(decimals=2).tolist()
        [[-0.97], [0.97], [0.0]]
    """
    quantiles: Tensor = torch.special.ndtri((midranks(codes) + 0.5) / len(codes))
    return quantiles
