"""Archives give back what was written, and nothing that no archive of ours holds."""

import json
import zipfile

import pytest
import torch

import unknot
from unknot.core.errors import StoreError
from unknot.studies.archive import write_archive


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("archive") / "run"
    data = unknot.dataset(torch.rand(64, 1, 8, 8, generator=torch.Generator().manual_seed(0)))
    return unknot.train(data, "vae", "linear", steps=4, batch=8, out=out, progress=False)


@pytest.mark.parametrize(("weights", "bits"), [("full", 60), ("half", 10)])
def test_weights_are_those_of_the_run_to_its_precision(tmp_path, run, weights, bits):
    contents = write_archive(run.path, tmp_path / "run.zip", weights=weights)
    assert contents.models == 1
    back = unknot.load(tmp_path / "run.zip").training.weights()
    for name, tensor in run.training.weights().items():
        error = (back[name] - tensor).abs()
        assert bool((error <= tensor.abs() * 2.0**-bits + 2.0**-25).all()), name
        assert weights == "half" or torch.equal(back[name], tensor)


def test_the_same_run_gives_the_same_bytes(tmp_path, run):
    for name in ("a.zip", "b.zip"):
        write_archive(run.path, tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "populations/../../evil", "x.pkl"])
def test_other_names_are_refused(tmp_path, run, name):
    write_archive(run.path, tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip", "a") as file:
        file.writestr(name, b"x")
    with pytest.raises(StoreError, match="which no archive of unknot has"):
        unknot.load(tmp_path / "run.zip")


def test_another_content_is_refused(tmp_path, run):
    write_archive(run.path, tmp_path / "run.zip")
    with (
        zipfile.ZipFile(tmp_path / "run.zip") as old,
        zipfile.ZipFile(tmp_path / "new.zip", "w") as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data[::-1] if name == "curves.safetensors" else data)
        assert "curves.safetensors" in json.loads(old.read("manifest.json"))["files"]
    with pytest.raises(StoreError, match="not what was written"):
        unknot.load(tmp_path / "new.zip")
