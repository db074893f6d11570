"""Tables of codes by factors: gaps, concentrations, ranks, correlations, thresholds."""

import itertools
import math
from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

FEW_CLASSES = 4
"""Classes whose every order is tried for thresholds."""


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


def midranks(values: Float[Tensor, "n c"]) -> Float[Tensor, "n c"]:
    """Ranks from 0, column by column; equal values share the middle of their ranks."""
    columns = []
    for column in values.T:
        _, inverse, sizes = torch.unique(column, return_inverse=True, return_counts=True)
        columns.append((sizes.cumsum(0) - 0.5 * (sizes + 1)).to(values)[inverse])
    return torch.stack(columns, dim=1)


def correlation(a: Float[Tensor, "n z"], b: Float[Tensor, "n f"]) -> Float[Tensor, "z f"]:
    """Pearson's correlation of all columns; 0 where a column is constant."""
    a, b = ranged(a), ranged(b)
    a, b = a - a.mean(0), b - b.mean(0)
    return ratio(a.T @ b, a.norm(dim=0)[:, None] * b.norm(dim=0))


def ranged(
    values: Float[Tensor, "m c"], like: Float[Tensor, "n c"] | None = None
) -> Float[Tensor, "m c"]:
    """Columns scaled to lie between 0 and 1, those of ``like`` if given; constant ones are 0."""
    like = values if like is None else like
    low, high = like.amin(0), like.amax(0)
    return (values - low) / torch.where(high > low, high - low, torch.inf)


def threshold_accuracy(
    codes: Float[Tensor, "n z"], level: Int[Tensor, " n"]
) -> Float[Tensor, " z"]:
    """Balanced accuracy of the best thresholds on each code for one factor (Kumar et al. 2018).

    Each class gets one stretch of the code's values (or none), and the thresholds between them are
    the best there are on these rows, in any order of the classes. Of more than four classes only
    the order of their mean ranks is tried.
    """
    classes = int(level.max()) + 1
    member = torch.nn.functional.one_hot(level, classes).double()
    weight = ratio(member, member.sum(0)) / (member.sum(0) > 0).sum()
    best = []
    for code in codes.T:
        ordered, order = code.sort()
        last = torch.cat([ordered[1:] != ordered[:-1], ordered.new_ones(1, dtype=torch.bool)])
        gains = weight[order].cumsum(0)[last]
        gains = torch.cat([gains.new_zeros(1, classes), gains])
        orders: Iterable[Sequence[int]] = itertools.permutations(range(classes))
        if classes > FEW_CLASSES:
            rank = midranks(code[:, None])
            orders = [ratio((member * rank).sum(0), member.sum(0)).argsort().tolist()]
        reached = torch.stack([_reached(gains, one) for one in orders]).max()
        best.append(reached.clamp_max(1))  # sums of shares round
    return torch.stack(best)


def _reached(gains: Float[Tensor, "m c"], order: Sequence[int]) -> Float[Tensor, ""]:
    """The most that classes in this order gain, one stretch each."""
    reached = gains.new_zeros(len(gains))
    for c in order:
        reached = (reached - gains[:, c]).cummax(0).values + gains[:, c]
    return reached[-1]


def normal_scores(codes: Float[Tensor, "n z"]) -> Float[Tensor, "n z"]:
    """Each code replaced by the normal quantiles of its ranks; a constant code becomes 0.

    Example:
        >>> normal_scores(torch.tensor([[5.0], [70.0], [6.0]]).double()).round(decimals=2).tolist()
        [[-0.97], [0.97], [0.0]]
    """
    quantiles: Tensor = torch.special.ndtri((midranks(codes) + 0.5) / len(codes))
    return quantiles
