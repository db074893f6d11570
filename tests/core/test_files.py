"""Files and folders appear whole or not at all."""

import os
import shutil
import time
from pathlib import Path

import pytest

from unknot.core.errors import StoreError, WriteError
from unknot.core.files import atomic_path, os_reason, write_whole


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """A rename that reaches the disk before the content does would leave an empty file."""
    events, fsync, replace = [], os.fsync, Path.replace

    def synced(handle):
        events.append(f"sync {Path(f'/proc/self/fd/{handle}').readlink().suffix}")
        fsync(handle)

    def replaced(path, target):
        events.append("replace")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    write_whole(tmp_path / "inner" / "a.txt", "a\u00e9")
    assert events == ["sync .part", "replace", "sync "]
    assert (tmp_path / "inner" / "a.txt").read_bytes() == "a\u00e9".encode()
    assert len(list((tmp_path / "inner").iterdir())) == 1


def test_every_file_of_a_folder_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def record(handle):
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "old").write_text("")
    with atomic_path(tmp_path / "folder") as part:
        part.mkdir()
        (part / "a").write_text("1")
        (part / "b").write_text("2")
    assert {"a", "b"} < set(synced[:-1])
    assert synced[-1] == tmp_path.name
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["a", "b"]
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_refused_file_leaves_the_old_one(tmp_path, refusing_disk):
    write_whole(tmp_path / "a.txt", b"old")
    refusing_disk("a.txt")
    with pytest.raises(WriteError, match=r"^Could not write .*a\.txt: no space left on device\.$"):
        write_whole(tmp_path / "a.txt", b"new")
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a.txt", b"old")]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_write_leaves_the_old_one(tmp_path, error):
    write_whole(tmp_path / "a.txt", b"old")

    def interrupted():
        with atomic_path(tmp_path / "a.txt") as part:
            part.write_bytes(b"n")
            raise error

    with pytest.raises(error):
        interrupted()
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a.txt", b"old")]


def test_what_killed_processes_left_is_removed_an_hour_later(tmp_path):
    young, old = (tmp_path / f".a.txt.{name}.part" for name in ("young", "old"))
    other = tmp_path / ".b.txt.old.part"
    for path in (young, old, other):
        path.write_text("")
    for path in (old, other):
        os.utime(path, (time.time() - 3700,) * 2)
    write_whole(tmp_path / "a.txt", b"")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([young.name, other.name, "a.txt"])


def write_new(path, write, meanwhile):
    with atomic_path(path, new=True) as part:
        write(part, "mine")
        meanwhile()


def make_folder(path, text):
    path.mkdir()
    (path / "inner.txt").write_text(text)


@pytest.mark.parametrize("write", [Path.write_text, make_folder])
def test_what_came_in_the_meantime_stays(tmp_path, write):
    path = tmp_path / "a"
    with pytest.raises(StoreError, match="Another command wrote"):
        write_new(path, write, lambda: write(path, "theirs"))
    assert (path / "inner.txt" if path.is_dir() else path).read_text() == "theirs"
    assert [*tmp_path.iterdir()] == [path]


def test_a_new_file_is_written_where_a_disk_has_no_hard_links(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    write_whole(tmp_path / "a.txt", b"1", new=True)
    with pytest.raises(StoreError, match="Another command wrote"):
        write_whole(tmp_path / "a.txt", b"2", new=True)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("a.txt", b"1")]


def replace_folder(path):
    with atomic_path(path) as part:
        part.mkdir()
        write_whole(part / "new.txt", "new")


def test_a_folder_that_cannot_be_replaced_comes_back(tmp_path, monkeypatch):
    folder, replace = tmp_path / "folder", Path.replace
    make_folder(folder, "old")

    def refuse(path, target):
        if target == folder and (path / "new.txt").exists():
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(WriteError):
        replace_folder(folder)
    assert [*tmp_path.rglob("*")] == [folder, folder / "inner.txt"]


def test_a_file_inside_is_refused_by_the_name_of_the_folder(tmp_path, refusing_disk):
    refusing_disk("new.txt")
    with pytest.raises(WriteError, match=r"Could not write .*folder: no space left on device\.$"):
        replace_folder(tmp_path / "folder")


def test_a_reason_of_a_library_is_that_of_the_system():
    copied = shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")])
    arrow = OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device")
    assert os_reason(copied) == os_reason(arrow) == "no space left on device"
