"""Information of codes about factors, counted in bins."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from unknot.metrics.parts.facts import RowSettings

Edges: TypeAlias = Literal["width", "quantile"]
SIGMAS = 5.0
"""How far above chance information must lie before a code counts as telling something."""


@dataclass(frozen=True)
class Counting(RowSettings):
    """How codes and factors are counted; the settings of the metrics made of information alone."""

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

    @property
    def gaps(self) -> bool:
        """Each factor is counted by itself."""
        return True


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
    doubts: tuple[str, ...]
    """Why the information is too high, if it is."""
    silent: tuple[str, ...]
    """How many codes do not count, if there are any: all that concerns who asks for `alive`."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What to say beside a score that is made of information."""
        return (*self.doubts, *self.silent)


def information(
    codes: Float[Tensor, "n z"],
    values: Int[Tensor, "n f"] | Float[Tensor, "n f"],
    levels: Int[Tensor, "n f"],
    counting: Counting,
) -> Information:
    r"""Mutual information of each code and factor from counts; levels number the values.

    Rows that lack a factor, of level -1, are left out for that factor alone.

    Corrected entropies are $H + (K - 1) / 2n$ with $K$ occupied cells (Miller 1955), and mutual
    information is $H(z) + H(v) - H(z, v)$ of these, at least 0.
    """
    if counting.factor_bins is not None:
        levels = bin_factors(values.double(), counting.factor_bins)
    joint = counts(discretize(codes, counting.bins, counting.edges), levels)
    n, by_code, by_factor = len(codes), joint.sum(-1), joint.sum(-2)
    gaps = bool((levels < 0).any())
    mutual = mutual_information(joint)
    alive = informative(mutual, by_code, by_factor)
    if counting.dead == "counted":
        alive = torch.ones_like(alive)
    h_joint, h_codes, h_factors = (
        entropy(c, corrected=counting.corrected)
        for c in (joint.flatten(-2), by_code[:, 0], by_factor[0])
    )
    if counting.corrected:
        each = entropy(by_code, corrected=True) if gaps else h_codes[:, None]
        mutual = (each + h_factors - h_joint).clamp_min(0)
    mutual = torch.where(alive[:, None], mutual, 0.0)
    doubts, silent = [], []
    entries = counting.bins * int(by_factor.shape[-1])
    if n < 2 * entries:
        doubts.append(f"{n} rows for up to {entries} cells: information is overestimated")
    if not bool(alive.all()):
        share = f"{int((~alive).sum())} of {len(alive)} latents"
        silent.append(f"{share} say nothing about any factor and were left out")
    return Information(mutual, h_joint, h_codes, h_factors, alive, tuple(doubts), tuple(silent))


def discretize(values: Float[Tensor, "n c"], bins: int, edges: Edges) -> Int[Tensor, "n c"]:
    """Bin numbers from 0, column by column.

    Example:
        >>> discretize(torch.tensor([[0.0], [1.0], [2.0], [90.0]]), 3, "width")[:, 0].tolist()
        [0, 0, 0, 2]
        >>> discretize(torch.tensor([[0.0], [1.0], [2.0], [90.0]]), 2, "quantile")[:, 0].tolist()
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


def bin_factors(values: Float[Tensor, "n f"], bins: int) -> Int[Tensor, "n f"]:
    """Bins of equal width for each factor; -1 where a value is NaN."""
    known = ~values.isnan()
    if bool(known.all()):
        return discretize(values, bins, "width")
    levels = torch.full(values.shape, -1, device=values.device)
    for k, (column, there) in enumerate(zip(values.T, known.T, strict=True)):
        levels[there, k] = discretize(column[there, None], bins, "width")[:, 0]
    return levels


def counts(codes: Int[Tensor, "n z"], levels: Int[Tensor, "n f"]) -> Float[Tensor, "z f b v"]:
    """How many rows have bin ``b`` of code ``z`` and value ``v`` of factor ``f``."""
    z, b, v = codes.shape[1], int(codes.max()) + 1, int(levels.max()) + 1
    first = codes * v + torch.arange(z, device=codes.device) * (b * v)
    tables = [
        torch.bincount(
            (first[level >= 0] + level[level >= 0, None]).flatten(), minlength=z * b * v
        ).reshape(z, b, v)
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
    n = by_code.sum(-1)
    d = ((by_code > 0).sum(-1) - 1) * ((by_factor > 0).sum(-1) - 1)
    threshold = d + SIGMAS * (2.0 * d).sqrt()
    best = 2 * n * torch.minimum(entropy(by_code), entropy(by_factor))
    return ((d > 0) & ((2 * n * mutual > threshold) | (best <= threshold))).any(1)


def level_entropies(levels: Int[Tensor, "n f"]) -> Float[Tensor, " f"]:
    """Entropy of each factor in nats, from counts of its levels."""
    return torch.stack([entropy(torch.bincount(level).double()) for level in levels.T])
