"""``unknot data get``, ``list`` and ``remove``: files of published datasets."""

import hashlib
import http.server
import json
import threading
from functools import partial

import pytest
from data import cases, layouts

from unknot.core import registry
from unknot.data import shapes3d
from unknot.data.parts.sources import Source
from unknot.data.shapes3d import Shapes3D

CONTENT = b"three dimensions" * 1000


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return tmp_path


@pytest.fixture
def served(folders, monkeypatch):
    """3D Shapes as a small file that a server of this machine has; its address is told."""
    (folders / "www").mkdir()
    (folders / "www" / "3dshapes.h5").write_bytes(CONTENT)
    handler = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: 0})
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(handler, directory=folders / "www")
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        known = {"size": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest()}

        def serve(**facts):
            address = f"http://127.0.0.1:{server.server_port}/3dshapes.h5"
            source = Source("3dshapes.h5", (address,), **{**known, **facts})
            monkeypatch.setattr(Shapes3D, "sources", lambda self: (source,))
            return address

        yield serve
        server.shutdown()


def test_get_says_what_comes_and_from_where_and_checks_it(served, folders, unknot):
    address = served()
    code, out, _ = unknot("data", "get", "shapes3d")
    place = folders / "data" / "shapes3d" / "3dshapes.h5"
    assert code == 0
    assert place.read_bytes() == CONTENT
    for part in ("Apache-2.0", "16 kB", address, str(place), "checksum as published"):
        assert part in out
    code, out, _ = unknot("data", "get", "shapes3d")
    assert code == 0
    assert address not in out, "it is there"


def test_get_to_another_folder_says_how_to_use_it(served, folders, unknot):
    served(sha256="")
    code, out, _ = unknot("data", "get", "shapes3d", "--to", folders / "disk")
    assert code == 0
    assert (folders / "disk" / "shapes3d" / "3dshapes.h5").exists()
    assert f"UNKNOT_DATA={folders / 'disk'}" in out
    assert "kept from now on" in out


def test_a_large_download_is_asked_for_before_anything_is_written(served, folders, unknot):
    served(size=None, about=2 * 10**9)
    code, _, err = unknot("data", "get", "shapes3d")
    assert code == 2
    assert "2.0 GB" in err
    assert "--yes" in err
    assert not (folders / "data").exists()
    assert unknot("data", "get", "shapes3d", "--yes")[0] == 0


def test_get_refuses_a_wrong_file_and_what_needs_none(served, folders, unknot):
    served(sha256="0" * 64)
    code, _, err = unknot("data", "get", "shapes3d")
    assert code == 1
    assert "published sha256" in err
    assert "Try again, or get it elsewhere and save it as" in err
    assert not (folders / "data" / "shapes3d" / "3dshapes.h5").exists()
    for name, reason in (
        ("dsprites", "is generated and needs no file"),
        ("arrays", "a file of yours"),
        ("shapes", "did you mean 'shapes3d'"),
    ):
        code, _, err = unknot("data", "get", name)
        assert code == 2
        assert reason in err


def test_what_is_on_the_disk_is_listed_and_removed(served, folders, unknot, monkeypatch):
    served()
    unknot("data", "get", "shapes3d")
    (folders / "cache" / "shapes3d" / "0123").mkdir(parents=True)
    (folders / "cache" / "shapes3d" / "0123" / "pixels.bin").write_bytes(bytes(5000))
    monkeypatch.setattr(registry, "names", lambda room: ["arrays", "shapes3d"])
    rows = {row["name"]: row for row in json.loads(unknot("data", "list", "--json")[1])}
    row = rows["shapes3d"]
    assert (row["files"], row["there"]) == ("1 of 1", ["3dshapes.h5"])
    assert (row["bytes"], row["cached"], row["images"]) == (len(CONTENT), 5000, 480_000)
    assert row["verified"] == "not verified against the real file"
    assert "floor_hue 10" in row["factors"]
    assert "cache 5 kB" in " ".join(unknot("data", "list")[1].split())
    code, _, err = unknot("data", "remove", "shapes3d")
    assert code == 2
    assert "--yes" in err
    assert unknot("data", "remove", "shapes3d", "--yes")[0] == 0
    assert not [*(folders / "cache").rglob("*.*")]
    assert [p.name for p in (folders / "data" / "shapes3d").iterdir() if p.suffix == ".h5"] == []
    assert "no files" in unknot("data", "remove", "shapes3d")[1]


def test_published_results_go_by_name(folders, unknot, monkeypatch, tmp_path):
    from unknot.cli import report
    from unknot.data.parts.collections import RESULTS

    monkeypatch.chdir(tmp_path)
    code, _, err = unknot("report", "mine.csv", "--published", "study2019_results")
    assert code == 2
    assert "unknot data get study2019_results" in err
    place = folders / "data" / "study2019_results"
    place.mkdir(parents=True)
    for source in RESULTS:
        (place / source.file).write_text("model_num\n")
    written = []
    monkeypatch.setattr(report, "write", lambda *a, **options: written.append((a, options)) or [0])
    assert unknot("report", "study2019_results", "--published", "study2019_results")[0] == 0
    ((study, _), options) = written[0]
    assert study == options["published"] == place
    monkeypatch.setattr(registry, "names", lambda room: ["arrays"])
    rows = json.loads(unknot("data", "list", "--json")[1])
    assert next(r for r in rows if r["name"] == "study2019_results")["files"] == "6 of 6"


def test_one_variant_is_got_at_a_time(folders, unknot):
    code, out, err = unknot("data", "get", "mpi3d", "--set", "variant=realistic")
    assert code == 2
    assert "mpi3d_realistic.npz" in out
    assert "mpi3d_toy" not in out
    assert "12.7 GB" in err


def test_a_study_names_all_files_that_it_lacks_before_it_writes_anything(folders, unknot):
    out = folders / "study"
    code, _, err = unknot(
        *("study", "run", "--grid", "data.name=shapes3d,cars3d,xysquares", "--out", out),
        *("--set", "train.net.name=linear", "--set", "train.steps=1"),
    )
    assert code == 2
    for part in ("3dshapes.h5", "nips2015-analogy-data.tar.gz", "unknot data get cars3d"):
        assert part in err
    assert "xysquares" not in err
    assert not out.exists()


@pytest.mark.parametrize("verb", ["train", "show"])
def test_files_are_decoded_under_a_bar_the_first_time_only(verb, folders, unknot, monkeypatch):
    monkeypatch.setattr("unknot.cli.screen.PATIENCE", 0)
    layouts.write_shapes3d_mirror(folders, (2, 2, 2, 2, 2, 2))
    cases.shrink("shapes3d", (2, 2, 2, 2, 2, 2), monkeypatch)
    monkeypatch.setattr(shapes3d, "ROWS", 16)
    place = f"data.path={folders / 'shapes3d.npz'}"
    command = {
        "train": ["train", "--data", "shapes3d", "--net", "linear", "--steps", "1"],
        "show": ["data", "show", "shapes3d"],
    }[verb]
    out = ["--out", str(folders / "out")]
    first = unknot(*command, "--set", place, *out)
    assert first[0] == 0
    assert "read 16/64 images" in first[2]
    assert "read 64/64 images" in first[2]
    second = unknot(*command, "--set", place, "--out", str(folders / "again"))
    assert second[0] == 0
    assert "read 16/64" not in second[2]


def test_the_list_generates_nothing(unknot, monkeypatch, tmp_path):
    monkeypatch.setenv("UNKNOT_CACHE", str(tmp_path / "new"))
    assert "scene3d  480,000 images, 64 x 64 x 3, generated" in unknot("data", "list")[1]
    assert not (tmp_path / "new").exists()


def test_of_many_columns_the_first_are_listed(unknot, tmp_path):
    file = tmp_path / "wide.csv"
    names = [f"gene{i}" for i in range(250)]
    file.write_text(f"{','.join(names)}\n" + f"{','.join(['1'] * 250)}\n{','.join(['2'] * 250)}\n")
    code, out, err = unknot("data", "show", file)
    assert code == 0, err
    assert "gene199" in out
    assert "gene200" not in out
    assert "... and 50 more columns." in out
