"""Code by factor tables without a learner: counts, information, correlations, thresholds."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.metrics.parts.aggregate import ratio
from unknot.metrics.parts.inputs import Rows

Edges: TypeAlias = Literal["width", "quantile"]
FEW_CLASSES = 4
"""Classes whose every order is tried for thresholds."""
SIGMAS = 5.0
"""How far above chance information must lie before a code counts as telling something."""


@dataclass(frozen=True)
class Counting:
    """How codes and factors are counted; the settings of the scores made of information alone."""

    samples: int | None = 10_000
    bins: int = 20
    edges: Edges = "width"
    """Bins of equal width between the extremes, or of equal mass, which outliers cannot move."""
    factor_bins: int | None = None
    """Bins of equal width for factor values; ``None`` counts each value."""
    corrected: bool = False
    """Miller and Madow's correction of the bias of counted entropies."""
    dead: Literal["counted", "left out"] = "counted"
    """Codes that tell nothing about any factor."""
    version: int = 1


STUDY = Counting()
CARBONNEAU = Counting(samples=None, bins=10, factor_bins=10)
UNKNOT = Counting(samples=None, edges="quantile", corrected=True, dead="left out")


@dataclass(frozen=True)
class Information:
    """Entropies and mutual information in nats."""

    mutual: Float[Tensor, "z f"]
    joint: Float[Tensor, "z f"]
    codes: Float[Tensor, " z"]
    factors: Float[Tensor, " f"]
    alive: Bool[Tensor, " z"]
    """Codes that count; all of them unless dead ones are left out."""
    remarks: tuple[str, ...]


def information(rows: Rows, counting: Counting) -> Information:
    r"""Mutual information of each code and factor from counts.

    Corrected entropies are $H + (K - 1) / 2n$ with $K$ occupied cells (Miller 1955), and mutual
    information is $H(z) + H(v) - H(z, v)$ of these, at least 0.
    """
    codes = discretise(rows.codes, counting.bins, counting.edges)
    levels = rows.levels
    if counting.factor_bins is not None:
        levels = discretise(rows.values.double(), counting.factor_bins, "width")
    joint = counts(codes, levels)
    n, by_code, by_factor = len(rows), joint.sum(-1), joint.sum(-2)
    mutual = mutual_information(joint)
    alive = informative(mutual, by_code, by_factor)
    if counting.dead == "counted":
        alive = torch.ones_like(alive)
    h_joint, h_codes, h_factors = (
        entropy(c, corrected=counting.corrected)
        for c in (joint.flatten(-2), by_code[:, 0], by_factor[0])
    )
    if counting.corrected:
        mutual = (h_codes[:, None] + h_factors - h_joint).clamp_min(0)
    mutual = torch.where(alive[:, None], mutual, 0.0)
    remarks = []
    cells = counting.bins * int(by_factor.shape[-1])
    if n < 2 * cells:
        remarks.append(f"{n} rows for up to {cells} cells: information is overestimated")
    if not bool(alive.all()):
        remarks.append(
            f"{int((~alive).sum())} of {len(alive)} codes tell nothing and were left out"
        )
    return Information(mutual, h_joint, h_codes, h_factors, alive, tuple(remarks))


def discretise(values: Float[Tensor, "n c"], bins: int, edges: Edges) -> Int[Tensor, "n c"]:
    """Bin numbers from 0, column by column.

    Example:
        >>> discretise(torch.tensor([[0.0], [1.0], [2.0], [90.0]]), 3, "width")[:, 0].tolist()
        [0, 0, 0, 2]
        >>> discretise(torch.tensor([[0.0], [1.0], [2.0], [90.0]]), 2, "quantile")[:, 0].tolist()
        [0, 0, 1, 1]
    """
    if edges == "width":
        low, high = values.amin(0), values.amax(0)
        steps = torch.arange(bins, device=values.device) * ((high - low) / bins)[:, None]
        lower = (steps + low[:, None]).contiguous()
        return (torch.searchsorted(lower, values.T.contiguous(), right=True) - 1).T
    columns = []
    for column in values.T:
        _, inverse, sizes = torch.unique(column, return_inverse=True, return_counts=True)
        if len(sizes) > bins:
            middle = sizes.cumsum(0) - 0.5 * sizes
            inverse = (middle * bins / len(column)).long().clamp(max=bins - 1)[inverse]
        columns.append(inverse)
    return torch.stack(columns, dim=1)


def counts(codes: Int[Tensor, "n z"], levels: Int[Tensor, "n f"]) -> Float[Tensor, "z f b v"]:
    """How many rows have bin ``b`` of code ``z`` and value ``v`` of factor ``f``."""
    z, b, v = codes.shape[1], int(codes.max()) + 1, int(levels.max()) + 1
    first = codes * v + torch.arange(z, device=codes.device) * (b * v)
    tables = [
        torch.bincount((first + level[:, None]).flatten(), minlength=z * b * v).reshape(z, b, v)
        for level in levels.T
    ]
    return torch.stack(tables, dim=1).double()


def mutual_information(joint: Float[Tensor, "*t b v"]) -> Float[Tensor, "*t"]:
    r"""$\sum p(z, v) \ln \frac{p(z, v)}{p(z) p(v)}$ in nats; exactly 0 for a constant.

    Example:
        >>> round(mutual_information(torch.tensor([[4.0, 0.0], [0.0, 4.0]])).exp().item(), 6)
        2.0
    """
    n = joint.sum((-2, -1), keepdim=True)
    apart = joint.sum(-1, keepdim=True) * joint.sum(-2, keepdim=True)
    lift = torch.where(joint > 0, joint * n / torch.where(apart > 0, apart, 1.0), 1.0)
    return ((joint * lift.log()).sum((-2, -1)) / n[..., 0, 0]).clamp_min(0)


def entropy(table: Float[Tensor, "*t k"], *, corrected: bool = False) -> Float[Tensor, "*t"]:
    """Entropy of counts in nats, with Miller and Madow's correction where asked."""
    n = table.sum(-1, keepdim=True)
    plain = -torch.xlogy(table / n, table / n).sum(-1)
    return plain + ((table > 0).sum(-1) - 1) / (2 * n[..., 0]) if corrected else plain


def informative(
    mutual: Float[Tensor, "z f"],
    by_code: Float[Tensor, "z f b"],
    by_factor: Float[Tensor, "z f v"],
) -> Bool[Tensor, " z"]:
    r"""Codes whose information about some factor is more than chance.

    Of independent variables $2 n I$ is about $\chi^2$ with $d = (K_z - 1)(K_v - 1)$ degrees of
    freedom (Wilks 1938); a code must exceed $d + 5 \sqrt{2 d}$ for one factor. Where so few rows
    could not show even a perfect code, a code that varies has the benefit of the doubt. The rule
    knows no units, so it does not depend on the scale of a code.
    """
    n = by_code[0, 0].sum()
    d = ((by_code > 0).sum(-1) - 1) * ((by_factor > 0).sum(-1) - 1)
    threshold = d + SIGMAS * (2.0 * d).sqrt()
    best = 2 * n * torch.minimum(entropy(by_code), entropy(by_factor))
    return ((d > 0) & ((2 * n * mutual > threshold) | (best <= threshold))).any(1)


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
        found = torch.stack([_reached(gains, one) for one in orders]).max()
        best.append(found.clamp_max(1))  # sums of shares round
    return torch.stack(best)


def _reached(gains: Float[Tensor, "m c"], order: Sequence[int]) -> Float[Tensor, ""]:
    """The most that classes in this order gain, one stretch each."""
    reached = gains.new_zeros(len(gains))
    for c in order:
        reached = (reached - gains[:, c]).cummax(0).values + gains[:, c]
    return reached[-1]
