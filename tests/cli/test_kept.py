"""What others wrote stays: pages and study files of theirs, links, and folders behind links."""

import shutil

import pytest

import unknot as library
from unknot.core.errors import DamageError
from unknot.core.files import PAGE_MARK
from unknot.runs.folder import RunFolder
from unknot.runs.longer import extend_folder, longer_spec


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "runs.csv"
    file.write_text("objective,seed,mig\nvae,0,0.1\nvae,1,0.2\nae,0,0.4\n")
    return file


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny):
    path = tmp_path_factory.mktemp("runs") / "run"
    settings = {"data": "arrays", "data_settings": {"path": str(tiny)}, "net": "linear"}
    library.train(**settings, steps=4, batch=4, checkpoint_every=2, device="cpu", out=path)
    return path


@pytest.fixture
def run(trained, tmp_path):
    return shutil.copytree(trained, tmp_path / "run")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ((), "index.html"),
        (("--paper",), "main.tex"),
        ((), "study.toml"),
        (("--paper",), "study.toml"),
    ],
)
def test_a_report_replaces_no_page_of_others(unknot, table, tmp_path, words, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / name).write_text("mine")
    code, _, err = unknot("report", table, *words, "--out", folder)
    assert code == 2
    assert f"{name} is not of a page that unknot wrote" in err
    assert [file.name for file in folder.iterdir()] == [name]
    assert (folder / name).read_text() == "mine"


@pytest.mark.parametrize(("words", "name"), [((), "index.html"), (("--paper",), "main.tex")])
def test_a_report_replaces_its_own_page(unknot, table, tmp_path, words, name):
    for _ in range(2):
        code, _, err = unknot("report", table, *words, "--out", tmp_path / "page")
        assert code == 0, err
    assert PAGE_MARK in (tmp_path / "page" / name).read_bytes()[:4096]


def test_a_report_follows_no_link_to_another_folder(unknot, table, tmp_path):
    (tmp_path / "victim").mkdir()
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "figures").symlink_to("../victim")
    code, _, err = unknot("report", table, "--out", tmp_path / "page")
    assert code == 2
    assert "is a link, which unknot does not follow here" in err
    assert [*(tmp_path / "victim").iterdir()] == []


def test_a_model_is_exported_into_the_folder_that_a_link_leads_to(unknot, run, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "model").symlink_to("disk")
    code, _, err = unknot("export", run, "--out", tmp_path / "model", "--no-onnx")
    assert code == 0, err
    assert (tmp_path / "model").is_symlink()
    assert (tmp_path / "disk" / "model.py").is_file()


@pytest.mark.parametrize("name", ["weights.safetensors", "curves.safetensors"])
def test_a_damaged_run_is_not_trained_for_more(run, name):
    data = bytearray((run / name).read_bytes())
    data[-1] ^= 1
    (run / name).write_bytes(data)
    folder = RunFolder(run)
    before = {file.name: file.read_bytes() for file in run.glob("*.*")}
    with pytest.raises(DamageError, match="is not what was written"):
        extend_folder(folder, longer_spec(folder.spec(), 6))
    assert {file.name: file.read_bytes() for file in run.glob("*.*")} == before
