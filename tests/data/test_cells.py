"""Cells by genes: a file that anndata 0.12 wrote, the same numbers in other layouts, and objects.

``cells.h5ad`` has 12 cells and 5 genes, with counts in ``X``, twice those in ``layers/counts``, and
labels of all types that ``obs`` may have, some of them missing.
"""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

import unknot
from unknot.core.errors import DataError
from unknot.data.parts.values import SparseValues, sparse_moments, sparse_values
from unknot.runs import config

h5py = pytest.importorskip("h5py")
FILE = Path(__file__).parent / "cells.h5ad"
COUNTS = np.array(
    [
        [1, 0, 0, 2, 1], [2, 1, 1, 1, 0], [0, 0, 0, 1, 1], [3, 1, 0, 1, 0],
        [0, 2, 1, 1, 0], [1, 1, 2, 1, 0], [0, 0, 1, 0, 0], [0, 0, 1, 1, 1],
        [0, 2, 1, 0, 3], [1, 0, 1, 1, 1], [3, 3, 3, 0, 2], [0, 0, 1, 1, 0],
    ],
    np.float32,
)  # fmt: skip


def write(path, layout):
    """The file with its ``X`` in another layout."""
    shutil.copy(FILE, path)
    with h5py.File(path, "r+") as file:
        del file["X"]
        if layout == "dense":
            file["X"] = COUNTS
        else:
            matrix = sparse.csc_matrix(COUNTS) if layout == "csc" else sparse.csr_matrix(COUNTS)
            group = file.create_group("X")
            group.attrs["encoding-type"] = f"{layout}_matrix"
            group.attrs["shape"] = COUNTS.shape
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(matrix, name)
    return path


@pytest.mark.parametrize("layout", ["csr", "csc", "dense"])
def test_numbers_and_names_are_those_of_the_file(tmp_path, layout):
    data = unknot.dataset(write(tmp_path / "cells.h5ad", layout))
    x = data.images.pixels(torch.arange(12))
    assert np.array_equal(x[..., 0, 0], COUNTS)
    assert isinstance(data.images, SparseValues) == (layout != "dense")
    assert data.columns == tuple(f"gene{i}" for i in range(5))
    assert np.allclose(data.mean, COUNTS.mean(0))
    assert np.allclose(data.std, COUNTS.std(0))
    assert "looks like counts" in data.summary


def test_labels_are_columns_of_obs_with_their_gaps():
    data = unknot.dataset(FILE, labels=["batch", "dose", "number", "note", "ok", "few"])
    assert data.space.kinds == ("nominal", "ordered", "ordered", "nominal", "nominal", "ordered")
    missing = (data.space.values < 0).sum(0).tolist()
    assert missing == [4, 1, 0, 0, 0, 4]
    assert data.space.levels[0] == ("a", "b")


def test_a_run_of_cells_is_one_of_counts():
    spec = config.spec({"data": str(FILE), "objective": {"likelihood": "negative_binomial"}})
    assert (spec.data.name, spec.data.settings.columns, spec.net.name) == ("vectors", 5, "mlp")
    run = unknot.train(
        FILE, "vae", likelihood="negative_binomial", steps=3, batch=4, device="cpu", progress=False
    )
    assert torch.allclose(run.encode(COUNTS), run.codes(), atol=1e-6)
    dense = unknot.train(
        pd.DataFrame(COUNTS, columns=run.dataset.columns), "vae", likelihood="negative_binomial",
        steps=3, batch=4, device="cpu", progress=False,
    )  # fmt: skip
    assert torch.equal(dense.codes(), run.codes())


def test_other_numbers_and_the_first_cells_alone():
    data = unknot.dataset(f"{FILE}::layers/counts", limit=7)
    index = torch.tensor([[0, 3], [6, 3]])
    assert np.array_equal(data.images.pixels(index)[..., 0, 0], 2 * COUNTS[index])
    assert len(data) == 7


def test_an_object_of_anndata_is_taken_as_its_file_is():
    obs = pd.DataFrame({"batch": ["a", "b"] * 6}, index=[f"cell{i}" for i in range(12)])
    names = pd.Index([f"gene{i}" for i in range(5)])
    for matrix in (sparse.csc_matrix(COUNTS), COUNTS):
        cells = SimpleNamespace(X=matrix, obs=obs, var_names=names)
        data = unknot.dataset(cells, labels=["batch"])
        assert np.array_equal(data.images.pixels(torch.arange(12))[..., 0, 0], COUNTS)
        assert (data.columns[4], data.space.names) == ("gene4", ("batch",))
    with pytest.raises(DataError, match="obs has no label 'batsch'; did you mean 'batch'"):
        unknot.dataset(cells, labels=["batsch"])


def test_an_object_of_the_real_library():
    anndata = pytest.importorskip("anndata")
    cells = anndata.read_h5ad(FILE)
    data, file = unknot.dataset(cells, labels=["batch"]), unknot.dataset(FILE, labels=["batch"])
    index = torch.arange(12)
    assert torch.equal(data.batch(index), file.batch(index))
    assert torch.equal(data.space.values, file.space.values)


def test_sparse_rows_are_the_dense_ones_in_any_order():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(50, 20)) * (rng.random((50, 20)) < 0.2)
    dense[7] = 0
    rows = sparse.csr_array(dense.astype(np.float32))
    index = torch.from_numpy(rng.integers(0, 50, (4, 9)))
    assert np.array_equal(
        sparse_values(rows).pixels(index)[..., 0, 0], dense.astype(np.float32)[index]
    )
    mean, std = sparse_moments(rows)
    assert np.allclose(mean, dense.mean(0), atol=1e-7)
    assert np.allclose(std, dense.std(0), atol=1e-7)


def test_bad_files_are_one_line(tmp_path):
    path = tmp_path / "bad.h5ad"
    path.write_text("nothing")
    with pytest.raises(DataError, match="is not an h5ad file of AnnData"):
        unknot.dataset(path)
    with pytest.raises(DataError, match="has no label 'batsch' in obs; did you mean 'batch'"):
        unknot.dataset(FILE, labels=["batsch"])
    with pytest.raises(DataError, match="it lacks an array"):
        unknot.dataset(f"{FILE}::layers/none")
    with pytest.raises(DataError, match="'obs' holds dataframe, and no matrix"):
        unknot.dataset(f"{FILE}::obs")
    write(path, "csr")
    with h5py.File(path, "r+") as file:
        file["X/indices"][3] = 99  # a gene that is not there
    with pytest.raises(DataError, match="is damaged"):
        unknot.dataset(path)
    write(path, "csr")
    with h5py.File(path, "r+") as file:
        file["X/data"][3] = np.nan
    with pytest.raises(DataError, match=r"Column 'gene0' of .* has missing"):
        unknot.dataset(path)
