"""Pairs of points, and how far apart the images of a dataset lie along its factors.

The perceived distance of two images is the reconstruction loss of one by the other, and its
negative their overlap: what a decoder pays for confusing them.

Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires overlapping
data" (dissertation), sections 3.2, 3.5 and 4.2.

Functions of a dataset take ``images``, a function from row numbers of the grid to images. Printed
numbers of the paper are of images in [0, 1]. Traversals are used whole: of `traversals` of them, or
of all if there are no more, every ordered pair counts once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.errors import ConfigError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.registry import nearest
from unknot.losses.overlap import Overlap
from unknot.metrics.parts.tables import correlation, midranks, ranged
from unknot.metrics.parts.traversals import Traversals, grid_traversals

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


def pairs_along(steps: Traversals, pairs: int, seed: int, name: str) -> Pairs:
    """Row numbers of pairs within traversals, drawn with replacement."""
    sizes = torch.bincount(steps.group)
    starts = sizes.cumsum(0) - sizes
    first = noise.integers(seed, f"metric/along {name}/first", 0, pairs, high=len(steps.index))
    second = noise.integers(seed, f"metric/along {name}/second", 0, pairs, high=2**62)
    group = steps.group[first]
    return steps.index[first], steps.index[starts[group] + second % sizes[group]]


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


Images: TypeAlias = Callable[[Tensor], Tensor]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]
"""From images ``[n, ...]`` and reconstructions to one number for each."""

AT_ONCE = 512
"""Images held at once."""
RANDOM = "random"
"""Stands for pairs that differ in any factor."""


def mse(first: Float[Tensor, "n ..."], second: Float[Tensor, "n ..."]) -> Float[Tensor, " n"]:
    """Mean over elements of the squared difference.

    Example:
        >>> mse(torch.zeros(2, 1, 4), torch.tensor([[[0.0, 0, 0, 2]], [[1, 1, 1, 1]]])).tolist()
        [1.0, 1.0]
    """
    return (first - second).square().flatten(1).mean(1)


def overlapping(overlap: Overlap) -> Loss:
    """The perceived distance under an overlap loss: mean over elements of both its parts.

    Example:
        >>> distance = overlapping(Overlap(radius=1, alpha=9.0))
        >>> distance(torch.zeros(1, 1, 3, 3), torch.ones(1, 1, 3, 3)).item()
        4.567...
    """

    def loss(first: Float[Tensor, "n c h w"], second: Float[Tensor, "n c h w"]) -> Tensor:
        difference = first - second
        blurred = overlap.blurred_error(difference) / difference[0].numel()
        return difference.square().flatten(1).mean(1) + blurred

    return loss


def traversal_distances(
    images: Images,
    space: FactorSpace,
    factor: str,
    *,
    traversals: int = 1024,
    loss: Loss = mse,
    seed: int = 0,
) -> Float[Tensor, "t v v"]:
    r"""Distance matrix of every traversal of a factor; their mean is eq. 3.7 of the paper.

    $$D_{uv} = d(x^{(u)}, x^{(v)})$$

    Args:
        images: Images by row number.
        space: The grid.
        factor: Name of the factor that moves.
        traversals: At most so many, from starts drawn with replacement.
        loss: Perceived distance.
        seed: Of the starts.

    Example:
        >>> space = FactorSpace(("a", "b"), (2, 3), ("ordered", "ordered"))
        >>> traversal_distances(lambda i: space.factors(i).double(), space, "b").mean(0).tolist()
        [[0.0, 0.5, 2.0], [0.5, 0.0, 0.5], [2.0, 0.5, 0.0]]
    """
    if factor not in space.names:
        raise ConfigError(f"There is no factor '{factor}'{nearest(factor, list(space.names))}")
    index = grid_traversals(space, space.names.index(factor), traversals, seed)
    values = index.shape[1]
    found = []
    for part in index.split(max(AT_ONCE // values, 1)):
        x = images(part.flatten())
        x = x.reshape(len(part), values, *x.shape[1:])
        found.append(_squares(x) if loss is mse else _pairwise(x, loss))
    return torch.cat(found)


def random_distances(
    images: Images,
    space: FactorSpace,
    *,
    pairs: int = 50_000,
    convention: Convention = "independent",
    loss: Loss = mse,
    seed: int = 0,
) -> Float[Tensor, "2 p"]:
    """Distance of factors, the sum over them of differences in value, and of images, by pair."""
    first, second = random_pairs(space.size, pairs, convention, seed)
    chunks = zip(first.split(AT_ONCE), second.split(AT_ONCE), strict=True)
    seen = torch.cat([_checked(loss(images(a), images(b)), len(a)) for a, b in chunks]).double()
    truth = (space.factors(first) - space.factors(second)).abs().sum(1)
    return torch.stack([truth.to(seen), seen])


def importance(
    images: Images,
    space: FactorSpace,
    *,
    traversals: int = 1024,
    pairs: int = 50_000,
    loss: Loss = mse,
    seed: int = 0,
) -> dict[str, Spread]:
    r"""Distances along each factor, the most important factor first, and of random pairs.

    $$d_k = \mathrm{E}\, d(x, x'), \quad x' \ne x \text{ on the traversal of factor } k
    \text{ through } x$$

    A VAE learns factors of larger $d_k$ first. The key ``random`` holds pairs of any two rows.

    Paper: section 3.5, eq. 3.9 and 3.10, table 3.1, figure 3.13.

    Example:
        >>> space = FactorSpace(("a", "b"), (2, 3), ("ordered", "ordered"))
        >>> found = importance(lambda i: space.factors(i).double(), space)
        >>> [(name, round(spread.mean, 3)) for name, spread in found.items()][:2]
        [('b', 1.0), ('a', 0.5)]
    """
    found = {}
    for name, size in zip(space.names, space.sizes, strict=True):
        if size > 1:
            matrix = traversal_distances(
                images, space, name, traversals=traversals, loss=loss, seed=seed
            )
            apart = ~torch.eye(size, dtype=torch.bool, device=matrix.device)
            found[name] = Spread(matrix[:, apart].flatten().double().sort().values)
    found[RANDOM] = Spread(
        random_distances(images, space, pairs=pairs, loss=loss, seed=seed)[1].sort().values
    )
    return dict(sorted(found.items(), key=lambda item: (item[0] == RANDOM, -item[1].mean)))


def correlations(
    images: Images,
    space: FactorSpace,
    *,
    traversals: int = 1024,
    pairs: int = 50_000,
    convention: Convention = "independent",
    loss: Loss = mse,
    seed: int = 0,
) -> dict[str, Agreement]:
    """How well distances of images agree with those of factors, by factor and for random pairs.

    Along a factor an image and itself are a pair as any other, as if drawn with replacement: where
    all different images are equally far apart there would be no correlation else. For random pairs
    the convention ``batches of 32`` is the paper's; see `Convention`.

    Paper: section 4.2, tables 4.1, 4.2 and 6.1.

    Example:
        >>> space = FactorSpace(("a", "b"), (2, 8), ("ordered", "ordered"))
        >>> found = correlations(lambda i: torch.eye(16)[i], space)
        >>> round(found["b"].linear, 4), round(found["b"].rank, 4)
        (0.5222, 0.5804)
    """
    found = {}
    for name, size in zip(space.names, space.sizes, strict=True):
        if size > 1:
            matrix = traversal_distances(
                images, space, name, traversals=traversals, loss=loss, seed=seed
            )
            steps = torch.arange(size, device=matrix.device, dtype=torch.float64)
            truth = (steps[:, None] - steps).abs().expand(matrix.shape)
            found[name] = _agreement(torch.stack([truth.flatten(), matrix.double().flatten()]))
    found[RANDOM] = _agreement(
        random_distances(images, space, pairs=pairs, convention=convention, loss=loss, seed=seed)
    )
    return found


def _squares(x: Float[Tensor, "t v ..."]) -> Float[Tensor, "t v v"]:
    """`mse` of all pairs from inner products, many times faster; float64 keeps small ones."""
    x = x.flatten(2).double()
    products = x @ x.mT
    own = products.diagonal(dim1=-2, dim2=-1)
    return (own[:, :, None] + own[:, None, :] - 2 * products).clamp_min(0) / x.shape[2]


def _pairwise(x: Tensor, loss: Loss) -> Float[Tensor, "t v v"]:
    flat = x.flatten(0, 1)
    rows = [
        _checked(loss(x[:, v, None].expand_as(x).flatten(0, 1), flat), len(flat))
        for v in range(x.shape[1])
    ]
    return torch.stack([row.reshape(x.shape[:2]) for row in rows], dim=1)


def _agreement(distances: Float[Tensor, "2 p"]) -> Agreement:
    linear, rank = agreement(distances)
    return Agreement(linear[0, 1].item(), rank[0, 1].item())


def _checked(distances: Tensor, pairs: int) -> Tensor:
    if distances.shape != (pairs,):
        raise ShapeError(
            f"A perceived distance is one number for each of {pairs} pairs; the loss returned "
            f"shape {tuple(distances.shape)}. Leave out its mean or sum over the batch."
        )
    return distances
