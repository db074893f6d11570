"""Folders in which pictures are looked for: not whole disks, and not among all other files."""

import numpy as np
import pytest
from PIL import Image

import unknot
from unknot.core.errors import DataError
from unknot.data.parts import picture_files


def test_a_folder_of_other_files_is_not_walked_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(picture_files, "STRETCH", 100)
    (tmp_path / "deeper").mkdir()
    for i in range(150):
        (tmp_path / f"{i}.txt").touch()
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(DataError, match=r"first 151 files in .* too few pictures \(1\)"):
        unknot.dataset(str(tmp_path))
    monkeypatch.undo()
    assert len(unknot.dataset(str(tmp_path))) == 1


@pytest.mark.parametrize("name", ["images", "cars3d", "dsprites_imagenet"])
def test_a_whole_disk_is_no_folder_of_data(name):
    with pytest.raises(DataError, match="is a whole disk; name the folder"):
        unknot.dataset(name, path="/").batch([0])
