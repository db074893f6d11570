"""Resuming: a run that was stopped or killed ends as if nothing had happened, or says why not."""

import numpy as np
import pytest
import torch
from runs.damage import forget_checksums

import unknot
from unknot.core import files
from unknot.core.errors import DamageError, StoreError
from unknot.engine import checkpoint
from unknot.runs import folder as folders
from unknot.runs import status as status_file
from unknot.runs import verbs, writing
from unknot.runs.folder import RunFolder
from unknot.runs.training import Progress


def test_resuming_extends_the_curves(options, tmp_path):
    whole = unknot.train(**options, out=tmp_path / "whole")
    seen = []

    def stop_at_17(progress: Progress):
        seen.append(progress.step)
        if progress.step >= 17:
            raise MemoryError

    spec = whole.spec
    with pytest.raises(MemoryError):
        verbs.train(spec, out=tmp_path / "part", device="cpu", watch=stop_at_17)
    resumed = unknot.resume(tmp_path / "part", device="cpu")
    assert torch.equal(resumed.codes(), whole.codes())
    assert resumed.training.curves.steps == whole.training.curves.steps


def test_a_schedule_goes_on_where_it_was(options, tmp_path):
    """Omega falls over the whole run: a run that began it anew would end otherwise."""
    falls = unknot.schedules.linear(1.0, 0.5, 40.0)
    settings = {**options, "objective": "ada_tvae", "steps": 40, "omega": falls}
    settings["checkpoint_every"] = 10
    whole = unknot.train(**settings, out=tmp_path / "whole")

    def stop(progress: Progress):
        if progress.step >= 25:
            raise MemoryError

    with pytest.raises(MemoryError):
        verbs.train(whole.spec, out=tmp_path / "part", device="cpu", watch=stop)
    resumed = unknot.resume(tmp_path / "part", device="cpu")
    assert torch.equal(resumed.codes(), whole.codes())
    constant = unknot.train(**{**settings, "omega": 1.0})
    assert not torch.equal(constant.codes(), whole.codes())


@pytest.mark.parametrize("file", ["weights.safetensors", "curves.csv", "status.json"])
@pytest.mark.parametrize(("lr", "status"), [(1e-3, "done"), (1e25, "diverged")])
def test_killed_between_its_last_checkpoint_and_the_rest_a_run_ends_all_the_same(
    options, tmp_path, monkeypatch, lr, status, file
):
    """A run whose members have all diverged does not train on."""
    settings = {**options, "lr": lr, "steps": 300, "log_every": 10, "likelihood": "gaussian"}
    whole = unknot.train(**settings, out=tmp_path / "whole")
    assert whole.status == status
    write = files.write_whole

    def killed(path, data):
        if path.name == file and '"running"' not in str(data):
            raise MemoryError
        write(path, data)

    for module in (checkpoint, folders, writing, status_file):
        monkeypatch.setattr(module, "write_whole", killed)
    with pytest.raises(MemoryError):
        unknot.train(**settings, out=tmp_path / "part")
    monkeypatch.undo()
    folder = RunFolder(tmp_path / "part")
    assert folder.record()["status"] == "running"
    assert not folder.is_trained
    resumed = unknot.resume(tmp_path / "part", device="cpu")
    assert (resumed.status, resumed.step) == (status, whole.step)
    for name in ("weights.safetensors", "curves.safetensors", "curves.csv"):
        ends = [(tmp_path / which / name).read_bytes() for which in ("whole", "part")]
        assert ends[0] == ends[1]
    assert unknot.load(tmp_path / "part").status == status


def test_a_checkpoint_of_another_net_is_refused(options, tmp_path):
    unknot.train(**options, out=tmp_path / "a")
    unknot.train(**{**options, "net_settings": {"latents": 4}}, out=tmp_path / "b")
    (tmp_path / "a" / "weights.safetensors").write_bytes(
        (tmp_path / "b" / "weights.safetensors").read_bytes()
    )
    with pytest.raises(DamageError, match=r"weights\.safetensors is damaged"):
        unknot.load(tmp_path / "a")
    forget_checksums(tmp_path / "a")
    with pytest.raises(StoreError, match=r"is of another net: decoder\.0\.weight should be"):
        unknot.load(tmp_path / "a")
    (tmp_path / "a" / "checkpoints").rename(tmp_path / "gone")
    (tmp_path / "b" / "checkpoints").rename(tmp_path / "a" / "checkpoints")
    (tmp_path / "a" / "status.json").unlink()
    with pytest.raises(StoreError, match="belongs to another run"):
        unknot.resume(tmp_path / "a")


def test_a_finished_run_needs_no_checkpoint(options, tmp_path):
    trained = unknot.train(**options, out=tmp_path / "run")
    for file in (tmp_path / "run" / "checkpoints").rglob("state.*"):
        file.write_bytes(b"damaged")
    loaded = unknot.load(tmp_path / "run")
    assert torch.equal(loaded.codes(), trained.codes())
    assert loaded.training.curves.steps == trained.training.curves.steps
    assert torch.equal(unknot.resume(tmp_path / "run").codes(), trained.codes())


def test_one_process_trains_in_a_folder_at_a_time(options, tmp_path):
    spec = unknot.train(**options).spec
    folder = RunFolder(tmp_path / "run")
    folder.claim(spec)
    with folder.lock(), pytest.raises(StoreError, match="Another process is training"):
        unknot.resume(tmp_path / "run", device="cpu")
    assert unknot.resume(tmp_path / "run", device="cpu").status == "done"


def test_two_that_start_at_once_do_not_take_each_others_files(options, tmp_path):
    """The second removes no part of a file that the first is about to rename."""
    spec = unknot.train(**options).spec
    first, second = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run")
    part = tmp_path / "run" / f".{first.spec_file.name}.1.part"
    with first.lock():
        part.touch()
        assert first.leftovers() == [part]
        with pytest.raises(StoreError, match="Another process is training"):
            second.claim(spec)
        assert part.exists()
    second.claim(spec)
    assert {file.name for file in second.path.iterdir()} == {".lock", second.spec_file.name}


def test_a_resumed_run_takes_the_threads_it_began_with(options, tmp_path):
    """Another number of threads adds in another order."""
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(MemoryError):
            unknot.train(**options, out=tmp_path / "run", checkpoint_every=10, watch=fail_at_20)
        torch.set_num_threads(1)
        counts = []
        unknot.resume(
            tmp_path / "run",
            device="cpu",
            watch=lambda _: counts.append(torch.get_num_threads()),
        )
        assert {*counts} == {2}
        assert RunFolder(tmp_path / "run").record()["versions"]["threads"] == 2
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def fail_at_20(progress: Progress):
    if progress.step >= 20:
        raise MemoryError


def test_images_that_changed_are_noticed(options, tmp_path, tiny):
    """By what they show: a file written anew with the same images is the same data."""
    with np.load(tiny) as read:
        arrays = dict(read)
    mine = tmp_path / "mine.npz"
    np.savez(mine, **arrays)
    options = {**options, "data_settings": {"path": str(mine)}}
    with pytest.raises(MemoryError):
        unknot.train(**options, out=tmp_path / "run", checkpoint_every=10, watch=fail_at_20)
    other = arrays["images"].copy()
    other[40] = other[40][::-1]  # of one image, the rows
    assert (other != arrays["images"]).any()
    np.savez(mine, **{**arrays, "images": other})
    with pytest.raises(StoreError, match=r"images of arrays are no longer those that were trained"):
        unknot.resume(tmp_path / "run", device="cpu")
    np.savez_compressed(mine, **arrays)
    assert unknot.resume(tmp_path / "run", device="cpu").status == "done"
