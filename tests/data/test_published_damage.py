"""Files of published datasets that are missing, cut, foreign or altered.

A loader refuses them in one line and leaves no cache; or they were not needed, and all is as
before.
"""

import os
import shutil
import zipfile

import numpy as np
import pytest
from data.cases import ONCE, load, shown, write
from data.image_layouts import image_file

from unknot.core import registry
from unknot.core.errors import DataError

ONE_FILE = [
    label
    for label, case in ONCE.items()
    if case.name not in ("smallnorb", "celeba", "mnist") and "folder" not in label
]
FOLDERS = ["smallnorb-disent", "cars3d_folder-disent", "falcor3d_folder", "celeba", "mnist"]

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.mark.parametrize("label", ONCE)
def test_nothing_there(label, tmp_path, refuse):
    case = ONCE[label]
    assert "absent" in refuse(case, tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    refuse(case, tmp_path / "empty")
    (tmp_path / "file").write_bytes(b"")
    refuse(case, tmp_path / "file")


@pytest.mark.timeout(20)  # opening a pipe that nobody writes to would wait for ever
@pytest.mark.parametrize("label", ONCE)
def test_a_pipe(label, tmp_path, refuse):
    case = ONCE[label]
    os.mkfifo(tmp_path / "pipe.npz")
    refuse(case, tmp_path / "pipe.npz")


def halve(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut_the_end(path):
    path.write_bytes(path.read_bytes()[:-7])


def write_text(path):
    path.write_text("<html>403 Forbidden</html>\n")


def write_picture(path):
    path.write_bytes(image_file(np.zeros((9, 9), np.uint8)))


def make_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = [os.unlink, halve, cut_the_end, write_text, write_picture, make_folder]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("label", [*ONE_FILE, *FOLDERS])
def test_each_file_in_turn(label, damage, tmp_path, monkeypatch, own_cache, refuse_or_agree):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    expected = shown(load(case, written.path, monkeypatch))
    paths = sorted(path for path in (tmp_path / "files").rglob("*") if path.is_file())
    if len(paths) > 8:
        paths = [*paths[:2], *paths[-3:]]
    refused = 0
    for path in paths:
        shutil.rmtree(own_cache, ignore_errors=True)
        whole = path.read_bytes()
        damage(path)
        refused += not refuse_or_agree(case, written.path, expected)
        if path.is_dir():
            path.rmdir()
        path.write_bytes(whole)
    assert refused > 0 or damage is cut_the_end


@pytest.mark.parametrize("label", ONE_FILE)
def test_altered_bytes(label, tmp_path, monkeypatch, own_cache, refuse_or_agree):
    """By the checksums of zip, gzip and PNG; HDF5 has those of its compressed chunks."""
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    expected = shown(load(case, written.path, monkeypatch))
    shutil.rmtree(own_cache, ignore_errors=True)
    whole = written.path.read_bytes()
    refused = 0
    for at in np.linspace(len(whole) // 10, len(whole) - 1, 8).astype(int):
        written.path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        os.utime(written.path, (2e9 + at, 2e9 + at))
        refused += not refuse_or_agree(case, written.path, expected)
    assert refused > 0


@pytest.mark.parametrize("label", [label for label in ONE_FILE if "hdf5" not in label])
def test_a_password(label, tmp_path, refuse):
    case = ONCE[label]
    written = write(case, tmp_path / "files")
    raw = bytearray(written.path.read_bytes())
    if not zipfile.is_zipfile(written.path):
        pytest.skip("no zip archive")
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(mark)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(mark, at + 4)
    written.path.write_bytes(raw)
    refuse(case, written.path)


@pytest.mark.parametrize("label", ONCE)
def test_files_in_the_data_folder_must_have_the_published_checksum(
    label, tmp_path, monkeypatch, own_cache
):
    case = ONCE[label]
    sources = registry.get("datasets", case.name).published.files
    if "folder" in label or not any(source.sha256 or source.md5 for source in sources):
        pytest.skip("no checksum is published")
    write(case, tmp_path / case.name)
    if not all((tmp_path / case.name / source.file).exists() for source in sources):
        pytest.skip("another form of it is served")
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"(sha256|md5)") as caught:
        load(case, None, monkeypatch)
    assert "\n" not in str(caught.value)
    assert [*own_cache.rglob("*.*")] == []
