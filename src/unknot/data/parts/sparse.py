"""Sparse tables: numbers of which most are 0, kept by rows."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from unknot.data.parts.images import as_tensor
from unknot.data.parts.values import SparseValues


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
