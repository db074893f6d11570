"""Labels beside the user's images: read, matched by name or row, and refused."""

import numpy as np
import pytest
import torch
from PIL import Image

import unknot
from unknot.core.errors import DataError
from unknot.data.images import Images

SHADES = np.arange(8, dtype=np.uint8)[:, None, None].repeat(8, 1).repeat(8, 2) * 30


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    """Eight pictures; the shade tells which one it is."""
    for i, image in enumerate(SHADES):
        file = tmp_path / "photos" / f"day {i // 4}" / f"p{i}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(file)
    return tmp_path / "photos"


@pytest.fixture
def csv(tmp_path):
    def write(text, name="labels.csv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def shades(dataset):
    return (dataset.images.pixels(torch.arange(len(dataset)))[:, 0, 0, 0] * 255 / 30).round().long()


@pytest.mark.parametrize("spelling", ["day {}/p{}.png", "p{1}.png", "p{1}"])
def test_labels_go_by_the_name_of_the_picture(folder, csv, spelling):
    order = [5, 2, 7, 0, 1, 6, 3]  # none for p4
    lines = [f"{spelling.format(i // 4, i)},{'odd' if i % 2 else 'even'},{i // 3}" for i in order]
    labels = csv("\n".join(["picture,parity,third", *lines]))
    data = Images(str(folder), labels=labels).load()
    assert not data.space.is_grid
    assert data.space.names == ("parity", "third")
    assert data.space.kinds == ("nominal", "ordered")
    assert data.space.values[:, 0].tolist() == [0, 1, 0, 1, -1, 1, 0, 1]
    assert shades(data).tolist() == [*range(8)]
    assert data.summary.endswith(
        "labels: parity (nominal, 2, 1 missing), third (ordered, 3, 1 missing)"
    )


def test_labels_that_fill_a_grid_are_one(folder, csv):
    lines = [f"p{i}.png;{1 - i % 2};{i // 2}" for i in range(8)]
    data = Images(str(folder), labels=csv("\n".join(["file;b;a", *lines]))).load()
    assert data.space.is_grid
    assert data.space.sizes == (2, 4)
    assert shades(data).tolist() == [1, 3, 5, 7, 0, 2, 4, 6]


def test_labels_by_row_and_changed_headers_are_said(folder, csv):
    text = '"two\nlines",x,x\n' + "\n".join(f"{i // 5},{i},{i}" for i in range(8))
    data = Images(str(folder), labels=csv(text), kinds=("two lines=nominal",)).load()
    assert data.space.names == ("two lines", "x", "x 2")
    assert data.space.kinds[0] == "nominal"
    assert "labels by row" in data.summary
    assert "is called 'two lines'" in data.summary


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,a\np0.png,1\np0.png,2", "'p0.png' twice"),
        ("file,a\np0.png,1\np9.png,2", "names the picture 'p9.png'"),
        ("file,a\nx.png,1\ny.png,2", "No row of"),
        ("a\n1\n2", "No row of"),
        ("file,a\np0.png,1,2", "2 columns and 3 in row 2"),
        ("file,a", "one for each image"),
        ("file,a\np0.png,\np1.png,", "missing in all 8 rows"),
        ("file\np0.png\np1.png", "no label beside"),
        ("", "one for each image"),
    ],
)
def test_bad_labels_are_refused_in_one_line(folder, csv, text, message):
    with pytest.raises(DataError, match=message) as caught:
        Images(str(folder), labels=csv(text)).load()
    assert "\n" not in str(caught.value)


def test_missing_and_binary_files_are_refused(folder, tmp_path):
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    for labels, message in (
        ("none.csv", "There is no file 'none.csv'; labels of a folder of images come from"),
        (tmp_path / "bytes.csv", "it is not text in UTF-8"),
    ):
        with pytest.raises(DataError, match=message):
            Images(str(folder), labels=str(labels)).load()


def test_fewer_pictures_need_fewer_labels(folder, csv):
    labels = csv("\n".join(["file,a", *(f"p{i}.png,{i % 3}" for i in range(8))]))
    assert Images(str(folder), labels=labels, limit=5).load().space.size == 5


def test_other_labels_are_other_data(folder, csv):
    first = csv("\n".join(["file,a", *(f"p{i}.png,{i % 3}" for i in range(8))]), "1.csv")
    second = csv("\n".join(["file,a", *(f"p{i}.png,{i % 2}" for i in range(8))]), "2.csv")
    pinned = [Images(str(folder), labels=f).pin().content for f in (None, first, second)]
    assert len({*pinned}) == 3
    with pytest.raises(DataError, match="no longer those of the run"):
        Images(str(folder), labels=second, content=pinned[1]).load()


def test_labels_in_the_file_of_the_images(tmp_path):
    person = np.array(["b", "a", "b", "a", "c", "c", "c", "a"])
    np.savez(tmp_path / "a.npz", images=SHADES, person=person, age=np.arange(8) / 2)
    data = Images(str(tmp_path / "a.npz"), labels="person").load()
    assert data.space.levels == (("a", "b", "c"),)
    with pytest.raises(DataError, match="no label 'perso'"):
        Images(str(tmp_path / "a.npz"), labels="perso").load()
    factors = np.stack([np.arange(8) % 3, np.arange(8) // 4], axis=1)
    np.savez(tmp_path / "b.npz", images=SHADES, factors=factors, kinds=["nominal", "ordered"])
    table = Images(str(tmp_path / "b.npz")).load().space
    assert (table.kinds, table.values.tolist()) == (("nominal", "ordered"), factors.tolist())


def test_labels_in_python(folder, tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {"a": ["x", None, "y", "x", "y", "x", "x", "x"], "b": [1.5, 2, 3, 4, 5, 6, 7, 8]}
    frame = pandas.DataFrame(columns)
    for source in (SHADES, torch.from_numpy(SHADES)):
        for labels in (columns, frame):
            data = unknot.dataset(source, labels=labels, kinds=["b=cyclic"])
            assert data.space.kinds == ("nominal", "cyclic")
            assert data.space.values[:, 0].tolist() == [0, -1, 1, 0, 1, 0, 0, 0]
    named = frame.assign(name=[f"p{i}.png" for i in range(8)])[::-1]
    assert unknot.dataset(folder, labels=named).space.values[:2, 0].tolist() == [0, -1]
    hashes = {unknot.dataset(SHADES, labels={"a": c}).origin.settings.content
              for c in (columns["a"], columns["a"][::-1])}  # fmt: skip
    assert len(hashes) == 2


def test_labels_of_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"gene": [0.5, 1, 2, 3], "batch": ["b", "a", "a", None], "dose": [1, 2, 1, 2], "x": 7.0}
    )
    frame.to_csv(tmp_path / "cells.csv", index=False)
    for source in (tmp_path / "cells.csv", frame):
        data = unknot.dataset(source, labels=["batch", "dose"])
        assert data.shape == (2, 1, 1)  # labels are nothing to learn from
        assert data.space.names == ("batch", "dose")
        assert data.space.values.tolist() == [[1, 0], [0, 1], [0, 0], [-1, 1]]
    with pytest.raises(DataError, match="no label 'bach'; did you mean 'batch'"):
        unknot.dataset(tmp_path / "cells.csv", labels=["bach"])
    beside = unknot.dataset(np.eye(4), labels={"a": [1, 2, 2, 1], "b": [1, 1, 2, 2]})
    assert beside.space.is_grid
    assert beside.images.stored.flatten(1).tolist() == np.eye(4)[[0, 3, 1, 2]].tolist()


def test_labels_in_an_hdf5_file(tmp_path):
    h5py = pytest.importorskip("h5py")
    animals = ["ant", "bee", "cat", "ant", "bee", "cat", "ant", "bee"]
    with h5py.File(tmp_path / "all.h5", "w") as file:
        file["images"] = SHADES
        file["animal"] = animals  # of any length
        file["fixed"] = np.array(animals, dtype="S3")
        file["size"] = np.arange(8) % 3
    path = f"{tmp_path / 'all.h5'}::images"
    space = unknot.dataset(path, labels=["animal", "fixed", "size"]).space
    assert space.levels[0] == space.levels[1] == ("ant", "bee", "cat")
    assert torch.equal(space.values[:, 0], space.values[:, 1])
