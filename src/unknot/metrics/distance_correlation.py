"""How well distances between codes agree with distances between factors, or between images."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unknot.metrics.parts.distances import DECIMALS, agreement
from unknot.metrics.parts.facts import RowSettings
from unknot.metrics.parts.rows import Rows
from unknot.metrics.parts.scoring import Measured, metric
from unknot.metrics.parts.traversals import (
    Convention,
    Dead,
    Pairs,
    Points,
    Traversals,
    geometric,
    half_traversals,
    pairs_along,
    points,
    random_pairs,
    traversals,
)

CHUNK = 1_000
"""Pairs of images compared at once."""


@dataclass(frozen=True)
class Settings(RowSettings):
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


@dataclass(frozen=True)
class Sample:
    """Points, and traversals of each factor by its name."""

    points: Points
    traversals: Mapping[str, Traversals]
    stream: str = ""
    """Of the pairs that are drawn within traversals."""

    def half(self, step: int) -> "Sample":
        """With half of the traversals of each factor, without replacement, and fresh pairs."""
        rows = replace(self.points.rows, images=None)  # the score itself does not read them
        again = {
            name: half_traversals(steps, name, step, rows.seed)
            for name, steps in self.traversals.items()
        }
        return Sample(replace(self.points, rows=rows), again, f"/{step}")

    def distances(self, pairs: Pairs, settings: Settings) -> Float[Tensor, "d p"]:
        """Of factors, of codes and, where there are images, of images, by pair."""
        first, second = pairs
        code, value, images = self.points.code, self.points.value, self.points.rows.images
        latent = torch.linalg.vector_norm(code(first) - code(second), ord=settings.norm, dim=1)
        truth = (value(first) - value(second)).abs().sum(1)
        # Codes that stand still but for rounding are at distance 0.
        measures = [truth, latent.round(decimals=DECIMALS)]
        if images:
            chunks = zip(first.split(CHUNK), second.split(CHUNK), strict=True)
            data = [
                (images(a).double() - images(b).double()).square().flatten(1).mean(1)
                for a, b in chunks
            ]
            measures.append(torch.cat(data).to(latent.device))
        return torch.stack(measures)


def _sample(rows: Rows, settings: Settings) -> Sample:
    sample_points = points(rows, settings.dead)
    by_name = {
        name: traversals(sample_points, factor, settings.traversals)
        for factor, name in enumerate(rows.names)
    }
    return Sample(sample_points, by_name)


@metric(
    PROTOCOLS,
    options=("images", "interval"),
    sample=_sample,
    range=(0, 1),
    measures=("geometry",),
    depends_on=("distances", "draws"),
    cost=0.09,
    reads=(
        "1: along each factor, images that are further apart have codes that are further "
        "apart. A rotated code also gets 1."
    ),
)
def distance_correlation(sample: Sample, settings: Settings) -> Measured:
    r"""Distance correlation: how closely distances between codes follow distances of factors.

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
    apart are equal. ``unknot`` leaves dead latents out; ``paper`` draws random pairs as its author
    did, one in 32 being twice the same point, which raises ``.global``. Along a factor both sample
    with replacement. Nominal and cyclic factors count as ordered.
    Note: ``.global...`` is -1 to 1.

    Args:
        codes: Codes ``[n, z]``, or a representation.
        factors: Factor values ``[n, f]``; none with a representation.
        images: Images ``[n, ...]`` of the rows; with a representation, images by row number. For
            another loss than the squared error, whatever has it as its squared distance.
        protocol: A name or settings.
        seed: Of the traversals and pairs.
        interval: Level of an interval by half-samples of the traversals, each with fresh pairs.

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
    rows = sample.points.rows
    along = []
    for name, steps in sample.traversals.items():
        pairs = pairs_along(steps, settings.pairs, rows.seed, name + sample.stream)
        along.append(torch.stack(agreement(sample.distances(pairs, settings))))
    per_factor = torch.stack(along, dim=-1)  # Pearson's and Spearman's, of all distances
    anywhere = random_pairs(sample.points.size, settings.pairs, settings.random, rows.seed)
    everywhere = torch.stack(agreement(sample.distances(anywhere, settings)))
    values: dict[str, Tensor | float] = {}
    parts = {}
    compared = {"": (0, 1)} | ({"latent_data": (1, 2), "data_gt": (0, 2)} if rows.images else {})
    for what, (i, j) in compared.items():
        for how, row in (("", 1), ("linear", 0)):
            samples = per_factor[row, i, j]
            values["_".join(filter(None, (what, how)))] = geometric(samples)
            values["_".join(filter(None, (what, "global", how)))] = everywhere[row, i, j]
            parts["_".join(filter(None, (what, "per_factor", how)))] = samples
    below = [
        name
        for name, value in zip(rows.names, parts["per_factor"].tolist(), strict=True)
        if value < 0
    ]
    remarks = (f"counted as 0 for a negative correlation: {', '.join(below)}",) if below else ()
    return Measured(values, parts, (*sample.points.remarks, *remarks))
