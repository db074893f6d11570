"""Images given in Python: what is taken, and how a run of them is loaded again."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, TensorDataset

import unknot
from unknot.core.errors import ConfigError, DataError
from unknot.data.parts.images import Bytes

RNG = np.random.default_rng(1)
COLOR = RNG.integers(0, 256, (12, 8, 10, 3), dtype=np.uint8)
FIRST = COLOR.transpose(0, 3, 1, 2)
TINY = {"net": "linear", "steps": 2, "batch": 4, "device": "cpu"}


class Pictures(Dataset):
    """As torchvision's: pictures with labels."""

    def __len__(self):
        return len(COLOR)

    def __getitem__(self, row):
        return Image.fromarray(COLOR[row]), row % 2


class Column:
    """As of Hugging Face: rows by name, with the types of the columns."""

    class Image:
        pass

    class ClassLabel:
        names = ("cat", "dog")

    column_names = ("picture", "label", "age")
    features = {"picture": Image(), "label": ClassLabel(), "age": "int"}  # noqa: RUF012

    def __len__(self):
        return len(COLOR)

    def __getitem__(self, row):
        if isinstance(row, str):  # -1 is a class that is not known
            return [-1, *[0, 1] * 6][:12] if row == "label" else [20 + i // 4 for i in range(12)]
        return {"picture": Image.fromarray(COLOR[row]), "label": 3, "age": 20}


SOURCES = {
    "array": COLOR,
    "channels first": FIRST,
    "tensor": torch.from_numpy(COLOR),
    "pictures": Pictures(),
    "tensors": TensorDataset(torch.from_numpy(FIRST.copy())),
    "column": Column(),
    "list": list(COLOR),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_all_kinds_of_objects_give_the_same_images_and_the_same_run(kind):
    settings = {"size": (8, 10)}  # pictures would become 64 x 64
    data = unknot.dataset(SOURCES[kind], **settings)
    assert np.array_equal(np.asarray(data.images.stored), FIRST)
    assert data.origin == unknot.dataset(COLOR).origin
    assert unknot.train(data, **TINY).spec.ids() == unknot.train(COLOR, **TINY).spec.ids()


def test_columns_of_a_hugging_face_dataset_are_labels_by_name():
    data = unknot.dataset(Column(), size=(8, 10), labels=["label", "age"], limit=9)
    assert "labels: label (nominal, 2, 1 missing), age (ordered, 3)" in data.summary
    assert data.space.levels == (("cat", "dog"), (20, 21, 22))
    assert data.space.values[:, 0].tolist() == [-1, 0, 1, 0, 1, 0, 1, 0, 1]
    with pytest.raises(DataError, match=r"no column 'ages'; did you mean 'age'\?"):
        unknot.dataset(Column(), labels=["ages"])


def test_kinds_are_a_list_or_a_dict():
    labels = {"turn": [*range(4)] * 3, "who": [*range(12)]}
    for kinds in (["turn=cyclic"], {"turn": "cyclic"}):
        space = unknot.dataset(COLOR, labels=labels, kinds=kinds).space
        assert space.kinds == ("cyclic", "ordered")


def test_floats_in_the_unit_interval_stay_and_others_are_scaled():
    unit = torch.rand(6, 1, 8, 8)
    assert torch.equal(unknot.dataset(unit).batch(torch.arange(6)), unit)
    data = unknot.dataset(10 * unit - 3)
    assert "scaled to 0 .. 1" in data.summary
    assert 0 <= float(data[0].min()) <= float(data[0].max()) <= 1


def test_a_dataset_works_in_a_data_loader():
    data = unknot.dataset(COLOR)
    assert isinstance(data, Dataset)
    (batch,) = DataLoader(data, batch_size=len(data))
    assert torch.equal(batch, data.batch(torch.arange(12)))
    assert torch.equal(torch.stack([*data]), batch)
    assert torch.equal(data[-1], batch[-1])
    assert data.summary == "12 images, 8 x 10 x 3"
    with pytest.raises(IndexError):
        data[12]


def test_a_run_of_an_array_is_loaded_with_the_array(tmp_path):
    run = unknot.train(COLOR, out=tmp_path / "run", **TINY)
    with pytest.raises(DataError, match=r"given in Python .* unknot\.load\(path, data=\.\.\.\)"):
        unknot.load(tmp_path / "run").codes()
    for same in (COLOR, torch.from_numpy(COLOR), unknot.dataset(COLOR)):
        again = unknot.load(tmp_path / "run", device="cpu", data=same)
        assert torch.equal(again.codes(), run.codes())
    with pytest.raises(DataError, match="not that of the run"):
        unknot.load(tmp_path / "run", data=COLOR[::-1].copy())
    assert "memory" in (tmp_path / "run" / "run.toml").read_text()
    small = sum(path.stat().st_size for path in (tmp_path / "run").glob("*"))
    assert unknot.resume(tmp_path / "run", data=COLOR, device="cpu").step == 2
    assert small > 0


def test_a_named_dataset_given_as_an_object_is_the_named_dataset():
    data = unknot.dataset("xysquares", spacing=8)
    by_object = unknot.train(data, **TINY).spec
    by_name = unknot.train("xysquares", data_settings={"spacing": 8}, **TINY).spec
    assert by_object == by_name


def test_a_dataset_of_ones_own_is_known_by_pixels_and_factors():
    space = unknot.FactorSpace(("a", "b"), (3, 4), ("ordered", "nominal"))
    other = unknot.FactorSpace(("a", "c"), (3, 4), ("ordered", "nominal"))
    images = Bytes(torch.from_numpy(FIRST.copy()))
    data = unknot.FactorDataset("mine", space, images)
    run = unknot.train(data, **TINY)
    assert run.dataset.space == space
    assert run.spec.data.title == "mine"
    renamed = unknot.train(unknot.FactorDataset("mine", other, images), **TINY)
    assert run.spec.ids() != renamed.spec.ids()


def test_a_net_that_fits_is_taken():
    run = unknot.train(COLOR, steps=1, batch=2, device="cpu", net_settings={"hidden": [8]})
    assert run.spec.net.name == "conv"


@pytest.mark.parametrize(
    ("source", "settings", "error", "message"),
    [
        (3, {}, DataError, "Expected a path, an array"),
        ([], {}, DataError, "Expected a path, an array"),
        (["a"], {}, DataError, "Expected items that are images"),
        ([COLOR[0], COLOR[0, :4]], {"crop": "none"}, DataError, "different sizes"),
        ([COLOR[0], COLOR[0, :, :, 0]], {"crop": "none"}, DataError, "grey"),
        (COLOR, {"sizes": 3}, ConfigError, "did you mean 'size'"),
        (COLOR, {"size": "big"}, ConfigError, r"data\.size"),
    ],
)
def test_what_is_refused(source, settings, error, message):
    with pytest.raises(error, match=message):
        unknot.dataset(source, **settings)
    with pytest.raises(ConfigError, match="has no more settings"):
        unknot.dataset(unknot.dataset(COLOR), size=3)


def test_a_dataset_of_hugging_face_and_its_parquet_file_are_the_same(tmp_path):
    """With the library itself, where it is installed."""
    library = pytest.importorskip("datasets")
    pictures = [Image.fromarray(image) for image in np.uint8(RNG.integers(0, 256, (5, 8, 8, 3)))]
    features = library.Features(
        {"image": library.Image(), "animal": library.ClassLabel(names=["cat", "dog", "owl"])}
    )
    rows = {"image": pictures, "animal": [0, 2, 1, 0, -1]}
    source = library.Dataset.from_dict(rows, features=features)
    source.to_parquet(tmp_path / "hub.parquet")
    data = unknot.dataset(source, labels=["animal"])
    file = unknot.dataset(tmp_path / "hub.parquet", labels=["animal"])
    assert torch.equal(data.batch(torch.arange(5)), file.batch(torch.arange(5)))
    assert (data.space.levels, data.space.kinds) == (file.space.levels, file.space.kinds)
    assert data.space.levels == (("cat", "dog", "owl"),)
    assert data.space.values.tolist() == file.space.values.tolist() == [[0], [2], [1], [0], [-1]]
