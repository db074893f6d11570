"""Weights over rows: which of them come more often than others, and which never.

Each kind gives one number for every row; the weight of a row is the product over all that are asked
for, and rows are drawn in proportion to it.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from unknot.core.errors import ConfigError
from unknot.core.factor_table import FactorTable, Space
from unknot.core.registry import nearest
from unknot.samplers.parts.split import InPart, axes

MOST_ROWS = 2**27
"""One float64 a row: a gibibyte for the largest grid."""


@dataclass(frozen=True)
class Correlated:
    r"""Two factors that go together: $w \propto \exp(-(v_1 - v_2)^2 / 2 \sigma^2)$.

    $v_i$ is the value of a factor scaled to 0 .. 1. A $\sigma$ of 0.2 ties the two closely; large
    ones leave the grid uniform.

    Paper: Träuble et al. 2021, "On disentangled representations learned from correlated data".
    """

    first: str
    second: str
    sigma: float = 0.2
    kind: ClassVar[str] = "correlated"

    def __post_init__(self) -> None:
        if not self.sigma > 0:
            raise ConfigError(f"The sigma of correlated factors must be above 0; got {self.sigma}.")
        if self.first == self.second:
            raise ConfigError(f"Two different factors correlate; got '{self.first}' twice.")

    def over(self, space: Space) -> Float64[Tensor, "..."]:
        """A weight for each point of the grid, one axis per factor."""
        first, second = (_scaled(space, name) for name in (self.first, self.second))
        return (-((first - second) ** 2) / (2 * self.sigma**2)).exp().nan_to_num(0.0)


@dataclass(frozen=True)
class Within:
    """Only a part of the grid: each factor named from ``first`` to ``last``, both ends counted."""

    factors: tuple[str, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    kind: ClassVar[str] = "within"

    def __post_init__(self) -> None:
        _check_ranges(self)

    def over(self, space: Space) -> Float64[Tensor, "..."]:
        """1 inside and 0 outside, one axis per factor."""
        return _box(space, self).double()


@dataclass(frozen=True)
class Without:
    """A combination held out: no row where *each* factor named lies from ``first`` to ``last``."""

    factors: tuple[str, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    kind: ClassVar[str] = "without"

    def __post_init__(self) -> None:
        _check_ranges(self)

    def over(self, space: Space) -> Float64[Tensor, "..."]:
        """0 inside and 1 outside, one axis per factor."""
        return (~_box(space, self)).double()


Weight: TypeAlias = Correlated | Within | Without | InPart
"""What settings may name, and the part of a split, which training adds."""


def table(space: Space, weights: tuple[Weight, ...]) -> Float64[Tensor, " size"]:
    """The probability of each row of a grid.

    Example:
        >>> from unknot.core.factors import FactorSpace
        >>> space = FactorSpace(("a", "b"), (2, 3), ("ordered", "ordered"))
        >>> table(space, (Without(("a", "b"), (1, 1), (1, 2)),)).tolist()
        [0.25, 0.25, 0.25, 0.25, 0.0, 0.0]
    """
    if space.size > MOST_ROWS:
        raise ConfigError(
            f"Weights need a grid of at most {MOST_ROWS:,} points; this one has {space.size:,}."
        )
    product = torch.ones(axes(space), dtype=torch.float64)
    for weight in weights:
        product *= weight.over(space)
    total = product.sum().item()
    if not 0 < total < math.inf:
        raise ConfigError(f"The weights {[*weights]} leave no row to draw; hold out less.")
    return product.flatten() / total


def _axis(space: Space, name: str) -> int:
    if name not in space.names:
        raise ConfigError(f"There is no factor '{name}'{nearest(name, [*space.names])}")
    return space.names.index(name)


def _along(space: Space, axis: int, values: Tensor) -> Tensor:
    """One value for each of a factor's, shaped to spread over the other axes of the grid.

    Of a table of labels, one for each row: NaN or False where the label is missing.
    """
    if isinstance(space, FactorTable):
        nothing = values.new_full((1,), torch.nan if values.is_floating_point() else 0)
        return torch.cat([values, nothing])[space.values[:, axis]]
    return values.reshape([-1 if i == axis else 1 for i in range(len(space))])


def _scaled(space: Space, name: str) -> Float[Tensor, "..."]:
    axis = _axis(space, name)
    if space.sizes[axis] == 1:
        raise ConfigError(f"Factor '{name}' has one value and cannot correlate with another.")
    return _along(space, axis, torch.linspace(0, 1, space.sizes[axis], dtype=torch.float64))


def _box(space: Space, box: Within | Without) -> Bool[Tensor, "..."]:
    inside = torch.ones((1,) * len(axes(space)), dtype=torch.bool)
    for name, first, last in zip(box.factors, box.first, box.last, strict=True):
        axis = _axis(space, name)
        if last >= space.sizes[axis]:
            raise ConfigError(
                f"Factor '{name}' has values 0 .. {space.sizes[axis] - 1}; got {first} .. {last}."
            )
        values = torch.arange(space.sizes[axis])
        inside = inside & _along(space, axis, (values >= first) & (values <= last))
    return inside


def _check_ranges(box: Within | Without) -> None:
    if not 0 < len(box.factors) == len(box.first) == len(box.last):
        raise ConfigError(
            f"A weight '{box.kind}' takes one first and one last value for each of its factors; "
            f"got {[*box.factors]}, {[*box.first]} and {[*box.last]}."
        )
    for name, first, last in zip(box.factors, box.first, box.last, strict=True):
        if not 0 <= first <= last:
            raise ConfigError(
                f"A weight '{box.kind}' goes from a first value to a last one, from 0 on; "
                f"got {first} .. {last} for '{name}'."
            )
