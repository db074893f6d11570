"""Rows that agree in some labels, in blocks of those that have the same value of one more."""

from dataclasses import dataclass

import torch
from jaxtyping import Float64, Int
from torch import Tensor

PARTS = 2**32
"""The largest weight of a row as a whole number: sums of these are the same on every device."""
LEAST = 1e-300
"""A weight that is as good as none."""


@dataclass(frozen=True)
class Blocks:
    """Where partners of rows lie among rows that are sorted by group and block.

    Numbers that are drawn are any whole numbers from 0 on, taken modulo what there is.
    """

    order: Int[Tensor, " n"]
    """Rows, sorted."""
    bounds: Int[Tensor, " n"]
    """The sum of weights up to each of them, itself included."""
    group: Int[Tensor, " n"]
    """For each row, where the weights of its group begin."""
    total: Int[Tensor, " n"]
    """... and how much they are."""
    block: Int[Tensor, " n"]
    """... where those of its block begin, from the group on."""
    inside: Int[Tensor, " n"]
    """... and how much they are."""
    place: Int[Tensor, " n"]
    """... where its own begins, from the block on."""
    weight: Int[Tensor, " n"]

    @classmethod
    def from_rows(
        cls,
        group: Int[Tensor, " n"],
        value: Int[Tensor, " n"],
        weight: Float64[Tensor, " n"],
        device: torch.device,
    ) -> "Blocks":
        """Sort rows.

        Args:
            group: What rows of a group have in common, as a number.
            value: The value of the label that makes blocks; -1 where it is missing.
            weight: How likely rows are; of those whose label is missing it does not count.
            device: Where it is needed.
        """
        weight = torch.where(value >= 0, weight, 0.0)
        whole = (weight / weight.max() * PARTS).ceil().long()
        groups = group.unique(return_inverse=True)[1]
        blocks = (groups * (int(value.max()) + 2) + value + 1).unique(return_inverse=True)[1]
        order = blocks.argsort(stable=True)
        bounds = whole[order].cumsum(0)
        start = torch.empty_like(whole)
        start[order] = bounds - whole[order]
        in_group, in_block = _sums(groups, whole), _sums(blocks, whole)
        first, begin = (in_group.cumsum(0) - in_group)[groups], (in_block.cumsum(0) - in_block)
        parts = (
            order,
            bounds,
            first,
            in_group[groups],
            begin[blocks] - first,
            in_block[blocks],
            start - begin[blocks],
            whole,
        )
        return cls(*(part.to(device) for part in parts))

    def any_row(self, number: Int[Tensor, "*p b"]) -> Int[Tensor, "*p b"]:
        """Rows by weight."""
        return self._row(number % self.bounds[-1])

    def other_value(
        self, row: Int[Tensor, "*p b"], number: Int[Tensor, "*p b"], *, another: bool = True
    ) -> Int[Tensor, "*p b"]:
        """A row of the same group, by weight, with another value; the same row if there is none.

        Without ``another`` the value may be the old one.
        """
        hole = self.inside[row] if another else torch.zeros_like(row)
        return self._around(row, number, self.group[row], self.total[row], self.block[row], hole)

    def same_value(
        self, row: Int[Tensor, "*p b"], number: Int[Tensor, "*p b"]
    ) -> Int[Tensor, "*p b"]:
        """Another row of the same block, by weight; the same row if it is alone."""
        start = self.group[row] + self.block[row]
        return self._around(row, number, start, self.inside[row], self.place[row], self.weight[row])

    def _around(
        self, row: Tensor, number: Tensor, start: Tensor, total: Tensor, place: Tensor, hole: Tensor
    ) -> Tensor:
        """A row from a stretch of weights, but none of the hole at a place in it."""
        left = total - hole
        spot = number % left.clamp(min=1)
        spot = start + spot + torch.where(spot >= place, hole, 0)
        return torch.where(left > 0, self._row(spot.clamp(max=self.bounds[-1] - 1)), row)

    def _row(self, spot: Tensor) -> Tensor:
        return self.order[torch.searchsorted(self.bounds, spot, right=True)]


def join(columns: Int[Tensor, "n f"]) -> Int[Tensor, " n"]:
    """One number for each different row of a table."""
    group = torch.zeros(len(columns), dtype=torch.int64)
    for column in columns.T:
        group = (group * (int(column.max()) + 2) + column + 1).unique(return_inverse=True)[1]
    return group


def _sums(group: Int[Tensor, " n"], weight: Int[Tensor, " n"]) -> Int[Tensor, " g"]:
    sums = weight.new_zeros(int(group.max()) + 1)
    return sums.index_add_(0, group, weight)
