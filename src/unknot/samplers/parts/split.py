"""Splits: which rows are for training, for validation and for testing.

A split is a pure function of its own settings, of row numbers and of factor values: no seed of a
run changes it, and runs with the same split hold the same rows out.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal, TypeAlias

import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from unknot.core import noise
from unknot.core.choices import check_choices
from unknot.core.errors import ConfigError
from unknot.core.factor_table import FactorTable, Space
from unknot.core.factors import FactorSpace
from unknot.core.registry import nearest

Part: TypeAlias = Literal["train", "validation", "test"]
PARTS: tuple[Part, ...] = ("train", "validation", "test")
LARGEST = 2**27
"""Rows of a dataset that can be split: one number is held for each."""


@dataclass(frozen=True)
class RowSplit:
    """Random rows, a share for each part."""

    validation: float = 0.1
    test: float = 0.1
    seed: int = 0
    kind: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        _check_shares(self.validation, self.test)

    def parts(self, space: Space) -> Int[Tensor, " size"]:
        """The part of each row, by its place among `PARTS`."""
        return _random_parts(space.size, self.validation, self.test, self.seed)


@dataclass(frozen=True)
class CombinationSplit:
    """Whole combinations of some factors' values: the net has seen each value, not together.

    Combinations are held out at random, a share for each part. Or those are for testing whose
    values lie from ``first`` to ``last`` for *each* factor, both ends counted (Montero et al.
    2021), and validation is a share of the other rows.
    """

    factors: tuple[str, ...]
    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    validation: float = 0.1
    test: float = 0.1
    seed: int = 0
    kind: ClassVar[str] = "combinations"

    def __post_init__(self) -> None:
        _check_shares(self.validation, self.test)
        if len({*self.factors}) < max(len(self.factors), 2):
            raise ConfigError(
                f"A split by combinations names two or more factors; got {[*self.factors]}."
            )
        if (self.first or self.last) and not (
            len(self.factors) == len(self.first) == len(self.last)
        ):
            raise ConfigError(
                "A split by combinations takes one first and one last value for each of its "
                f"factors, or none; got {[*self.factors]}, {[*self.first]} and {[*self.last]}."
            )

    def parts(self, space: Space) -> Int[Tensor, " size"]:
        """The part of each row, by its place among `PARTS`."""
        columns = [_values(space, name) for name in self.factors]
        if self.first:
            inside = torch.ones(space.size, dtype=torch.bool)
            for values, first, last in zip(columns, self.first, self.last, strict=True):
                inside &= (values >= first) & (values <= last)
            return _rest(inside, self.validation, self.seed)
        key = torch.zeros(space.size, dtype=torch.int64)
        for values, name in zip(columns, self.factors, strict=True):
            key = key * (space.sizes[space.names.index(name)] + 1) + values + 1  # 0 is no label
            combinations, key = key.unique(return_inverse=True)
        shares = self.validation, self.test, self.seed
        return _random_parts(len(combinations), *shares)[key]


@dataclass(frozen=True)
class RangeSplit:
    """Values of some factors that training never sees (Schott et al. 2022).

    A share ``test`` of the values of each factor is held out, at least one: with ``extrapolation``
    the largest, with ``interpolation`` values between others, evenly spread. Rows with such a value
    of *any* factor are for testing, and validation is a share of the other rows.
    """

    factors: tuple[str, ...]
    mode: Literal["extrapolation", "interpolation"] = "extrapolation"
    validation: float = 0.1
    test: float = 0.1
    seed: int = 0
    kind: ClassVar[str] = "range"

    def __post_init__(self) -> None:
        check_choices(self, "mode")
        _check_shares(self.validation, self.test)
        if not self.factors or not self.test:
            raise ConfigError("A split by range names a factor or more, and a test share above 0.")

    def parts(self, space: Space) -> Int[Tensor, " size"]:
        """The part of each row, by its place among `PARTS`."""
        outside = torch.zeros(space.size, dtype=torch.bool)
        for name in self.factors:
            outside |= torch.isin(_values(space, name), self._held_out(space, name))
        return _rest(outside, self.validation, self.seed)

    def _held_out(self, space: Space, name: str) -> Int[Tensor, " values"]:
        """The values of a factor that are for testing."""
        _values(space, name)  # is there such a factor?
        axis = space.names.index(name)
        size, between = space.sizes[axis], self.mode == "interpolation"
        if space.kinds[axis] == "nominal" or size < 2 + between:
            raise ConfigError(
                f"A split by range needs factors whose values have an order, {2 + between} or more "
                f"of them; '{name}' is {space.kinds[axis]} with {size}."
            )
        count = max(1, math.floor(size * self.test + 0.5))
        if not between:
            return torch.arange(size - min(count, size - 1), size)
        count = min(count, size - 2)
        spots = (torch.arange(count, dtype=torch.float64) + 0.5) * (size - 2) / count
        return 1 + spots.floor().long()


@dataclass(frozen=True)
class PublishedSplit:
    """The parts that the authors of a dataset have published, such as those of CelebA."""

    kind: ClassVar[str] = "published"

    def parts(self, space: Space) -> Int[Tensor, " size"]:
        """The part of each row, by its place among `PARTS`."""
        if not isinstance(space, FactorTable) or space.parts is None:
            raise ConfigError(
                "The authors of this data have published no parts, or only one is loaded; take "
                "another split, such as kind 'rows'."
            )
        return space.parts


Split: TypeAlias = RowSplit | CombinationSplit | RangeSplit | PublishedSplit


@dataclass(frozen=True)
class InPart:
    """The weight of a sampler that stays inside a part."""

    split: Split
    part: Part

    def over(self, space: Space) -> Float64[Tensor, "..."]:
        """1 inside and 0 outside, one axis per factor."""
        return is_in_part(self.split, space, self.part).double().reshape(axes(space))


def axes(space: Space) -> tuple[int, ...]:
    """The shape of numbers over all rows: one axis per factor of a grid, one axis of a table."""
    return space.sizes if isinstance(space, FactorSpace) else (space.size,)


def check_part(split: Split | None, part: str) -> Part:
    """A part by its name.

    Raises:
        ConfigError: There is no such part, or the run had no split.
    """
    if part not in PARTS:
        raise ConfigError(f"There is no part '{part}'{nearest(part, [*PARTS])}")
    if split is None:
        raise ConfigError(
            f"The run was trained on all rows, so there is no {part} part; train it with a split, "
            "such as --set split.kind=rows."
        )
    return PARTS[PARTS.index(part)]


def rows_in_part(split: Split, space: Space, part: Part) -> Int[Tensor, " n"]:
    """Row numbers of a part, in order.

    Raises:
        ConfigError: The part has no rows.

    Example:
        >>> space = FactorSpace(("a",), (10,), ("ordered",))
        >>> rows_in_part(RangeSplit(("a",), test=0.3, validation=0.0), space, "test").tolist()
        [7, 8, 9]
    """
    return is_in_part(split, space, part).nonzero().flatten()


def is_in_part(split: Split, space: Space, part: Part) -> Bool[Tensor, " size"]:
    """Whether each row is in a part."""
    inside = _parts(split, space) == PARTS.index(part)
    if not bool(inside.any()):
        raise ConfigError(f"The split leaves no row of {space.size:,} for {part}; choose another.")
    return inside


@lru_cache(maxsize=4)
def _parts(split: Split, space: Space) -> Int[Tensor, " size"]:
    if space.size > LARGEST:
        raise ConfigError(f"Only {LARGEST:,} rows can be split; there are {space.size:,}.")
    if space.stands_in and isinstance(split, CombinationSplit | RangeSplit):
        raise ConfigError(
            f"A split by {split.kind} needs factors and the data has none; take kind 'rows'."
        )
    return split.parts(space)


def _values(space: Space, name: str) -> Int[Tensor, " size"]:
    """The value of a factor in each row."""
    if name not in space.names:
        raise ConfigError(
            f"The split names '{name}', which is no factor{nearest(name, [*space.names])}"
        )
    axis = space.names.index(name)
    if isinstance(space, FactorTable):
        return space.values[:, axis]
    return torch.arange(space.size) // space.strides[axis] % space.sizes[axis]


def _random_parts(n: int, validation: float, test: float, seed: int) -> Int[Tensor, " n"]:
    """A part for each of ``n``: exact shares, to the nearest whole number."""
    place = noise.permutation(seed, "split", 0, n, 1)[:, 0]
    last, middle = round(n * test), round(n * validation)
    return (place < last + middle).long() + (place < last).long()


def _rest(test: Bool[Tensor, " n"], validation: float, seed: int) -> Int[Tensor, " n"]:
    """Some rows for testing, and of the others a share for validation."""
    parts = torch.full(test.shape, PARTS.index("test"))
    parts[~test] = _random_parts(int((~test).sum()), validation, 0.0, seed)
    return parts


def _check_shares(validation: float, test: float) -> None:
    if not (validation >= 0 and test >= 0 and validation + test < 1):
        raise ConfigError(
            "A split's validation and test are shares from 0 on that leave rows to train on; "
            f"got {validation} and {test}."
        )
