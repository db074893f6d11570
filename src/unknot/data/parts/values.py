"""Stored numbers that are no images: rows of a table, also of a sparse one, and signals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from unknot.data.parts.images import Stored, Streamed, as_tensor


@dataclass(frozen=True)
class Values(Stored):
    """Numbers of any size as they are: of a table one pixel with a channel for each column."""

    def scale(self, stored: Float32[Tensor, "*n c h w"]) -> Float32[Tensor, "*n c h w"]:
        """As they are."""
        return stored


@dataclass(frozen=True)
class SparseValues:
    """Rows of a table of which most numbers are 0: the others are stored, by rows."""

    starts: Int[Tensor, " rows"]
    """Where each row begins among the numbers, and where the last one ends."""
    columns: Int[Tensor, " k"]
    numbers: Float32[Tensor, " k"]
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def shape(self) -> tuple[int, int, int]:
        """One channel for each column, one pixel."""
        return self.width, 1, 1

    def pixels(self, index: Int[Tensor, "*n"]) -> Float32[Tensor, "*n d 1 1"]:
        """Numbers of the given rows, with their zeros."""
        flat = index.reshape(-1)
        first, counts = self.starts[flat], self.starts[flat + 1] - self.starts[flat]
        row = torch.repeat_interleave(counts)
        place = torch.arange(len(row)) - (counts.cumsum(0) - counts - first)[row]
        dense = torch.zeros(len(flat), self.width)
        dense[row, self.columns[place].long()] = self.numbers[place]
        return dense.reshape(*index.shape, *self.shape)

    def to(self, device: torch.device) -> "SparseValues | Stored | Streamed":
        """The same numbers on another device, where they are stored with their zeros."""
        if device.type == "cpu":
            return self
        return Values(self.pixels(torch.arange(len(self)))).to(device)


def is_sparse(values: Any) -> bool:
    """Whether numbers are a sparse matrix of SciPy."""
    return hasattr(values, "tocsr")


def sparse_rows(matrix: Any) -> Any:
    """A sparse matrix by rows, in single precision, in one order that its hash can rely on."""
    from scipy import sparse

    rows = sparse.csr_array(matrix, dtype=np.float32)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def sparse_values(rows: Any) -> SparseValues:
    """The rows as a dataset holds them."""
    starts = torch.from_numpy(rows.indptr.astype(np.int64))
    return SparseValues(starts, as_tensor(rows.indices), as_tensor(rows.data), rows.shape[1])


def csr_rows(values: SparseValues) -> Any:
    """The rows of a dataset as a matrix of SciPy."""
    from scipy import sparse

    arrays = values.numbers.numpy(), values.columns.numpy(), values.starts.numpy()
    return sparse.csr_array(arrays, shape=(len(values), values.width))


def sparse_moments(rows: Any) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Mean and standard deviation of each column, zeros counted."""
    mean = np.asarray(rows.sum(0, dtype=np.float64)).ravel() / rows.shape[0]
    numbers = rows.data.astype(np.float64)
    # Around the mean, and the zeros apart: a difference of two large sums would be rough.
    there = np.bincount(rows.indices, minlength=rows.shape[1])
    squares = np.bincount(
        rows.indices, (numbers - mean[rows.indices]) ** 2, minlength=rows.shape[1]
    )
    variance = (squares + (rows.shape[0] - there) * mean**2) / rows.shape[0]
    return mean, np.sqrt(variance)
