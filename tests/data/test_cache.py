"""The cache: sound files are shared, anything else is made again, nothing half-written is left."""

import errno
import hashlib
import os
import pwd
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import torch

from unknot.data.parts import cache

ARRAY = np.arange(6000, dtype=np.uint8).reshape(30, 200)
SHA256 = hashlib.sha256(ARRAY.tobytes()).hexdigest()


class Builder:
    """Counts how often the array is made."""

    def __init__(self):
        self.times = 0

    def __call__(self):
        self.times += 1
        return ARRAY.copy()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def fetch(build, sha256=SHA256):
    return cache.load_cached("numbers", build, shape=ARRAY.shape, sha256=sha256)


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def test_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "own"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "own"
    monkeypatch.delenv("UNKNOT_CACHE")
    assert cache.folder() == tmp_path / "xdg" / "unknot"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == tmp_path / "home" / ".cache" / "unknot"


def test_made_once_then_mapped_from_one_file(folder):
    build = Builder()
    for _ in range(3):
        array = fetch(build)
        assert np.array_equal(array, ARRAY)
        assert isinstance(array, np.memmap)
    assert build.times == 1
    assert only_file(folder).read_bytes() == ARRAY.tobytes() + bytes.fromhex(SHA256)


def test_becomes_a_tensor_without_a_warning_and_writing_to_it_stays_private(folder):
    tensor = torch.from_numpy(fetch(Builder()))
    tensor[0, 0] = 99
    assert fetch(Builder())[0, 0] == ARRAY[0, 0]


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[:-1],
        lambda raw: raw[:3000],
        lambda raw: raw[:20],
        lambda raw: raw[:0],
        lambda raw: raw + b"\0",
        lambda raw: raw[:100] + bytes([raw[100] ^ 1]) + raw[101:],
        lambda raw: raw[:-1] + bytes([raw[-1] ^ 1]),
        lambda raw: b"\0" * len(raw),
    ],
    ids=["end", "half", "stub", "empty", "longer", "one bit", "checksum", "zeros"],
)
def test_a_damaged_file_is_noticed_and_made_again(folder, damage):
    fetch(Builder())
    path = only_file(folder)
    path.write_bytes(damage(path.read_bytes()))
    build = Builder()
    assert np.array_equal(fetch(build), ARRAY)
    assert build.times == 1
    assert only_file(folder).read_bytes() == ARRAY.tobytes() + bytes.fromhex(SHA256)


def test_a_folder_in_the_place_of_the_file_is_no_obstacle(folder):
    (folder / f"numbers-{SHA256[:16]}.bin").mkdir(parents=True)
    with pytest.warns(UserWarning, match="could not be cached"):
        assert np.array_equal(fetch(Builder()), ARRAY)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError()])
def test_an_interrupted_write_leaves_nothing(folder, monkeypatch, error):
    def interrupted(fd):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupted)
        with pytest.raises(type(error)):
            fetch(Builder())
    assert list(folder.iterdir()) == []
    assert np.array_equal(fetch(Builder()), ARRAY)


def test_a_process_killed_while_writing_leaves_no_cache_and_its_rest_is_swept(folder):
    program = (
        "import os, numpy as np; from unknot.data.parts import cache;"
        "os.fsync = lambda fd: os._exit(9);"
        f"cache.load_cached('numbers', lambda: np.zeros((30, 200), np.uint8), shape=(30, 200),"
        f"sha256='{SHA256}')"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    part = only_file(folder)
    assert part.suffix == ".part"

    fetch(Builder())
    assert part.exists()  # young: it may belong to a process that is still writing
    only_bin = next(folder.glob("*.bin"))
    only_bin.unlink()
    hours_ago = time.time() - 7200
    os.utime(part, (hours_ago, hours_ago))
    assert np.array_equal(fetch(Builder()), ARRAY)
    assert only_file(folder) == only_bin


def test_many_at_once_all_get_the_array(folder):
    barrier = threading.Barrier(8)
    arrays = []

    def build():
        barrier.wait()  # nobody writes before everybody builds
        return ARRAY.copy()

    threads = [threading.Thread(target=lambda: arrays.append(fetch(build))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(arrays) == 8
    assert all(np.array_equal(array, ARRAY) for array in arrays)
    assert only_file(folder).suffix == ".bin"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_full_or_read_only_disk_costs_a_warning_and_nothing_else(folder, monkeypatch, number):
    def refuse(fd):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.warns(UserWarning, match=f"(?i){os.strerror(number)}.*UNKNOT_CACHE"):
        assert np.array_equal(fetch(Builder()), ARRAY)
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_costs_a_warning(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.warns(UserWarning, match="could not be cached"):
        assert np.array_equal(fetch(Builder()), ARRAY)


def test_a_user_without_a_home_keeps_it_in_memory(monkeypatch):
    def homeless(_):
        raise KeyError("no such user")

    for name in ("UNKNOT_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", homeless)
    with pytest.warns(UserWarning, match="home"):
        assert np.array_equal(fetch(Builder()), ARRAY)


def test_another_checksum_is_said_each_time_and_cached_under_its_own(folder):
    expected = "0" * 64
    build = Builder()
    for _ in range(2):
        with pytest.warns(UserWarning, match=f"{SHA256}, not {expected}"):
            assert np.array_equal(fetch(build, expected), ARRAY)
    assert build.times == 1
    fetch(build)
    assert build.times == 2  # the expected checksum names the recipe: another recipe, another file
