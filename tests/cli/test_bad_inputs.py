"""Every bad input that was ever tried: one line, the right exit code, nothing written."""

import signal

import pytest
from bad_inputs import COMMANDS, write_files

from unknot import api


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    write_files(folder)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory, tiny):
    path = tmp_path_factory.mktemp("runs") / "run"
    settings = {"data": "arrays", "data_settings": {"path": str(tiny)}, "net": "linear"}
    api.train(**settings, steps=2, batch=4, device="cpu", out=path)
    return path


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Five seconds are forever for a line that says no."""

    def wake(*_):
        raise TimeoutError("it waits")

    before = signal.signal(signal.SIGALRM, wake)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="Windows has no alarm")
@pytest.mark.parametrize("row", COMMANDS, ids=lambda row: ascii(" ".join(row.words))[1:60])
def test_a_bad_command_gets_one_line(unknot, folder, run, tmp_path, monkeypatch, row):
    monkeypatch.chdir(tmp_path)
    code, _, err = unknot(*(word.replace("{d}", str(folder)).replace("{run}", str(run)) for word in row.words))
    assert code == row.code, err
    assert "Traceback" not in err
    assert "\x1b" not in err
    if err.startswith("unknot:"):  # the parser of words draws a box around its own messages
        assert err.count("\n") == 1
        assert len(err) < 2_000
    assert row.expected in " ".join(err.replace("│", " ").split())
    assert [*tmp_path.iterdir()] == []
