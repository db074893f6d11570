"""How far apart the points of a dataset lie along its factors, by their images, codes or factors.

The perceived distance of two images is the reconstruction loss of one by the other, and its
negative their overlap: what a decoder pays for confusing them. Distance matrices of factors,
images, codes, posteriors and reconstructions side by side show whether a model took over the
distances of its data.

Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires overlapping
data" (dissertation), sections 3.2, 3.4, 3.5 and 4.2, figures 3.4, 3.5, 3.9 and 3.11.

Functions of a dataset take ``images``, a function from row numbers of the grid to images. Printed
numbers of the paper are of images in [0, 1]. Traversals are used whole: of `traversals` of them, or
of all if there are no more, every ordered pair counts once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ConfigError, DataError, ShapeError
from unknot.core.factors import FactorSpace
from unknot.core.registry import nearest
from unknot.metrics.parts.columns import correlation, midranks, to_unit_range
from unknot.metrics.parts.distance_sources import Images, Loss, Source, mse
from unknot.metrics.parts.traversals import Convention, grid_traversals, random_pairs

Matrices: TypeAlias = dict[str, dict[str, Float[Tensor, "v v"]]]
"""By factor and source."""

DECIMALS = 6
"""Distances closer than this share of the largest are one distance: rounding is no order."""
AT_ONCE = 512
"""Images in memory at once."""
RANDOM = "random"
"""Stands for pairs that differ in any factor."""


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
    matrices = []
    for part in index.split(max(AT_ONCE // values, 1)):
        x = images(part.flatten())
        x = x.reshape(len(part), values, *x.shape[1:])
        matrices.append(_squares(x) if loss is mse else _pairwise(x, loss))
    return torch.cat(matrices)


def _every_factor(
    images: Images, space: FactorSpace, traversals: int, loss: Loss, seed: int
) -> Iterator[tuple[str, Float[Tensor, "t v v"]]]:
    """The matrices of `traversal_distances` by the name of each factor that varies."""
    for name, size in zip(space.names, space.sizes, strict=True):
        if size > 1:
            yield (
                name,
                traversal_distances(
                    images, space, name, traversals=traversals, loss=loss, seed=seed
                ),
            )


def mean_matrices(
    sources: Mapping[str, Source], space: FactorSpace, *, traversals: int = 64, seed: int = 0
) -> Matrices:
    r"""Mean over traversals of the distances between their points, for every factor that varies.

    $$D_{uv} = \mathrm{E}_a\, d(x^{(u)}, x^{(v)}), \quad x^{(1)}, x^{(2)}, \dots
    \text{ the traversal of the factor through } a$$

    All sources see the same traversals.

    Equation: 3.7.

    Args:
        sources: By name.
        space: The grid.
        traversals: At most so many of each factor, from starts drawn with replacement.
        seed: Of the starts.

    Example:
        >>> space = FactorSpace(("a", "b"), (2, 3), ("ordered", "ordered"))
        >>> matrices = mean_matrices({"factors": Source.from_factors(space)}, space)
        >>> matrices["b"]["factors"].tolist()
        [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
    """
    matrices: Matrices = {}
    for name, source in sources.items():
        by_factor = _every_factor(source.rows, space, traversals, source.distance, seed)
        for factor, matrix in by_factor:
            mean = matrix.double().mean(0).cpu()
            if not bool(mean.isfinite().all()):
                raise DataError(
                    f"Distances of {name} along '{factor}' are not finite numbers; a diverged "
                    "model has none."
                )
            matrices.setdefault(factor, {})[name] = mean
    return matrices


def agreement(distances: Float[Tensor, "d p"]) -> tuple[Float[Tensor, "d d"], Float[Tensor, "d d"]]:
    """Pearson's and Spearman's correlation of measures of distance; 0 for a constant one.

    Example:
        >>> pearson, spearman = agreement(torch.tensor([[0.0, 1, 2, 3], [0, 1, 4, 9]]).double())
        >>> round(pearson[0, 1].item(), 4), round(spearman[0, 1].item(), 4)
        (0.9583, 1.0)
    """
    columns = to_unit_range(distances.T)
    ranks = midranks(columns.round(decimals=DECIMALS))
    return correlation(columns, columns), correlation(ranks, ranks)


def rank_agreement(matrices: Mapping[str, Float[Tensor, "v v"]], first: str, second: str) -> float:
    """Spearman's correlation of the matrices of two sources; 0 for a constant one.

    Example:
        >>> one, other = torch.tensor([[0.0, 1], [1, 0]]), torch.tensor([[0.0, 3], [5, 0]])
        >>> round(rank_agreement({"x": one, "y": other}, "x", "y"), 4)
        0.9428
    """
    both = torch.stack([matrices[first].flatten(), matrices[second].flatten()])
    return agreement(both)[1][0, 1].item()


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

    def cdf(self, distance: Float[Tensor, " k"]) -> Float[Tensor, " k"]:
        """Share of distances up to certain ones."""
        distance = distance.to(self.distances)
        return torch.searchsorted(self.distances, distance, right=True) / len(self.distances)


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
        >>> spreads = importance(lambda i: space.factors(i).double(), space)
        >>> [(name, round(spread.mean, 3)) for name, spread in spreads.items()][:2]
        [('b', 1.0), ('a', 0.5)]
    """
    spreads = {}
    for name, matrix in _every_factor(images, space, traversals, loss, seed):
        apart = ~torch.eye(matrix.shape[-1], dtype=torch.bool, device=matrix.device)
        spreads[name] = Spread(matrix[:, apart].flatten().double().sort().values)
    spreads[RANDOM] = Spread(
        random_distances(images, space, pairs=pairs, loss=loss, seed=seed)[1].sort().values
    )
    return dict(sorted(spreads.items(), key=lambda item: (item[0] == RANDOM, -item[1].mean)))


@dataclass(frozen=True)
class Agreement:
    """Correlation of two measures of distance."""

    linear: float
    """Pearson's."""
    rank: float
    """Spearman's."""


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
        >>> along_b = correlations(lambda i: torch.eye(16)[i], space)["b"]
        >>> round(along_b.linear, 4), round(along_b.rank, 4)
        (0.5222, 0.5804)
    """
    distances = {}
    for name, matrix in _every_factor(images, space, traversals, loss, seed):
        steps = torch.arange(matrix.shape[-1], device=matrix.device, dtype=torch.float64)
        truth = (steps[:, None] - steps).abs().expand(matrix.shape)
        distances[name] = torch.stack([truth.flatten(), matrix.double().flatten()])
    distances[RANDOM] = random_distances(
        images, space, pairs=pairs, convention=convention, loss=loss, seed=seed
    )
    both = {name: agreement(pair) for name, pair in distances.items()}
    return {
        name: Agreement(linear[0, 1].item(), rank[0, 1].item())
        for name, (linear, rank) in both.items()
    }


def _squares(x: Float[Tensor, "t v ..."]) -> Float[Tensor, "t v v"]:
    """`mse` of all pairs from inner products, many times faster; float64 keeps small ones."""
    x = x.flatten(2).double()
    products = x @ x.mT
    norms = products.diagonal(dim1=-2, dim2=-1)
    return (norms[:, :, None] + norms[:, None, :] - 2 * products).clamp_min(0) / x.shape[2]


def _pairwise(x: Tensor, loss: Loss) -> Float[Tensor, "t v v"]:
    flat = x.flatten(0, 1)
    rows = [
        _checked(loss(x[:, v, None].expand_as(x).flatten(0, 1), flat), len(flat))
        for v in range(x.shape[1])
    ]
    return torch.stack([row.reshape(x.shape[:2]) for row in rows], dim=1)


def _checked(distances: Tensor, pairs: int) -> Tensor:
    if distances.shape != (pairs,):
        raise ShapeError(
            f"A perceived distance is one number for each of {pairs} pairs; the loss returned "
            f"shape {tuple(distances.shape)}. Leave out its mean or sum over the batch."
        )
    return distances
