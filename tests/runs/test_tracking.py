"""Events of TensorBoard are what training logged, also after an interruption."""

import sys
from pathlib import Path

import pytest
import torch

import unknot
from unknot.core.errors import ConfigError, StoreError
from unknot.runs import tracking


@pytest.fixture
def data():
    return unknot.dataset(torch.rand(64, 1, 8, 8, generator=torch.Generator().manual_seed(0)))


def train(data, out, **options):
    defaults = {"steps": 20, "batch": 8, "log_every": 5, "checkpoint_every": 4, "progress": False}
    return unknot.train(data, "vae", "linear", out=out, **{**defaults, **options})


class Board:
    """What TensorBoard would be told, and what is still shown of it."""

    def __init__(self):
        self.shown, self.full = {}, False

    def SummaryWriter(self, folder, purge_step=None):  # noqa: N802 - the client's name
        board = self
        events = board.shown.setdefault(folder, {})
        for key in [key for key in events if purge_step is not None and key[1] >= purge_step]:
            del events[key]

        class Writer:
            def add_scalar(self, name, value, step):
                if board.full:
                    raise OSError(28, "No space left on device")
                events[name, step] = value

            def close(self):
                pass

        return Writer()


@pytest.fixture
def board(monkeypatch):
    fake = Board()
    monkeypatch.setattr(tracking, "open_tracker", lambda *_: fake)
    return fake


def logged(run, member):
    curves = run.training.curves
    return {
        (name, step): curves[name][i, member].item()
        for name in curves.values
        for i, step in enumerate(curves.steps)
    }


def test_each_model_has_its_own_events(board, data, tmp_path):
    run = train(data, tmp_path / "run", seeds=[0, 1], track=["tensorboard"])
    folders = [str(tmp_path / "run" / "tensorboard" / name) for name in run.training.ids]
    assert [*board.shown] == folders
    assert [board.shown[folder] for folder in folders] == [logged(run, 0), logged(run, 1)]


def test_an_interrupted_training_is_followed_without_gaps_or_doubles(board, data, tmp_path):
    def interrupt(run, logs):
        if run.training.step == 15:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        train(data, tmp_path / "run", track="tensorboard", callback=interrupt)
    (before,) = board.shown.values()
    assert ("loss", 15) in before
    before["loss", 15] = -1.0  # after the checkpoint of step 12: it comes again
    run = unknot.resume(tmp_path / "run", data=data)
    assert [*board.shown.values()] == [logged(run, 0)]


def test_links_among_the_events_are_refused(board, data, tmp_path):
    """A run folder from elsewhere must not write to another place."""

    def interrupt(run, logs):
        if run.training.step == 15:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        train(data, tmp_path / "run", track="tensorboard", callback=interrupt)
    (folder,) = board.shown
    Path(folder).parent.mkdir(exist_ok=True)
    Path(folder).symlink_to(tmp_path)
    with pytest.raises(StoreError, match="is a link, which unknot does not follow"):
        unknot.resume(tmp_path / "run", data=data)


def test_a_full_disk_ends_the_events_and_not_the_training(board, data, tmp_path):
    board.full = True
    with pytest.warns(UserWarning, match="no space left on device. The training continues") as told:
        run = train(data, tmp_path / "run", track=["tensorboard"])
    assert len(told) == 1
    assert run.status == "done"


def test_what_is_tracked_does_not_change_the_run(board, data, tmp_path):
    plain = train(data, tmp_path / "plain")
    tracked = train(data, tmp_path / "tracked", track=["tensorboard"])
    assert plain.training.ids == tracked.training.ids
    for name, weight in plain.training.weights().items():
        assert torch.equal(weight, tracked.training.weights()[name])


def test_what_cannot_be_tracked_is_refused(data, tmp_path, monkeypatch):
    with pytest.raises(ConfigError, match="track writes into the folder of the run"):
        train(data, None, track=["tensorboard"])
    with pytest.raises(ConfigError, match="track"):
        train(data, tmp_path / "run", track=["tensorbord"])

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ConfigError, match=r"pip install 'unknot\[tensorboard\]'"):
        train(data, tmp_path / "run", track=["tensorboard"])
    assert not (tmp_path / "run").exists()


def test_real_events(data, tmp_path):
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is missing"
    )
    run = train(data, tmp_path / "run", track=["tensorboard"])
    events = reader.EventAccumulator(str(tmp_path / "run" / "tensorboard" / run.training.ids[0]))
    events.Reload()
    assert {
        (tag, event.step): event.value
        for tag in events.Tags()["scalars"]
        for event in events.Scalars(tag)
    } == pytest.approx(logged(run, 0))
