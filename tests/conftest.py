"""Shared by all tests: checks of shapes, hypothesis profiles, and a tiny grid to train on."""

import os
from pathlib import Path

import jaxtyping
import numpy as np
import pytest
import torch
from hypothesis import settings

# Shapes and types are checked at every call: slow, so tests of whole programs do without
# (UNKNOT_SHAPES=0), and so do tests beside a GPU, where the compiler that training uses cannot look
# through the checks. Before anything imports unknot.
if os.environ.get("UNKNOT_SHAPES") != "0" and not torch.cuda.is_available():
    jaxtyping.install_import_hook("unknot", "beartype.beartype")

# The same examples at every run: a red test is the change's doing. The long profile goes looking.
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=2_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_terminal_summary(terminalreporter):
    """Say how many cases of fuzzing there were."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, [])]
    counts = [n for r in reports for name, n in r.user_properties if name == "fuzz cases"]
    if counts:
        terminalreporter.write_line(f"{sum(counts):,} fuzz cases")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory):
    """A 4 x 4 x 4 grid of 8 x 8 images, as a file that the dataset ``arrays`` reads."""
    path = tmp_path_factory.mktemp("tiny") / "tiny.npz"
    x, y, level = np.meshgrid(*[np.arange(4)] * 3, indexing="ij")
    images = np.zeros((4, 4, 4, 8, 8), np.uint8)
    for index in np.ndindex(4, 4, 4):
        row, column, shade = index
        images[index][2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = 60 + 65 * shade
    factors = np.stack([x, y, level], -1).reshape(-1, 3)
    np.savez(path, images=images.reshape(-1, 8, 8), factors=factors)
    return path


@pytest.fixture
def refusing_disk(monkeypatch):
    """A function after which the disk is full in the middle of any file of the name given."""
    write = Path.write_bytes

    def refuse(name):
        def full(path, data):
            if name not in path.name:
                return write(path, data)
            write(path, data[: len(data) // 2])
            raise OSError(28, os.strerror(28))

        monkeypatch.setattr(Path, "write_bytes", full)

    return refuse
