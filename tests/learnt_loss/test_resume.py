"""Learning that is killed at a write ends with the same bits."""

import pytest
import torch
from learnt_loss.learning import SHORT, learn_short
from torture.kills import kill

from unknot.data.xysquares import XYSquares
from unknot.learnt_loss.learn import learn_loss


@pytest.fixture(scope="module")
def whole():
    return learn_loss(XYSquares(), SHORT, device="cpu")


@pytest.mark.parametrize(
    ("stage", "nth", "resumed"), [("begun", 1, [10, 20, 30]), ("renamed", 2, [20, 30])]
)
def test_killed_at_a_write(stage, nth, resumed, whole, tmp_path):
    folder, told = tmp_path / "checkpoints", []
    kill(learn_short, stage, nth, folder)
    found = learn_short(folder, told)
    assert told == resumed
    assert torch.equal(found.kernel, whole.kernel)
    assert found.after == whole.after
    assert not list(folder.glob(".*.part"))
