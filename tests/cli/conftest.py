"""The command, called in this process as the shell would call it."""

import sys

import pytest

from unknot.cli.main import main


@pytest.fixture
def unknot(capsys, monkeypatch):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["unknot", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return ended.value.code or 0, said.out, said.err

    return call


@pytest.fixture
def train(unknot, tiny, tmp_path):
    """Train a tiny run in a few steps."""

    def call(*words, out=tmp_path / "run"):
        return unknot(
            *("train", "--data", "arrays", "--set", f"data.path={tiny}", "--net", "linear"),
            *("--set", "net.latents=3", "--steps", 20, "--batch", 8, "--device", "cpu"),
            *("--out", out, *words),
        )

    return call
