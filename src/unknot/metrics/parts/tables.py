"""What sums up a table of codes by factors."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def gap(table: Float[Tensor, "z f"], dim: int) -> Float[Tensor, " k"]:
    """Largest minus second largest entry along ``dim``; with a single entry, that entry.

    Example:
        >>> gap(torch.tensor([[0.75, 0.25], [0.25, 1.0]]), dim=0).tolist()
        [0.5, 0.75]
    """
    if table.shape[dim] == 1:
        return table.squeeze(dim)
    best = table.topk(2, dim=dim).values
    return best.select(dim, 0) - best.select(dim, 1)


def concentration(table: Float[Tensor, "z f"], dim: int) -> Float[Tensor, " k"]:
    r"""One minus the entropy along ``dim`` of the normalised table, in units of its maximum.

    1 where a single entry holds everything, 0 where all are equal or nothing is there.
    """
    size = table.shape[dim]
    if size == 1:
        return (table.squeeze(dim) > 0).to(table.dtype)
    shares = ratio(table, table.sum(dim, keepdim=True))
    entropy = -torch.xlogy(shares, shares).sum(dim) / math.log(size)
    return torch.where(table.sum(dim) > 0, 1 - entropy, 0.0)


def mean(values: Float[Tensor, " k"], weights: Float[Tensor, " k"]) -> Float[Tensor, ""]:
    """Weighted mean; 0 where no weight is left."""
    return ratio((values * weights).sum(), weights.sum())


def ratio(a: Float[Tensor, "*s"], b: Float[Tensor, "*t"]) -> Float[Tensor, "..."]:
    """``a / b``, and 0 where ``b`` is 0."""
    return torch.where(b == 0, 0.0, a / torch.where(b == 0, 1.0, b))
