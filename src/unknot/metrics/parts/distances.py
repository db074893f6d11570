"""Pairs of points, and how well two measures of their distance agree."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.metrics.parts.tables import correlation, midranks, ranged
from unknot.metrics.parts.traversals import Walk

Convention: TypeAlias = Literal["independent", "batches of 32"]
"""Random pairs: of two different draws, or with replacement within batches of 32 random points.

The second is how the published numbers of Michlo 2022 were drawn: one pair in 32 is a point and
itself, which every distance calls 0, and so raises every correlation.
"""
Pairs: TypeAlias = tuple[Int[Tensor, " p"], Int[Tensor, " p"]]
BATCH, IN_BATCH = 32, 64
DECIMALS = 6
"""Distances closer than this share of the largest are one distance: rounding is no order."""


@dataclass(frozen=True)
class Agreement:
    """Correlation of two measures of distance."""

    linear: float
    """Pearson's."""
    rank: float
    """Spearman's."""


@dataclass(frozen=True)
class Spread:
    """Distances of pairs of different points, smallest first."""

    distances: Float[Tensor, " p"]

    @property
    def mean(self) -> float:
        """Mean; of images under a reconstruction loss, what confusing them costs a decoder."""
        return self.distances.mean().item()

    @property
    def deviation(self) -> float:
        """Standard deviation; 0 means that distances tell nothing about order."""
        return self.distances.std(correction=0).item()

    def cdf(self, at: Float[Tensor, " k"]) -> Float[Tensor, " k"]:
        """Share of distances up to the given ones."""
        at = at.to(self.distances)
        return torch.searchsorted(self.distances, at, right=True) / len(self.distances)


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


def pairs_along(walk: Walk, pairs: int, seed: int, name: str) -> Pairs:
    """Row numbers of pairs within traversals, drawn with replacement."""
    sizes = torch.bincount(walk.group)
    starts = sizes.cumsum(0) - sizes
    first = noise.integers(seed, f"metric/along {name}/first", 0, pairs, high=len(walk.index))
    second = noise.integers(seed, f"metric/along {name}/second", 0, pairs, high=2**62)
    group = walk.group[first]
    return walk.index[first], walk.index[starts[group] + second % sizes[group]]


def agreement(distances: Float[Tensor, "d p"]) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"]]:
    """Pearson's and Spearman's correlation of measures of distance; 0 for a constant one.

    Example:
        >>> pearson, spearman = agreement(torch.tensor([[0.0, 1, 2, 3], [0, 1, 4, 9]]).double())
        >>> round(pearson[0, 1].item(), 4), round(spearman[0, 1].item(), 4)
        (0.9583, 1.0)
    """
    columns = ranged(distances.T)
    ranks = midranks(columns.round(decimals=DECIMALS))
    return correlation(columns, columns), correlation(ranks, ranks)
