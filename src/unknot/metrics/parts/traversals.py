"""Points among which one factor moves and all others stand still, and pairs of points."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import DataError
from unknot.core.factors import FactorSpace
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.information import UNKNOT as COUNTED
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured
from unknot.metrics.parts.tables import ratio

Dead: TypeAlias = Literal["counted", "left out"]
CHUNK = 10_000
"""Rows whose products of codes are held at once."""
STILL = 1e-12
"""A variance no larger is rounding: codes are measured in their deviation or their range."""
Convention: TypeAlias = Literal["independent", "batches of 32"]
"""Random pairs: of two different points, or with replacement within batches of 32 random points.

The second is how the published numbers of Michlo 2022 were drawn: one pair in 32 is a point and
itself, which every distance calls 0, and so raises every correlation.
"""
Pairs: TypeAlias = tuple[Int[Tensor, " p"], Int[Tensor, " p"]]
BATCH, IN_BATCH = 32, 64


@dataclass(frozen=True)
class TraversalSettings(RowSettings):
    """How many traversals are looked at, and which variances are compared in which unit."""

    traversals: int = 1024
    """At most so many of each factor; all of them, once each, where there are no more."""
    dead: Dead = "counted"
    """Codes that tell nothing about any factor."""
    components: Literal["all", "top2"] = "all"
    """Variances that are compared: all of them, or the two largest."""
    version: int = 1


PAPER = TraversalSettings()
# Codes as they are: the mean of a pruned unit still moves by a hundredth of the others', and to
# divide it by its deviation would count it as one of them.
UNKNOT = TraversalSettings(traversals=256, dead="left out", version=2)


@dataclass(frozen=True)
class Traversals:
    """Traversals of one factor, one after the other."""

    index: Int[Tensor, " m"]
    """Row numbers, of the grid or of the given rows."""
    group: Int[Tensor, " m"]
    """Which traversal a row belongs to, numbered from 0, in order."""


@dataclass(frozen=True)
class Points:
    """Codes and factor values by row number, in the unit that the settings ask for."""

    rows: Rows
    """The given rows, or some of a grid's: they say which codes live and how far they reach."""
    code: Callable[[Tensor], Tensor]
    value: Callable[[Tensor], Tensor]
    space: FactorSpace | None
    """Of a grid."""
    remarks: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.space.size if self.space else len(self.rows)


def points(rows: Rows, dead: Dead) -> Points:
    """What a metric that moves one factor at a time sees.

    Codes are in units of the widest range: their relative scales matter, and squares of very small
    or large ones would leave the range of float64.
    """
    alive = torch.ones_like(rows.codes[0], dtype=torch.bool)
    if dead == "left out":
        alive = rows.information(COUNTED).alive
    low, high = rows.codes.amin(0), rows.codes.amax(0)
    width = (high - low).max()
    width = torch.where(width > 0, width, torch.inf)
    low = low[alive]

    def unit(values: Tensor) -> Tensor:
        return (values.detach().double()[..., alive] - low) / width

    gone = int((~alive).sum())
    text = f"{gone} of {len(alive)} latents say nothing about any factor and were left out"
    remarks = (text,) if gone else ()
    if grid := rows.grid:
        columns = [grid.space.names.index(name) for name in rows.names]
        return Points(
            rows,
            lambda index: unit(grid.codes(index)),
            lambda index: grid.factors(index)[..., columns].to(low.device),
            grid.space.require_grid("Traversals"),
            remarks,
        )
    return Points(
        rows,
        lambda index: unit(rows.codes[index.to(low.device)]),
        lambda index: rows.values[index.to(low.device)],
        None,
        remarks,
    )


def traversals(sample: Points, factor: int, most: int) -> Traversals:
    """Traversals of the factor of this number among those that vary.

    Rows need whole traversals or nearly: at least half of the factor's values, and two, with all
    other factors equal. Few points lie on a line whatever the code.
    """
    name, seed = sample.rows.names[factor], sample.rows.seed
    if sample.space:
        index = grid_traversals(sample.space, sample.space.names.index(name), most, seed)
        group = torch.arange(len(index)).repeat_interleave(index.shape[1])
        return Traversals(index.flatten(), group)
    levels = sample.rows.levels.cpu()
    group = torch.zeros_like(levels[:, 0])
    for other in range(levels.shape[1]):
        if other != factor:
            joined = group * (int(levels[:, other].max()) + 1) + levels[:, other]
            group = torch.unique(joined, return_inverse=True)[1]
    values = int(levels[:, factor].max()) + 1
    present = torch.unique(group * values + levels[:, factor]) // values
    good = (torch.bincount(present) >= max(2, (values + 1) // 2)).nonzero()[:, 0]
    if not len(good):
        raise DataError(
            f"Too few rows to move {name} alone: no rows that agree in all other factors show half "
            f"of its {values} values. Give more rows or a Representation of the whole grid."
        )
    if len(good) > most:
        good = good[noise.permutation(seed, f"metric/walk {name}", 0, len(good), 1)[:most, 0]]
    number = torch.full((int(group.max()) + 1,), -1)
    number[good.sort().values] = torch.arange(len(good))
    order = number[group].argsort(stable=True)
    order = order[number[group][order] >= 0]
    return Traversals(order, number[group][order])


def half_traversals(steps: Traversals, name: str, step: int, seed: int) -> Traversals:
    """Half of the traversals, drawn without replacement, for an interval."""
    sizes = torch.bincount(steps.group)
    chosen = _half(len(sizes), name, step, seed)
    length = sizes[chosen]
    group = torch.arange(len(chosen)).repeat_interleave(length)
    within = torch.arange(len(group)) - (length.cumsum(0) - length)[group]
    starts = sizes.cumsum(0) - sizes
    return Traversals(steps.index[starts[chosen][group] + within], group)


def _half(traversals: int, name: str, step: int, seed: int) -> Int[Tensor, " t"]:
    if traversals < 2:
        raise DataError(
            f"An interval comes from several traversals, and there is one of {name}. Leave it out."
        )
    order = noise.permutation(seed, f"metric/half {name}", step, traversals, 1)[:, 0]
    return order[: traversals // 2]


def grid_traversals(
    space: FactorSpace, factor: int, most: int, seed: int
) -> Int[Tensor, "t values"]:
    """Row numbers of traversals of a grid: all of them, or so many drawn with replacement.

    Example:
        >>> space = FactorSpace(("a", "b"), (2, 3), ("ordered", "ordered"))
        >>> grid_traversals(space, 0, 10, seed=0).tolist()
        [[0, 3], [1, 4], [2, 5]]
    """
    size, stride = space.sizes[factor], space.strides[factor]
    there = space.size // size
    if there <= most:
        other = torch.arange(there)
    else:
        other = noise.integers(seed, f"metric/walk {space.names[factor]}", 0, most, high=there)
    return space.traversal(other // stride * (stride * size) + other % stride, factor)


def random_pairs(size: int, pairs: int, convention: Convention, seed: int) -> Pairs:
    """Row numbers of pairs of any of ``size`` points.

    Example:
        >>> a, b = random_pairs(1000, 6400, "batches of 32", seed=0)
        >>> round((a == b).double().mean().item() * 32, 1)
        1.0
    """
    if convention == "independent":
        first = noise.integers(seed, "metric/pairs/first", 0, pairs, high=size)
        # On to another row: a row is never its own partner.
        step = noise.integers(seed, "metric/pairs/second", 0, pairs, high=max(size - 1, 1))
        return first, (first + 1 + step) % size
    batches = -(-pairs // IN_BATCH)
    points = noise.integers(seed, "metric/pairs/points", 0, batches, BATCH, high=size)
    places = noise.integers(seed, "metric/pairs/places", 0, 2, batches, IN_BATCH, high=BATCH)
    first, second = (points.gather(1, place).flatten()[:pairs] for place in places)
    return first, second


def pairs_along(steps: Traversals, pairs: int, seed: int, name: str) -> Pairs:
    """Row numbers of pairs within traversals, drawn with replacement."""
    sizes = torch.bincount(steps.group)
    starts = sizes.cumsum(0) - sizes
    first = noise.integers(seed, f"metric/along {name}/first", 0, pairs, high=len(steps.index))
    second = noise.integers(seed, f"metric/along {name}/second", 0, pairs, high=2**62)
    group = steps.group[first]
    return steps.index[first], steps.index[starts[group] + second % sizes[group]]


def covariances(codes: Float[Tensor, "m z"], group: Int[Tensor, " m"]) -> Float[Tensor, "t z z"]:
    """Covariance of the codes within each group."""
    group = group.to(codes.device)
    sizes = torch.bincount(group).double()
    z = codes.shape[1]
    total = codes.new_zeros(len(sizes), z).index_add_(0, group, codes)
    away = codes - (total / sizes[:, None])[group]
    products = codes.new_zeros(len(sizes), z, z)
    for rows, groups in zip(away.split(CHUNK), group.split(CHUNK), strict=True):
        products.index_add_(0, groups, rows[:, :, None] * rows[:, None, :])
    return products / sizes[:, None, None]


@dataclass(frozen=True)
class Shares:
    """The largest share of a traversal's variance, for each traversal of each factor."""

    by_factor: tuple[Float[Tensor, "2 _"], ...]
    """Of a single code, and of a single direction."""
    size: int
    """Number of variances compared: 1 / size is what equal ones give."""
    points: Points

    @property
    def axis(self) -> Float[Tensor, " f"]:
        """Mean over traversals of the share of a single code."""
        return torch.stack([share[0].mean() for share in self.by_factor])

    @property
    def line(self) -> Float[Tensor, " f"]:
        """Mean over traversals of the share of a single direction."""
        return torch.stack([share[1].mean() for share in self.by_factor])

    def normalize(self, share: Float[Tensor, " f"]) -> Float[Tensor, " f"]:
        """From 0 for equal variances to 1 for a single one."""
        least = 1 / self.size
        return ((share - least) / (1 - least)).clamp_min(0) if self.size > 1 else share

    def half(self, step: int) -> "Shares":
        """With half of the traversals of each factor, drawn without replacement."""
        rows = self.points.rows
        shares = [
            share[:, _half(share.shape[1], name, step, rows.seed).to(share.device)]
            for share, name in zip(self.by_factor, rows.names, strict=True)
        ]
        return replace(self, by_factor=tuple(shares))

    def measure(self, scaled: Float[Tensor, " f"], raw: Float[Tensor, " f"]) -> Measured:
        """A ratio of each factor and its geometric mean, and the same before it was scaled."""
        return Measured(
            {"": geometric(scaled), "raw": geometric(raw)},
            {"per_factor": scaled, "per_factor_raw": raw},
            self.points.remarks,
        )


def traversal_shares(rows: Rows, settings: TraversalSettings) -> Shares:
    """Both shares of every factor; errors are those of `traversals`."""
    return rows.remember(
        ("shares", settings), lambda: _shares(points(rows, settings.dead), settings)
    )


def _shares(sample: Points, settings: TraversalSettings) -> Shares:
    shares, size = [], 1
    for factor in range(len(sample.rows.names)):
        steps = traversals(sample, factor, settings.traversals)
        covariance = covariances(sample.code(steps.index), steps.group)
        by_code = covariance.diagonal(dim1=-2, dim2=-1)
        by_direction = torch.linalg.eigvalsh(covariance)
        by_code, by_direction = (torch.where(v > STILL, v, 0.0) for v in (by_code, by_direction))
        if settings.components == "top2":
            by_code, by_direction = (
                v.topk(min(2, v.shape[1])).values for v in (by_code, by_direction)
            )
        size = max(by_code.shape[1], 1)
        shares.append(torch.stack([_largest(by_code), _largest(by_direction)]))
    return Shares(tuple(shares), size, sample)


def _largest(variances: Float[Tensor, "t z"]) -> Float[Tensor, " t"]:
    """Share of the largest; one that never moves counts as equal shares, a lone one as 0."""
    size = variances.shape[1]
    if not size:
        return variances.new_zeros(len(variances))
    share = ratio(variances.amax(1), variances.sum(1))
    return torch.where(share > 0, share, 1 / size if size > 1 else 0.0)


def geometric(values: Float[Tensor, " f"]) -> Float[Tensor, ""]:
    """Geometric mean, with 0 for anything below.

    Example:
        >>> round(geometric(torch.tensor([0.5, 2.0, 1.0])).item(), 6)
        1.0
    """
    return values.clamp_min(0).log().mean().exp()
