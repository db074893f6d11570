"""Runs of the user's own images: names, nets, ids."""

import shutil

import numpy as np
import pytest
from PIL import Image

from unknot.core.errors import ConfigError, DataError
from unknot.runs import config
from unknot.runs.verbs import load, train


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def photos(tmp_path):
    path = tmp_path / "photos"
    path.mkdir()
    for i in range(8):
        Image.linear_gradient("L").rotate(30 * i).resize((28, 28)).save(path / f"{i}.png")
    return path


def test_a_path_is_short_for_the_dataset_that_reads_it(photos, monkeypatch):
    spec = config.spec({"data": str(photos)})
    assert (spec.data.name, spec.data.title, spec.data.settings.shape) == (
        "images",
        "photos",
        (1, 28, 28),
    )
    assert config.spec(spec.table()) == spec
    monkeypatch.chdir(photos.parent)
    assert config.spec({"data": "photos"}) == spec
    (photos.parent / "dsprites").mkdir()
    assert config.spec({"data": "dsprites"}).data.name == "dsprites"
    with pytest.raises(ConfigError, match="did you mean 'dsprites'"):
        config.spec({"data": "dsprits"})
    with pytest.raises(DataError, match=r"no file or folder 'dsprits\.npz'"):
        config.spec({"data": "dsprits.npz"})
    (photos / "a.doc").write_text("")
    with pytest.raises(DataError, match="Expected a folder of pictures or a file"):
        config.spec({"data": str(photos / "a.doc")})


def test_the_net_fits_unless_it_is_named(photos):
    assert config.spec({"data": str(photos)}).net.name == "conv"
    assert config.spec({"data": {"name": str(photos), "size": 64}}).net.name == "conv64"
    assert config.spec({"data": str(photos), "net": {"name": "mlp"}}).net.name == "mlp"
    assert config.spec({"data": str(photos), "net": {"latents": 3}}).net.settings.latents == 3


def test_standardised_images_have_a_gaussian_likelihood_unless_another_is_named(photos):
    data = {"name": str(photos), "standardize": True}
    assert config.spec({"data": data}).objective.settings.likelihood == "gaussian"
    asked = {"name": "vae", "likelihood": "bernoulli"}
    assert config.spec({"data": data, "objective": asked}).objective.settings.likelihood == (
        "bernoulli"
    )


def test_ids_come_from_the_content_and_not_from_the_place(photos):
    ids = config.spec({"data": str(photos)}).ids()
    other = photos.parent / "elsewhere"
    shutil.copytree(photos, other)
    assert config.spec({"data": str(other)}).ids() == ids
    assert config.spec({"data": {"name": str(other), "size": 28, "channels": 1}}).ids() == ids
    assert config.spec({"data": {"name": str(other), "limit": 5}}).ids() != ids
    Image.new("L", (28, 28)).save(other / "0.png")
    assert config.spec({"data": str(other)}).ids() != ids


def test_ids_of_arrays_are_what_they_were(tmp_path):
    """Of format 2 as it was first written: by the path, which the file's own name ends."""
    table = {"data": {"name": "arrays", "path": "/data/mine.npz"}, "net": "linear"}
    assert config.spec(table).ids() == ["c287895acf72"]


def test_a_moved_folder_is_found_by_its_new_path(photos, tmp_path):
    table = {"data": str(photos), "net": "linear", "steps": 2, "batch": 4}
    run = train(config.spec(table), out=tmp_path / "run", device="cpu")
    moved = tmp_path / "moved"
    shutil.move(photos, moved)
    with pytest.raises(DataError, match=r"no file or folder .*--data PATH"):
        load(tmp_path / "run").codes()
    again = load(tmp_path / "run", device="cpu", data=moved)
    assert again.spec.ids() == run.spec.ids()
    assert np.array_equal(again.codes(), run.codes())
    file = tmp_path / "run" / "run.toml"
    file.write_text(file.read_text().replace(str(photos), str(moved)))
    assert np.array_equal(load(tmp_path / "run", device="cpu").codes(), run.codes())
    Image.new("L", (28, 28)).save(moved / "0.png")
    with pytest.raises(DataError, match="no longer those of the run"):
        load(tmp_path / "run", data=moved)
