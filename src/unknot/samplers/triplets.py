"""Triplets of rows: an anchor and two others, the nearer one first."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factors import FactorSpace
from unknot.core.noise import Count
from unknot.core.registry import nearest
from unknot.samplers.parts.sampler import Rows, column, independent_rows
from unknot.samplers.parts.weights import Weight

Order: TypeAlias = Literal["category", "factors", "distance", "scaled", "recon"]
Distance: TypeAlias = Callable[[Tensor, Tensor], Tensor]
REDRAWS = 8


@dataclass(frozen=True)
class Triplets:
    r"""Triplets: an anchor, a positive, and a negative at least as far away as the positive.

    Three independent rows; the first is the anchor, and the other two change places where needed
    for $s(a, p) \le s(a, n)$. The distance $s$ between rows with factor values $y$ is

    - ``category``: whether one factor differs, $[y_i^a \ne y_i^b]$;
    - ``factors``: how many factors differ;
    - ``distance``: $\sum_i |y_i^a - y_i^b|$;
    - ``scaled``: $\sum_i |y_i^a - y_i^b| / (f_i - 1)$, with $f_i$ values of factor $i$; compared
      exactly, as whole numbers, by the least common multiple of all $f_i - 1$. Sums of rounded
      fractions order one XYSquares triplet in 80 wrongly;
    - ``recon``: the mean squared error between the images, which needs no factors; where rows
      have nuisance variants, between those of variant 0.

    Cyclic and nominal factors count as ordered ones here, as in the paper.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.3, with the distances 5.5, 5.6, 5.9, 5.11 and 5.24.

    Args:
        order: The distance.
        ties: ``kept``, in the order drawn; or ``redrawn``, all three rows, at most eight times: of
            triplets that are tied with probability $q$ a share of $q^9$ stays so, 2e-11 for
            ``scaled`` and 1e-4 for ``factors`` on XYSquares.
        factor: The factor of ``category``, by name.
        weights: What makes some rows likelier than others, as in ``samplers/parts/weights.py``.
    """

    order: Order = "scaled"
    ties: Literal["kept", "redrawn"] = "kept"
    factor: str | None = None
    weights: tuple[Weight, ...] = ()
    views: ClassVar[int] = 3

    def __post_init__(self) -> None:
        check_choices(self, "order", "ties")
        if (self.factor is None) == (self.order == "category"):
            raise ConfigError(
                f"Triplets.factor names the factor of the order 'category' and goes with it alone; "
                f"got factor {self.factor!r} and order '{self.order}'."
            )

    def bind(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """The triplets of a dataset."""
        any_rows = independent_rows(dataset, self.weights, device)
        distance = self.distance(dataset, device)
        redraws = REDRAWS if self.ties == "redrawn" else 0

        def apart(triplet: Tensor) -> tuple[Tensor, Tensor]:
            a, p, n = triplet.unbind(-2)
            return distance(a, p), distance(a, n)

        def rows(seed: Count, t: Count, batch: int) -> Tensor:
            streams = ["order", *(f"order/again/{i}" for i in range(redraws))]
            triplet, *others = (
                any_rows(seed, s, t, 3 * batch).unflatten(-1, (3, batch)) for s in streams
            )
            near, far = apart(triplet)
            for other in others:
                triplet = torch.where((near == far).unsqueeze(-2), other, triplet)
                near, far = apart(triplet)
            a, p, n = triplet.unbind(-2)
            swap = near > far
            return torch.cat([a, torch.where(swap, n, p), torch.where(swap, p, n)], dim=-1)

        return rows

    def distance(self, dataset: FactorDataset, device: torch.device) -> Distance:
        """What triplets are ordered by, up to a constant; whole numbers but for ``recon``."""
        if self.order == "recon":
            return lambda a, b: _image_distance(dataset, a, b)
        dataset.require_factors(f"Triplets by '{self.order}'", ", or take order 'recon'")
        space = dataset.space.require_grid("Triplets")
        strides, sizes = column(space.strides, device), column(space.sizes, device)
        scale = column(self._scale(space), device)
        differs = self.order in ("category", "factors")

        def distance(a: Tensor, b: Tensor) -> Tensor:
            steps = (a.unsqueeze(-2) // strides % sizes - b.unsqueeze(-2) // strides % sizes).abs()
            return ((steps.clamp(max=1) if differs else steps) * scale).sum(-2)

        return distance

    def _scale(self, space: FactorSpace) -> list[int]:
        """What a step along each factor counts."""
        if self.order == "category":
            several = [n for n, size in zip(space.names, space.sizes, strict=True) if size > 1]
            if self.factor not in several:
                raise ConfigError(
                    f"Triplets.factor: '{self.factor}' is no factor with several values"
                    f"{nearest(str(self.factor), several)}"
                )
            return [int(name == self.factor) for name in space.names]
        if self.order != "scaled":
            return [1] * len(space)
        if constant := [n for n, size in zip(space.names, space.sizes, strict=True) if size == 1]:
            raise ConfigError(
                f"Triplets by 'scaled' divide by the size of a factor less one, and {constant} "
                "have one value; take order 'distance', or data without them."
            )
        common = math.lcm(*(size - 1 for size in space.sizes))
        if common * len(space) > torch.iinfo(torch.int64).max:
            raise ConfigError(
                f"Triplets by 'scaled' count in parts of 1 / {common} for the sizes {space.sizes}, "
                "more than 64 bits hold; take order 'distance'."
            )
        return [common // (size - 1) for size in space.sizes]


def _image_distance(dataset: FactorDataset, a: Tensor, b: Tensor) -> Tensor:
    """The root of the squared error, which orders as its mean does.

    Summed in float64 and then rounded, so that what is equal stays so in whichever order a device
    adds up.
    """
    difference = (dataset.batch(a) - dataset.batch(b)).flatten(-3)
    norm: Tensor = torch.linalg.vector_norm(difference, dim=-1, dtype=torch.float64)
    return norm.float()
