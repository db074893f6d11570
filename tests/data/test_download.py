"""Downloads, from a server on this machine that cuts, refuses and lies."""

import errno
import hashlib
import http.server
import json
import threading

import pytest

from unknot.core.errors import DataError, WriteError
from unknot.data.parts import download
from unknot.data.parts.download import fetch, part_path
from unknot.data.parts.sources import Source, record_path, verify

CONTENT = bytes(range(256)) * 400
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


class Server(http.server.ThreadingHTTPServer):
    """Gives CONTENT under any path; the path says what goes wrong."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = []
        self.cuts = 1
        self.content = CONTENT
        self.etag = '"one"'

    def at(self, path):
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        way, server = self.path.strip("/"), self.server
        start = self.headers.get("Range", "")
        server.asked.append((way, start))
        if way.isdigit():
            self.send_error(int(way))
            return
        if way == "moved":
            self.send_response(302)
            self.send_header("Location", server.at("good"))
            self.end_headers()
            return
        if way in ("file", "ftp"):
            self.send_response(302)
            self.send_header("Location", {"file": "file:///etc/passwd", "ftp": "ftp://a/b"}[way])
            self.end_headers()
            return
        content = {"other": CONTENT[::-1], "html": b"<p>", "short": CONTENT[:-1]}.get(
            way, server.content
        )
        valid = self.headers.get("If-Range") in (None, server.etag)
        first = int(start[6:-1]) if start and valid and way != "no-range" else 0
        if first >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if first else 200)
        self.send_header("Content-Type", "text/html" if way == "html" else "application/zip")
        if way != "no-etag":
            self.send_header("ETag", server.etag)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        if way.startswith("cut") and server.cuts > 0:
            server.cuts -= 1
            self.wfile.write(content[first : first + 40_000])
        else:
            self.wfile.write(content[first:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with Server() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def source(server, *ways, **known):
    return Source("set.npz", tuple(map(server.at, ways)), **known)


KNOWN = {"sha256": SHA256, "size": len(CONTENT)}


def test_a_file_comes_whole_with_progress_and_is_not_asked_for_again(server, tmp_path):
    told = []
    path = fetch(source(server, "good", **KNOWN), tmp_path / "set", told.append)
    assert path.read_bytes() == CONTENT
    assert told == sorted(told)
    assert told[-1] == len(CONTENT)
    assert fetch(source(server, "good", **KNOWN), tmp_path / "set") == path
    assert len(server.asked) == 1
    assert sorted(p.name for p in path.parent.iterdir() if ".lock" not in p.name) == [
        "set.npz", "set.npz.checked.json",
    ]  # fmt: skip


@pytest.mark.parametrize("known", [KNOWN, {"md5": MD5}, {}], ids=["sha256", "md5", "none"])
def test_a_cut_transfer_goes_on_where_it_ended(server, tmp_path, known):
    server.cuts = 2
    path = fetch(source(server, "cut", **known), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.asked == [("cut", ""), ("cut", "bytes=40000-"), ("cut", "bytes=80000-")]


def test_a_transfer_that_stopped_goes_on_in_a_later_call_and_at_a_mirror(server, tmp_path):
    part_path(tmp_path / "set.npz").write_bytes(CONTENT[:5000])
    path = fetch(source(server, "503", "good", **KNOWN), tmp_path)
    assert path.read_bytes() == CONTENT
    assert server.asked == [("503", "bytes=5000-"), ("good", "bytes=5000-")]


def test_without_a_checksum_parts_of_two_files_are_never_joined(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "ROUNDS", 1)
    with pytest.raises(DataError, match=r"cut after 40,000 of 102,400 bytes"):
        fetch(source(server, "cut"), tmp_path)
    server.content, server.etag = CONTENT[::-1], '"two"'
    assert fetch(source(server, "cut"), tmp_path).read_bytes() == CONTENT[::-1]


def test_a_server_without_ranges_starts_again(server, tmp_path):
    part_path(tmp_path / "set.npz").write_bytes(CONTENT[:5000])
    assert fetch(source(server, "no-range", **KNOWN), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("rest", [b"something else", CONTENT + b"too long"])
def test_a_part_that_does_not_fit_is_thrown_away(server, tmp_path, rest):
    part_path(tmp_path / "set.npz").write_bytes(rest)
    assert fetch(source(server, "good", sha256=SHA256), tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize("way", ["403", "404", "500", "html", "other", "short", "file", "ftp"])
def test_what_one_address_refuses_the_next_one_gives(server, tmp_path, way):
    path = fetch(source(server, way, "moved", **KNOWN), tmp_path)
    assert path.read_bytes() == CONTENT


def test_an_address_that_says_nothing_is_passed_over(server, tmp_path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        files = Source("set.npz", (address, server.at("good")), **KNOWN)
        assert fetch(files, tmp_path).read_bytes() == CONTENT


def test_404_everywhere_is_one_line_with_all_addresses_and_the_page(server, tmp_path):
    files = source(server, "404", "403", page="https://example.org/set")
    with pytest.raises(DataError) as caught:
        fetch(files, tmp_path)
    text = str(caught.value)
    assert "\n" not in text
    for part in (*files.addresses, "404 Not Found", "403 Forbidden", files.page):
        assert part in text
    assert not (tmp_path / "set.npz").exists()


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    for known in ({"sha256": SHA256}, {"md5": MD5}):
        with pytest.raises(DataError, match=r"damaged or another file: the published (sha256|md5)"):
            fetch(source(server, "other", **known), tmp_path)
        assert not [p for p in tmp_path.iterdir() if ".lock" not in p.name]


def test_only_http_addresses_are_opened(tmp_path):
    (tmp_path / "secret").write_text("x")
    with pytest.raises(DataError, match="not an http address"):
        fetch(Source("set.npz", (f"file://{tmp_path}/secret",)), tmp_path)


def test_a_full_disk_is_one_line_and_leaves_nothing(server, tmp_path, monkeypatch):
    def full(file, data):
        file.write(data[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_write", full)
    with pytest.raises(WriteError, match=r"Could not write .*set\.npz: no space left on device\.$"):
        fetch(source(server, "good", **KNOWN), tmp_path)
    assert not [p for p in tmp_path.iterdir() if ".lock" not in p.name]


def test_room_is_looked_at_before_anything_is_asked_for(server, tmp_path):
    with pytest.raises(WriteError, match="has room for"):
        fetch(source(server, "good", size=10**18), tmp_path)
    assert not server.asked


def test_the_first_checksum_holds_where_none_is_published(server, tmp_path):
    files = source(server, "good")
    path = fetch(files, tmp_path)
    assert json.loads(record_path(path).read_text())["sha256"] == SHA256
    path.unlink()
    server.content = CONTENT[::-1]
    with pytest.raises(DataError, match="the sha256 of its first download is"):
        fetch(files, tmp_path)
    server.content = CONTENT
    assert fetch(files, tmp_path).read_bytes() == CONTENT


def test_a_file_that_changes_on_the_disk_is_noticed(server, tmp_path):
    for known in (KNOWN, {}):
        path = fetch(source(server, "good", **known), tmp_path)
        path.write_bytes(CONTENT[::-1])
        with pytest.raises(DataError, match=r"damaged or another file.*set\.npz\.$"):
            verify(source(server, "good", **known), path)
        path.unlink()
