"""Tiny ImageNet on a small archive, alone and behind sprites."""

import io
import zipfile

import numpy as np
import pytest
import torch
from data.cases import shrink
from PIL import Image

from unknot.core.errors import ConfigError, DataError
from unknot.data.dsprites_imagenet import DSpritesImageNet
from unknot.data.tiny_imagenet import TinyImageNet
from unknot.runs import config

pytestmark = pytest.mark.usefixtures("one_copy")


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """Three training pictures, one of them gray, and others that are not read."""
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    shrink("tiny_imagenet", (3,), monkeypatch)
    path = tmp_path / "tiny-imagenet-200.zip"
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(path, "w") as file:
        for name, shape in (
            ("train/n02/images/n02_0.JPEG", (64, 64, 3)),
            ("train/n01/images/n01_10.JPEG", (64, 64)),
            ("train/n01/images/n01_1.JPEG", (64, 64, 3)),
            ("val/images/val_0.JPEG", (64, 64, 3)),
            ("test/images/test_0.JPEG", (64, 64, 3)),
        ):
            data = io.BytesIO()
            Image.fromarray(rng.integers(0, 256, shape, dtype=np.uint8)).save(data, "JPEG")
            file.writestr(f"tiny-imagenet-200/{name}", data.getvalue())
    return path


@pytest.fixture
def unpacked(archive, tmp_path):
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "out")
    return tmp_path / "out" / "tiny-imagenet-200"


def test_training_pictures_come_in_the_order_of_their_paths(archive, unpacked):
    data = TinyImageNet(str(archive)).load()
    assert (len(data), data.shape) == (3, (3, 64, 64))
    names = ("n01/images/n01_1.JPEG", "n01/images/n01_10.JPEG", "n02/images/n02_0.JPEG")
    for row, name in enumerate(names):
        with Image.open(unpacked / "train" / name) as picture:
            expected = np.asarray(picture.convert("RGB")).transpose(2, 0, 1)
        assert np.array_equal(data.images.stored[row].numpy(), expected)
    assert torch.equal(TinyImageNet(str(unpacked)).load().images.stored, data.images.stored)


def test_an_archive_with_other_pictures_is_refused(archive, monkeypatch):
    shrink("tiny_imagenet", (4,), monkeypatch)
    with pytest.raises(DataError, match="should have 4 pictures"):
        TinyImageNet(str(archive)).load()


def test_they_lie_behind_sprites_as_a_folder_of_them_would(archive, unpacked, monkeypatch):
    pictures = TinyImageNet(str(archive)).decode()
    monkeypatch.setattr(TinyImageNet, "decode", lambda self: pictures)
    rows = torch.arange(0, 737_280, 99_991)
    named = DSpritesImageNet(pictures="tiny_imagenet").load().batch(rows)
    folder = DSpritesImageNet(path=str(unpacked / "train")).load().batch(rows)
    assert torch.equal(named, folder)


def test_pictures_by_name_exclude_a_folder_and_leave_other_ids_alone():
    with pytest.raises(ConfigError, match="set one of them"):
        DSpritesImageNet(path="here", pictures="tiny_imagenet")
    with pytest.raises(ConfigError, match="tiny_imagenet"):
        config.spec({"data": {"name": "dsprites_imagenet", "pictures": "imagenet"}})
    plain = config.spec({"data": "dsprites_imagenet"})
    assert "pictures" not in plain.table()["data"]
    assert config.spec({"data": {"name": "dsprites_imagenet", "pictures": "textures"}}) == plain
