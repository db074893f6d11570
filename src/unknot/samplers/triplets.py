"""Triplets of rows: an anchor and two others, the nearer one first."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

import torch
from torch import Tensor

from unknot.core import noise
from unknot.core.choices import check_choices
from unknot.core.dataset import FactorDataset
from unknot.core.errors import ConfigError
from unknot.core.factor_table import Space
from unknot.core.factors import FactorSpace
from unknot.core.noise import Count
from unknot.core.registry import nearest
from unknot.samplers.parts.blocks import Blocks
from unknot.samplers.parts.sampler import Rows, column, independent_rows
from unknot.samplers.parts.weights import Weight, table

Order: TypeAlias = Literal["category", "factors", "distance", "scaled", "recon"]
Distance: TypeAlias = Callable[[Tensor, Tensor], Tensor]
REDRAWS = 8


@dataclass(frozen=True)
class Triplets:
    r"""Triplets: an anchor, a positive, and a negative at least as far away as the positive.

    Three independent rows; the first is the anchor, and the other two change places where needed
    for $s(a, p) \le s(a, n)$. The distance $s$ between rows with factor values $y$ is

    - ``category``: whether one factor differs, $[y_i^a \ne y_i^b]$; here the positive is drawn
      among rows of the anchor's class and the negative among all others, so there are no ties;
    - ``factors``: how many factors differ;
    - ``distance``: $\sum_i |y_i^a - y_i^b|$;
    - ``scaled``: $\sum_i |y_i^a - y_i^b| / (f_i - 1)$, with $f_i$ values of factor $i$; compared
      exactly, as whole numbers, by the least common multiple of all $f_i - 1$. Sums of rounded
      fractions order one XYSquares triplet in 80 wrongly;
    - ``recon``: the mean squared error between the images, which needs no factors; where rows
      have nuisance variants, between those of variant 0.

    Cyclic and nominal factors count as ordered ones here, as in the paper. Factors of one value
    count nothing, nor do labels that are missing.

    Paper: Michlo 2022, "Disentanglement using VAEs resembles distance learning and requires
    overlapping data".
    Equation: 5.3, with the distances 5.5, 5.6, 5.9, 5.11 and 5.24.
    Differs: three independent rows and one class are tied in most cases, so classes are drawn.

    Args:
        order: The distance.
        ties: ``kept``, in the order drawn; or ``redrawn``, all three rows, at most eight times: of
            triplets that are tied with probability $q$ a share of $q^9$ stays so, 2e-11 for
            ``scaled`` and 1e-4 for ``factors`` on XYSquares.
        factor: The factor of ``category``, by name.
        weights: What makes some rows likelier than others, as in ``samplers/parts/weights.py``.

    Example: `unknot.train("dsprites", "tvae", sampler=samplers.Triplets(ties="kept"))`
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
        if self.order == "category":
            return self._by_category(dataset, device)
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
        space = dataset.space
        scale = column(self._scale(space), device)
        differs, values = self.order in ("category", "factors"), _values(space, device)

        def distance(a: Tensor, b: Tensor) -> Tensor:
            first, second = values(a), values(b)
            steps = (first - second).abs()
            if not space.is_grid:  # a missing label is no distance
                steps = steps * ((first >= 0) & (second >= 0))
            return ((steps.clamp(max=1) if differs else steps) * scale).sum(-2)

        return distance

    def _by_category(self, dataset: FactorDataset, device: torch.device) -> Rows:
        """An anchor, another row of its class, and a row of another class."""
        dataset.require_factors("Triplets by 'category'", ", or take order 'recon'")
        space = dataset.space
        axis = self._scale(space).index(1)
        streams = ("order", "order/positive", "order/negative")
        if isinstance(space, FactorSpace) and not self.weights:
            size, stride = space.sizes[axis], space.strides[axis]

            def moved(row: Tensor, value: Tensor) -> Tensor:
                return row + (value - row // stride % size) * stride

            def drawn(seed: Count, t: Count, batch: int) -> Tensor:
                a, p, n = (noise.integers(seed, s, t, batch, high=space.size) for s in streams)
                step = noise.integers(seed, "order/class", t, batch, high=size - 1)
                value = a // stride % size
                return torch.cat([a, moved(p, value), moved(n, (value + 1 + step) % size)], dim=-1)

            return drawn
        weight = torch.ones(space.size, dtype=torch.float64)
        if self.weights:
            weight = table(space, self.weights)
        value = space.factors(torch.arange(space.size))[:, axis]
        if len(value[(weight > 0) & (value >= 0)].unique()) < 2:
            raise ConfigError(f"Triplets need two classes of '{self.factor}' or more to draw from.")
        blocks = Blocks.from_rows(torch.zeros_like(value), value, weight, device)

        def rows(seed: Count, t: Count, batch: int) -> Tensor:
            a, p, n = (noise.integers(seed, s, t, batch, high=2**62) for s in streams)
            anchor = blocks.any_row(a)
            others = blocks.same_value(anchor, p), blocks.other_value(anchor, n)
            return torch.cat([anchor, *others], dim=-1)

        return rows

    def _scale(self, space: Space) -> list[int]:
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
        common = math.lcm(*(size - 1 for size in space.sizes if size > 1))
        if common * len(space) > torch.iinfo(torch.int64).max:
            raise ConfigError(
                f"Triplets by 'scaled' count in parts of 1 / {common} for the sizes {space.sizes}, "
                "more than 64 bits hold; take order 'distance'."
            )
        return [common // (size - 1) if size > 1 else 0 for size in space.sizes]


def _values(space: Space, device: torch.device) -> Callable[[Tensor], Tensor]:
    """From rows ``[*p, b]`` to values ``[*p, f, b]``; -1 where a label is missing."""
    if isinstance(space, FactorSpace):
        strides, sizes = column(space.strides, device), column(space.sizes, device)
        return lambda row: row.unsqueeze(-2) // strides % sizes
    values = space.values.to(device)
    return lambda row: values[row].movedim(-1, -2)


def _image_distance(dataset: FactorDataset, a: Tensor, b: Tensor) -> Tensor:
    """The root of the squared error, which orders as its mean does.

    Summed in float64 and then rounded, so that what is equal stays so in whichever order a device
    adds up.
    """
    difference = (dataset.at(a) - dataset.at(b)).flatten(-3)
    norm: Tensor = torch.linalg.vector_norm(difference, dim=-1, dtype=torch.float64)
    return norm.float()
