"""What does not fit into memory is refused before it is read."""

import numpy as np
import pytest

from unknot.core import memory
from unknot.core.errors import DataError
from unknot.data.arrays import Arrays
from unknot.data.parts.array_files import open_array
from unknot.runs import arrays


def open_images(path):
    with open_array(path):
        pass


@pytest.mark.parametrize("read", [arrays.read, open_images, lambda path: Arrays(str(path)).load()])
def test_an_archive_larger_than_memory_is_refused_by_its_header(tmp_path, monkeypatch, read):
    file = tmp_path / "large.npz"
    codes = np.zeros((1_000, 1_000))
    np.savez_compressed(file, codes=codes, images=codes.astype(np.uint8).reshape(-1, 100, 100))
    small = tmp_path / "meminfo"
    small.write_text("MemTotal: 9 kB\nMemAvailable:        500 kB\n")
    monkeypatch.setattr(memory, "LINUX", small)
    with pytest.raises(DataError, match=r"large\.npz' takes 0\.0 GB, and .* of memory are free"):
        read(file)


def test_the_system_says_how_much_is_free(tmp_path, monkeypatch):
    assert memory.free_memory() > 1 << 20
    monkeypatch.setattr(memory, "LINUX", tmp_path / "none")
    assert memory.free_memory() > 1 << 20
