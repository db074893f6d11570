"""AnnData: cells by genes, from an h5ad file or an object; sparse numbers stay sparse.

The layout of h5ad files is that of anndata 0.8 and later, which is not needed to read them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from unknot.core.errors import DataError
from unknot.core.registry import nearest
from unknot.data.parts.hdf5 import check_whole, open_hdf5
from unknot.data.parts.tables import Table, table_of

H5AD = ".h5ad"


def read_cells(
    path: Path, key: str, limit: int | None, labels: Sequence[str] = ()
) -> tuple[Table, Mapping[str, Any]]:
    """The numbers of an h5ad file, and columns of its ``obs`` as labels.

    Args:
        path: The file.
        key: Which numbers: ``X`` when empty, or such as ``layers/counts``.
        limit: How many cells to take; all when None.
        labels: Names of columns of ``obs``.

    Raises:
        DataError: The file is damaged or lacks something.
    """
    with open_hdf5(path, "an h5ad file of AnnData 0.8 or later") as file:
        matrix = _read_matrix(file[key or "X"], limit)
        genes = tuple(_read_names(file["raw/var" if key == "raw/X" else "var"]))
        there = [name for name in file["obs"] if name != file["obs"].attrs.get("_index")]
        columns = {name: _read_label(file, name, there, path)[:limit] for name in labels}
    return table_of(matrix, f"'{path}'", genes), columns


def is_cells(source: Any) -> bool:
    """Whether an object is one of AnnData."""
    return all(hasattr(source, name) for name in ("X", "obs", "var_names"))


def cells_of(
    source: Any, limit: int | None, labels: Sequence[str] = ()
) -> tuple[Table, Mapping[str, Any]]:
    """The numbers of an AnnData object, and columns of its ``obs`` as labels."""
    matrix = source.X[:limit]
    matrix = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix)
    there = [str(name) for name in source.obs.columns]
    if missing := [name for name in labels if name not in there]:
        raise DataError(f"obs has no label '{missing[0]}'{nearest(missing[0], there)}")
    columns = {name: [*source.obs[name]][:limit] for name in labels}
    return table_of(matrix, "the AnnData object", tuple(map(str, source.var_names))), columns


def _read_matrix(stored: Any, limit: int | None) -> Any:
    """Numbers ``[cells, genes]``; of sparse ones those of the first rows alone are read."""
    from scipy import sparse

    if hasattr(stored, "shape"):
        check_whole(stored)
        return stored[:limit]
    kind = stored.attrs.get("encoding-type")
    if kind not in ("csr_matrix", "csc_matrix"):
        raise DataError(f"'{stored.name.strip('/')}' holds {kind or 'a group'}, and no matrix.")
    rows, columns = (int(size) for size in stored.attrs["shape"])
    for name in ("data", "indices", "indptr"):
        check_whole(stored[name])
    if kind == "csc_matrix":
        parts = tuple(stored[name][:] for name in ("data", "indices", "indptr"))
        matrix = sparse.csc_array(parts, shape=(rows, columns))
        matrix.check_format(full_check=True)
        return matrix.tocsr()[:limit]
    rows = rows if limit is None else min(rows, limit)
    starts = stored["indptr"][: rows + 1]
    last = int(starts[-1])
    parts = stored["data"][:last], stored["indices"][:last], starts
    matrix = sparse.csr_array(parts, shape=(rows, columns))
    matrix.check_format(full_check=True)
    return matrix


def _read_names(frame: Any) -> list[str]:
    """The index of a stored data frame."""
    names: list[str] = frame[frame.attrs["_index"]].asstr()[:].tolist()
    return names


def _read_label(file: Any, name: str, there: Sequence[str], path: Path) -> Sequence[Any]:
    """A column of ``obs``; None where it is missing."""
    if name not in there:
        raise DataError(f"'{path}' has no label '{name}' in obs{nearest(name, [*there])}")
    column = file["obs"][name]
    if hasattr(column, "shape"):
        return _values(column)
    if column.attrs.get("encoding-type") == "categorical":
        categories, codes = _values(column["categories"]), column["codes"][:]
        return [None if code < 0 else categories[code] for code in codes]
    values, mask = _values(column["values"]), column["mask"][:]
    return [None if gone else value for value, gone in zip(values, mask, strict=True)]


def _values(stored: Any) -> list[Any]:
    """Numbers, truth values or text."""
    text = stored.dtype.kind in "OS"
    values: list[Any] = (stored.asstr()[:] if text else stored[:]).tolist()
    return values
