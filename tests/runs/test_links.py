"""Folders from somewhere else: nothing in them leads what is written to another place."""

import os

import pytest

import unknot
from unknot.cli.main import app
from unknot.core.errors import StoreError
from unknot.core.files import inside
from unknot.runs import lock


@pytest.fixture
def foreign(options, tmp_path):
    """A run, and a file beside it that must stay as it is."""
    unknot.train(**options, out=tmp_path / "run")
    (tmp_path / "victim").write_text("precious")
    yield tmp_path / "run"
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.parametrize("name", [".lock", "scores.jsonl", "weights.safetensors", "index.html"])
def test_a_link_in_a_run_folder_is_refused(foreign, name):
    (foreign / name).unlink(missing_ok=True)
    (foreign / name).symlink_to("../victim")
    for words in (["evaluate", "--metrics", "mig"], ["resume"], ["show"], ["encode"]):
        with pytest.raises(StoreError, match=f"{name} is a link"):
            app([words[0], str(foreign), *words[1:]], standalone_mode=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes")
@pytest.mark.parametrize("name", ["status.json", "scores.jsonl", "weights.safetensors"])
def test_a_pipe_in_a_run_folder_is_refused_and_not_read(foreign, name):
    (foreign / name).unlink(missing_ok=True)
    os.mkfifo(foreign / name)
    for words in (["evaluate", "--metrics", "mig"], ["resume"], ["show"], ["encode"]):
        with pytest.raises(StoreError, match=f"{name} is a pipe"):
            app([words[0], str(foreign), *words[1:]], standalone_mode=False)


def test_a_link_in_place_of_checkpoints_is_refused(foreign, tmp_path):
    (foreign / "checkpoints").rename(tmp_path / "elsewhere")
    (foreign / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="checkpoints is a link"):
        unknot.resume(foreign)


def test_a_lock_that_is_another_file_by_a_second_name_is_refused(foreign, tmp_path):
    (foreign / ".lock").unlink(missing_ok=True)
    os.link(tmp_path / "victim", foreign / ".lock")
    with pytest.raises(StoreError, match="is not a lock"), lock.hold(foreign, "no"):
        pass


def test_the_folder_itself_may_be_a_link(foreign, tmp_path):
    """As on clusters, where runs live on another disk."""
    (tmp_path / "link").symlink_to(foreign)
    assert unknot.load(tmp_path / "link", device="cpu").status == "done"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc", "..\\up", "a\0b", "c:up"])
def test_names_that_lead_out_of_a_folder_are_refused(tmp_path, name):
    with pytest.raises(StoreError, match="is not a name of something in"):
        inside(tmp_path, "populations", name)
