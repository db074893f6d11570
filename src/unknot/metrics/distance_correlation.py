"""How well distances between codes agree with distances between factors, or between images."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.core.errors import ShapeError
from unknot.core.representation import Representation
from unknot.metrics.parts import protocols
from unknot.metrics.parts.distances import (
    DECIMALS,
    Convention,
    Pairs,
    agreement,
    pairs_along,
    random_pairs,
)
from unknot.metrics.parts.facts import metric
from unknot.metrics.parts.inputs import Array, Codes, Factors
from unknot.metrics.parts.result import Measured, Score, bootstrap, build
from unknot.metrics.parts.traversals import Dead, Walk, World, geometric, resampled, walk, world

Images: TypeAlias = Array | Callable[[Tensor], Tensor] | None
CHUNK = 1_000
"""Pairs of images compared at once."""


@dataclass(frozen=True)
class Settings:
    """Which pairs, and how long a difference of codes is."""

    traversals: int = 1024
    """At most so many of each factor; all of them, once each, where there are no more."""
    pairs: int = 65_536
    """For each factor, and at random."""
    random: Convention = "independent"
    norm: Literal[1, 2] = 1
    """Of differences of codes."""
    dead: Dead = "counted"
    """Codes that tell nothing about any factor."""
    version: int = 1


PROTOCOLS = {
    "paper": Settings(random="batches of 32"),
    # Codes as they are: the mean of a pruned unit still moves by a hundredth of the others', and to
    # divide it by its deviation would count it as one of them.
    "unknot": Settings(traversals=256, pairs=16_384, dead="left out", version=2),
}


@metric(
    better="higher",
    range=(0, 1),
    measures=("geometry",),
    cost=0.09,
    reads=(
        "1: along each factor, images that are further apart in it have codes that are further "
        "apart. A rotated code does as well."
    ),
)
def distance_correlation(
    codes: Codes,
    factors: Factors = None,
    *,
    images: Images = None,
    protocol: str | Settings = "unknot",
    seed: int = 0,
    interval: float | None = None,
) -> Score:
    r"""Distance correlation: whether codes lie as far apart as the factors they come from.

    $$\Big( \prod_k \max(0, \rho_k) \Big)^{1/K}, \qquad
    \rho_k = \mathrm{Spearman}\big( |v_k - v_k'|, \|z - z'\|_1 \big)$$

    over pairs in which only factor $k$ differs. ``.linear`` has Pearson's correlation in place of
    Spearman's; ``.global`` and ``.global_linear`` are over random pairs, with
    $\sum_k |v_k - v_k'|$. With images, ``.latent_data...`` compares codes with the mean squared
    difference of images, and ``.data_gt...`` images with factors.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data" (dissertation), eq. 4.1 to 4.3 and 4.10.
    Differs: a negative correlation counts as 0 in the geometric mean, which the paper leaves
    undefined, and so does that of a code that never moves. Distances that rounding alone tells
    apart are equal. ``unknot`` leaves dead codes out; ``paper`` draws random pairs as its author
    did, one in 32 being twice the same point, which raises ``.global``. Along a factor both draw
    with replacement. Nominal and cyclic factors count as ordered.
    Range: 0 to 1; ``.global...`` -1 to 1.
    Reads as: 1 means that along each factor codes keep the order of distances. It does not ask
    for one code per factor: rotated codes score 1 too.

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``; none with a representation.
        images: Images ``[n, ...]`` of the rows; with a representation, images by row number.
        protocol: A name or settings.
        seed: Of the traversals and pairs.
        interval: Level of a bootstrap interval over traversals, with fresh pairs each time.

    Raises:
        DataError: No rows show a factor moving alone, or too few for an interval.
        ShapeError: There is not one image per row.

    Example:
        >>> import numpy as np
        >>> factors = np.indices((5, 6)).reshape(2, -1).T
        >>> score = distance_correlation(factors**2.0, factors)
        >>> score["distance_correlation.linear"] < 1
        True
    """
    chosen = protocols.pick("distance_correlation", PROTOCOLS, protocol)
    settings = chosen.settings
    found = world(codes, factors, dead=settings.dead, seed=seed)
    walks = {
        name: walk(found, factor, settings.traversals, seed)
        for factor, name in enumerate(found.rows.names)
    }
    measured = _measure(found, walks, _pictures(images, codes), settings, seed)
    facts: dict[str, Any] = {"seed": seed}
    if interval is not None:
        between = _between(found, None, settings)

        def again(step: int) -> float:
            drawn = {name: resampled(walks[name], name, step, seed) for name in walks}
            return float(geometric(_along(drawn, between, settings, seed, f"/{step}")[1, 0, 1]))

        facts["interval"] = bootstrap(again, float(measured.values[""]), interval)
        facts["level"] = interval
    return build(chosen, measured, found.rows, **facts)


def _pictures(images: Images, codes: Codes) -> Callable[[Tensor], Tensor] | None:
    if images is None or callable(images):
        return images
    wanted = codes.space.size if isinstance(codes, Representation) else len(codes)
    if len(images) != wanted:
        raise ShapeError(f"Expected {wanted} images, one per row; got {len(images)}.")
    if isinstance(images, Tensor):
        return lambda index: images[index.to(images.device)]
    return lambda index: torch.from_numpy(images[index.numpy()])


Between: TypeAlias = Callable[[Pairs], Tensor]
"""Distances of factors, of codes and, where there are images, of images, by pair."""


def _between(
    found: World, picture: Callable[[Tensor], Tensor] | None, settings: Settings
) -> Between:
    def distances(pairs: Pairs) -> Float[Tensor, "d p"]:
        first, second = pairs
        latent = torch.linalg.vector_norm(
            found.code(first) - found.code(second), ord=settings.norm, dim=1
        )
        truth = (found.value(first) - found.value(second)).abs().sum(1)
        # Codes that stand still but for rounding are at distance 0.
        measures = [truth, latent.round(decimals=DECIMALS)]
        if picture:
            chunks = zip(first.split(CHUNK), second.split(CHUNK), strict=True)
            data = [
                (picture(a).double() - picture(b).double()).square().flatten(1).mean(1)
                for a, b in chunks
            ]
            measures.append(torch.cat(data).to(latent.device))
        return torch.stack(measures)

    return distances


def _along(
    walks: Mapping[str, Walk], between: Between, settings: Settings, seed: int, stream: str = ""
) -> Float[Tensor, "2 d d f"]:
    """Pearson's and Spearman's correlations of all distances, along each factor."""
    found = []
    for name, steps in walks.items():
        pairs = pairs_along(steps, settings.pairs, seed, name + stream)
        found.append(torch.stack(agreement(between(pairs))))
    return torch.stack(found, dim=-1)


def _measure(
    found: World,
    walks: Mapping[str, Walk],
    picture: Callable[[Tensor], Tensor] | None,
    settings: Settings,
    seed: int,
) -> Measured:
    between = _between(found, picture, settings)
    per_factor = _along(walks, between, settings, seed)
    everywhere = torch.stack(
        agreement(between(random_pairs(found.size, settings.pairs, settings.random, seed)))
    )
    values: dict[str, Tensor | float] = {}
    parts = {}
    compared = {"": (0, 1)} | ({"latent_data": (1, 2), "data_gt": (0, 2)} if picture else {})
    for what, (i, j) in compared.items():
        for how, row in (("", 1), ("linear", 0)):
            each = per_factor[row, i, j]
            values["_".join(filter(None, (what, how)))] = geometric(each)
            values["_".join(filter(None, (what, "global", how)))] = everywhere[row, i, j]
            parts["_".join(filter(None, (what, "per_factor", how)))] = each
    below = [
        name
        for name, value in zip(found.rows.names, parts["per_factor"].tolist(), strict=True)
        if value < 0
    ]
    remarks = (f"counted as 0 for a negative correlation: {', '.join(below)}",) if below else ()
    return Measured(values, parts, (*found.remarks, *remarks))
