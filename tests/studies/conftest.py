"""Shared by tests of studies: bars to train on, and a study of them that nothing disturbed."""

import numpy as np
import pytest
from studies.bars import run_inline, study_text

from unknot.studies.execute import local


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    """Forty images: a bar at 5 x 8 places."""
    path = tmp_path_factory.mktemp("images") / "bars.npz"
    factors = np.indices((5, 8)).reshape(2, -1).T
    pictures = np.zeros((40, 8, 8), np.uint8)
    for picture, (row, column) in zip(pictures, factors, strict=True):
        picture[row : row + 3, column] = 200
    np.savez(path, images=pictures, factors=factors)
    return path


@pytest.fixture(scope="session")
def undisturbed(images, tmp_path_factory):
    """To be read: all tests share it."""
    folder = tmp_path_factory.mktemp("undisturbed") / "study"
    run_inline(folder, study_text(images))
    return folder


@pytest.fixture
def started(monkeypatch):
    """Every worker that was started; in the end none of them may be left."""
    workers, start = [], local.WorkerProcess

    def noted(*args):
        workers.append(start(*args))
        return workers[-1]

    monkeypatch.setattr(local, "WorkerProcess", noted)
    yield workers
    assert all(one.process.returncode is not None for one in workers)
