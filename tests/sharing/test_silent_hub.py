"""A hub that takes questions and never answers; its client is not needed for that."""

import socket
import time
from types import SimpleNamespace

import pytest

from unknot.core.errors import DownloadError
from unknot.sharing import hub


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


class ReachedError(Exception):
    """Raised by what stands for the client."""


@pytest.fixture
def asked(monkeypatch, silent):
    """What a client of that hub is asked."""
    calls = []

    def snapshot_download(name, **options):
        calls.append(options)
        raise ReachedError

    errors = SimpleNamespace(
        **{
            name: type(name, (Exception,), {})
            for name in (
                *("GatedRepoError", "RepositoryNotFoundError", "LocalEntryNotFoundError"),
                *("RevisionNotFoundError", "EntryNotFoundError", "LocalTokenNotFoundError"),
                "HfHubHTTPError",
            )
        }
    )
    client = SimpleNamespace(
        constants=SimpleNamespace(ENDPOINT=silent, HF_HUB_OFFLINE=False),
        snapshot_download=snapshot_download,
        HfApi=lambda **_: SimpleNamespace(endpoint=silent),
    )
    monkeypatch.setattr(hub, "_client", lambda: (client, errors))
    monkeypatch.setattr(hub, "PATIENCE", 0.5)
    return calls


def test_a_silent_server_is_given_up_in_time(silent):
    begun = time.monotonic()
    assert hub.is_silent(silent, 0.5)
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("address", ["http://127.0.0.1:9", "ftp://nowhere", "hub"])
def test_a_server_that_is_not_there_is_not_silent(monkeypatch, address):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert not hub.is_silent(address, 5.0)


def test_from_a_silent_hub_the_cache_serves(asked):
    with pytest.raises(DownloadError):
        hub.fetch("hub:me/faces")
    assert asked[0]["local_files_only"] is True


def test_a_push_to_a_silent_hub_says_so(asked, make_scored_run):
    with pytest.raises(DownloadError, match=r"did not answer within 0\.5 s"):
        hub.push(make_scored_run("mig"), "me/faces")
    assert asked == []
