"""A table that was just pinned is not read again to be loaded, unless its file has changed."""

import os

import pytest
import torch

from unknot.core.errors import DataError
from unknot.data import vectors


@pytest.fixture
def file(tmp_path, monkeypatch):
    path, reads = tmp_path / "cells.csv", []
    path.write_text("a,b\n1,2\n3,4\n5,7\n")
    read = vectors.read_table
    monkeypatch.setattr(vectors, "read_table", lambda *args: reads.append(args) or read(*args))
    return path, reads


def test_a_pinned_table_is_read_once_and_kept_for_one_load(file):
    path, reads = file
    pinned = vectors.Vectors(path=str(path)).pin()
    first, again = pinned.load(), pinned.load()
    assert len(reads) == 2
    rows = torch.arange(3)
    assert torch.equal(first.batch(rows), again.batch(rows))


def test_a_file_that_changed_since_is_read_and_refused(file):
    path, reads = file
    pinned = vectors.Vectors(path=str(path)).pin()
    path.write_text("a,b\n1,2\n3,4\n5,8\n")
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="are no longer those of the run"):
        pinned.load()
    assert len(reads) == 2


def test_other_settings_do_not_take_the_table(file):
    path, reads = file
    vectors.Vectors(path=str(path)).pin()
    fewer = vectors.Vectors(path=str(path), limit=2).load()
    assert (len(fewer), len(reads)) == (2, 2)
