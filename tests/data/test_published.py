"""Files of published datasets: where they are looked for, what is said, what ids depend on."""

from dataclasses import replace

import numpy as np
import pytest

from unknot.core import registry
from unknot.core.errors import DataError, WriteError
from unknot.core.factors import FactorSpace
from unknot.data import shapes3d
from unknot.data.parts import published_images, shelf
from unknot.data.parts.published import PublishedDataset, locate
from unknot.data.parts.published_images import map_images
from unknot.data.shapes3d import Shapes3D
from unknot.runs import config

PUBLISHED = [
    name
    for name in registry.names("datasets")
    if isinstance(registry.get("datasets", name), PublishedDataset)
]


ANY_FILE = {"dsprites_file", "scream_dsprites"}
"""Datasets older than the folder of files: a path takes part in their ids."""


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def small(monkeypatch):
    """3D Shapes with a grid of 12 points, as npz arrays."""
    space = FactorSpace(("hue", "scale"), (3, 4), ("cyclic", "ordered"))
    monkeypatch.setattr(Shapes3D, "published", replace(Shapes3D.published, space=space))
    images = np.random.default_rng(0).integers(0, 256, (12, 64, 64, 3), dtype=np.uint8)
    labels = np.stack(np.meshgrid([0.0, 0.1, 0.2], [1.0, 2.0, 3.0, 4.0], indexing="ij"), -1)
    return {"images": images, "labels": labels.reshape(12, 2)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_facts_agree_with_each_other(name):
    dataset = registry.get("datasets", name)()
    facts = dataset.published
    assert facts.name == name
    assert facts.licence
    assert set(dataset.sources()) <= set(facts.files)
    for source in facts.files:
        assert source.addresses or source.page
        assert all(address.startswith(("https://", "http://")) for address in source.addresses)
        assert len(source.sha256) in (0, 64)
        assert len(source.md5) in (0, 32)
    if facts.space is not None:
        assert facts.space.size == facts.images


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_missing_file_is_one_line_that_says_how_to_get_it(name, folders):
    with pytest.raises(DataError) as caught:
        registry.get("datasets", name)().load()
    text = str(caught.value)
    assert "\n" not in text
    assert f"unknot data get {name}" in text
    assert "--set data.path=" in text
    assert not (folders / "cache").exists()


@pytest.mark.parametrize("name", [n for n in PUBLISHED if n not in ANY_FILE])
def test_ids_do_not_depend_on_where_files_lie(name):
    specs = [
        config.spec({"data": {"name": name, **place}})
        for place in ({}, {"path": "here.h5"}, {"path": "/there"})
    ]
    assert len({tuple(spec.ids()) for spec in specs}) == 1
    assert specs[2].table()["data"]["path"] == "/there", "a run still finds its file"


def test_ids_of_other_files_are_as_they_were():
    def ids(name, path):
        return config.spec({"data": {"name": name, "path": path}}).ids()

    for name in ("arrays", "dsprites_file", "scream_dsprites"):
        assert ids(name, "/a") != ids(name, "/b")
    # Of a run made before files could be found by themselves.
    assert ids("dsprites_file", "/data/d.npz") == ["1c0d3028c447"]


def test_files_of_the_data_folder_are_checked_and_those_of_a_path_are_not(folders, small):
    place = folders / "data" / "shapes3d" / "3dshapes.h5"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"another file")
    with pytest.raises(DataError, match="published sha256"):
        locate(Shapes3D())
    assert locate(Shapes3D(path=str(place))) == [place]
    assert locate(Shapes3D(path=str(place.parent))) == [place]


def test_images_are_decoded_once_and_again_when_the_file_changes(folders, small):
    path = folders / "s.npz"
    np.savez(path, **small)
    first = Shapes3D(str(path)).load()
    expected = small["images"].transpose(0, 3, 1, 2)
    assert np.array_equal(first.images.stored.numpy(), expected)
    (cached,) = (folders / "cache").rglob("pixels.bin")
    before = cached.stat().st_mtime_ns
    Shapes3D(str(path)).load()
    assert cached.stat().st_mtime_ns == before
    np.savez(path, images=small["images"][::-1].copy(), labels=small["labels"])
    again = Shapes3D(str(path)).load()
    assert np.array_equal(again.images.stored.numpy(), expected[::-1])


def test_a_damaged_cache_is_made_again(folders, small, monkeypatch):
    path = folders / "s.npz"
    np.savez(path, **small)
    for whole in (1 << 30, 1000):  # all of it hashed, and blocks of it
        monkeypatch.setattr(shelf, "FULLY_HASHED", whole)
        expected = Shapes3D(str(path)).load().images.stored.numpy().copy()
        for cached in (folders / "cache").rglob("*.*"):
            raw = cached.read_bytes()
            for wrong in (raw[:-1], b"x" + raw[1:], b""):
                cached.write_bytes(wrong)
                assert np.array_equal(Shapes3D(str(path)).load().images.stored.numpy(), expected)


def test_a_cache_that_cannot_be_written_costs_memory_or_is_refused(folders, small, monkeypatch):
    path = folders / "s.npz"
    np.savez(path, **small)
    (folders / "cache").write_text("a file in the way")
    with pytest.warns(UserWarning, match="stays in memory"):
        assert len(Shapes3D(str(path)).load()) == 12
    monkeypatch.setattr(published_images, "IN_MEMORY", 1000)
    with pytest.raises(WriteError, match="Set UNKNOT_CACHE to a folder with room"):
        Shapes3D(str(path)).load()


def test_labels_that_do_not_go_through_the_grid_are_refused(folders, small):
    for labels in (small["labels"][::-1], small["labels"][:, ::-1], small["labels"][:6]):
        np.savez(folders / "s.npz", images=small["images"], labels=labels)
        with pytest.raises(DataError, match=r"(Labels of|.labels. should have)"):
            Shapes3D(str(folders / "s.npz")).load()
    assert not [*(folders / "cache").rglob("*.*")]


def test_standardised_images_have_the_published_constants(folders, small):
    np.savez(folders / "s.npz", **small)
    data = Shapes3D(str(folders / "s.npz"), standardize=True).load()
    assert (data.mean, data.std) == (shapes3d.MEAN, shapes3d.STD)


def test_an_interrupted_decoding_leaves_nothing(folders, small):
    def chunks():
        yield np.zeros((1, 3, 64, 64), np.uint8)
        raise KeyboardInterrupt

    np.savez(folders / "s.npz", **small)
    with pytest.raises(KeyboardInterrupt):
        map_images("s", [folders / "s.npz"], {}, (12, 3, 64, 64), chunks)
    assert not [*(folders / "cache").rglob("*.*")]


def test_hdf5_that_is_not_all_there_is_refused(folders, small):
    """What was never written reads as black, and links read other files."""
    h5py = pytest.importorskip("h5py")
    images, labels = small["images"], small["labels"]

    def sparse(file):
        file.create_dataset("images", images.shape, "u1", chunks=(4, 64, 64, 3))[:4] = images[:4]

    def unwritten(file):
        file.create_dataset("images", images.shape, "u1")

    def linked(file):
        with h5py.File(folders / "other.h5", "w") as other:
            other["images"] = images
        file["images"] = h5py.ExternalLink(str(folders / "other.h5"), "images")

    def virtual(file):
        layout = h5py.VirtualLayout(images.shape, "u1")
        layout[:] = h5py.VirtualSource(str(folders / "other.h5"), "images", images.shape)
        file.create_virtual_dataset("images", layout)

    for write in (sparse, unwritten, linked, virtual):
        path = folders / f"{write.__name__}.h5"
        with h5py.File(path, "w") as file:
            file["labels"] = labels
            write(file)
        with pytest.raises(DataError, match=r"is damaged|not written in full"):
            Shapes3D(str(path)).load()
    with h5py.File(folders / "whole.h5", "w") as file:
        file.update({"labels": labels, "images": images})
    assert len(Shapes3D(str(folders / "whole.h5")).load()) == 12


def test_labels_that_promise_too_much_are_not_read(folders, small):
    h5py = pytest.importorskip("h5py")
    with h5py.File(folders / "s.h5", "w") as file:
        file["images"] = small["images"]
        file.create_dataset("labels", (10**12, 2), "f8", chunks=(1000, 2))
    with pytest.raises(DataError, match="is damaged"):
        Shapes3D(str(folders / "s.h5")).load()
