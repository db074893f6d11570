"""The command, called in this process as the shell would call it."""

import sys

import pytest
from cli.usual import without

from unknot.cli.main import main
from unknot.report.style import STYLE


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch):
    """Pages hold dozens of figures: coarse ones are drawn in a fifth of the time."""
    monkeypatch.setitem(STYLE, "savefig.dpi", 40)


@pytest.fixture
def unknot(capsys, monkeypatch):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["unknot", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        if end.value.code == 70:  # a bug of ours: show it as it was raised
            raise end.value.__cause__
        screen = capsys.readouterr()
        return end.value.code or 0, screen.out, screen.err

    return call


@pytest.fixture
def train(unknot, tiny, tmp_path):
    """Train a tiny run in a few steps."""

    def call(*words, out=tmp_path / "run"):
        return unknot(
            *("train", "--set", f"data.path={tiny}", "--set", "net.latents=3", *words),
            *without(words, data="arrays", net="linear", steps=20, batch=8, device="cpu", out=out),
        )

    return call
