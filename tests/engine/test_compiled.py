"""Compilers keep their files in the cache folder, unless told otherwise."""

import os

import pytest

from unknot.engine.compiled import FOLDERS, keep_compiled


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    for variable in FOLDERS:
        monkeypatch.setenv(variable, "")  # so that it is put back
        monkeypatch.delenv(variable)
    keep_compiled.cache_clear()
    yield
    keep_compiled.cache_clear()


def test_files_are_kept_in_the_cache_folder(tmp_path):
    keep_compiled()
    for variable, name in FOLDERS.items():
        place = tmp_path / "cache" / "compiled" / name
        assert os.environ[variable] == str(place)
        assert place.is_dir()


def test_what_a_user_chose_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "mine"))
    keep_compiled()
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path / "mine")


def test_a_folder_that_others_can_write_is_not_used(tmp_path):
    place = tmp_path / "cache" / "compiled" / "triton"
    place.mkdir(parents=True)
    place.chmod(0o777)
    keep_compiled()
    assert "TRITON_CACHE_DIR" not in os.environ
    assert "TORCHINDUCTOR_CACHE_DIR" in os.environ


def test_without_a_folder_training_goes_on(monkeypatch, tmp_path):
    (tmp_path / "cache").write_text("a file")
    keep_compiled()
    assert not {*FOLDERS} & {*os.environ}
