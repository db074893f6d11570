"""Damage is noticed before a number is made of it, and what can be rebuilt is rebuilt."""

import json
import shutil

import numpy as np
import pytest
import torch
from runs.damage import flip, forget_checksums
from safetensors.torch import load_file, save_file

import unknot
from unknot.cli.main import app
from unknot.core.checksums import facts_sum
from unknot.core.errors import DamageError, StoreError
from unknot.engine import checkpoint
from unknot.runs import records, repair, status, training
from unknot.runs.folder import RunFolder

FINAL = ("weights.safetensors", "curves.safetensors", "curves.csv", "status.json")


@pytest.fixture(scope="module")
def whole(options, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    unknot.train(**options, out=out, seeds=[0, 5])
    app(["evaluate", str(out), "--metrics", "mig,sap"], standalone_mode=False)
    return out


@pytest.fixture
def run(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "run")


def content(folder):
    """Every final file, but for the seconds that the training took."""
    files = {name: (folder / name).read_bytes() for name in FINAL[:3]}
    record = RunFolder(folder).record()
    del record["seconds"], record["versions"]
    return files, record


@pytest.mark.parametrize("name", ["weights.safetensors", "curves.safetensors", "status.json"])
@pytest.mark.parametrize("place", [0.01, 0.3, 0.6, 0.99])
def test_a_flipped_byte_is_noticed_and_mended(run, whole, name, place):
    flip(run / name, place)
    with pytest.raises(DamageError, match=rf"{name} is damaged.*unknot check .* --repair") as said:
        unknot.load(run, device="cpu")
    assert "\n" not in str(said.value)
    unknot.resume(run, device="cpu")
    assert content(run) == content(whole)


@pytest.mark.parametrize("text", ["[" * 10_000, '{"step": ' + "9" * 5_000 + "}"], ids=len)
@pytest.mark.parametrize("name", ["status.json", "scores.jsonl"])
def test_json_out_of_bounds_is_damage_in_one_short_line(run, name, text):
    (run / name).write_text(text)
    with pytest.raises(
        DamageError, match=r"damaged: .*(more than 64 deep|40 digits).*--repair"
    ) as e:
        (status if name == "status.json" else records).read(run)
    assert len(str(e.value)) < len(str(run)) * 2 + 300


def test_a_checkpoint_of_json_out_of_bounds_is_none(run):
    newest = max((run / "checkpoints").iterdir())
    (newest / "state.json").write_text("[" * 10_000)
    with pytest.raises(StoreError, match="more than 64 deep"):
        checkpoint.load(newest)


@pytest.mark.parametrize("name", FINAL)
def test_a_lost_file_is_written_again(run, whole, name):
    (run / name).unlink()
    assert app(["check", str(run)], standalone_mode=False) == 2
    unknot.resume(run, device="cpu")
    assert app(["check", str(run)], standalone_mode=False) == 0
    assert content(run) == content(whole)


@pytest.mark.parametrize("kind", [torch.int64, torch.bool, torch.float16])
def test_weights_of_another_kind_are_refused(run, kind):
    weights = load_file(run / "weights.safetensors")
    save_file({name: t.to(kind) for name, t in weights.items()}, run / "weights.safetensors")
    with pytest.raises(DamageError, match=r"weights\.safetensors is damaged"):
        unknot.load(run, device="cpu")
    forget_checksums(run)
    with pytest.raises(StoreError, match=r"holds no weights of ours: .* should be torch.float32"):
        unknot.load(run, device="cpu")


def test_settings_that_were_edited_are_noticed_and_put_back(run, whole):
    file = run / "run.toml"
    file.write_text(file.read_text().replace("batch = 8", "batch = 16"))
    with pytest.raises(StoreError, match=r"run\.toml has changed since the run was trained"):
        unknot.load(run, device="cpu")
    repair.repair(RunFolder(run))
    assert file.read_bytes() == (whole / "run.toml").read_bytes()
    file.unlink()
    repair.repair(RunFolder(run))
    assert file.read_bytes() == (whole / "run.toml").read_bytes()


def test_exchanged_images_are_noticed(options, tmp_path, tiny):
    with np.load(tiny) as arrays:
        mine = dict(arrays)
    np.savez(tmp_path / "mine.npz", **mine)
    settings = {**options, "data_settings": {"path": str(tmp_path / "mine.npz")}}
    unknot.train(**settings, out=tmp_path / "run")
    np.savez(tmp_path / "mine.npz", **{**mine, "images": mine["images"][::-1]})
    with pytest.raises(StoreError, match="no longer those that were trained on"):
        unknot.load(tmp_path / "run", device="cpu")


def test_a_damaged_score_is_noticed_and_the_others_are_kept(run):
    file = run / "scores.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([lines[0].replace("0.", "0.9", 1), *lines[1:]]))
    with pytest.raises(DamageError, match=r"scores\.jsonl is damaged"):
        app(["evaluate", str(run), "--metrics", "mig"], standalone_mode=False)
    assert app(["check", str(run), "--repair"], standalone_mode=False) == 0
    assert file.read_text().splitlines(keepends=True) == lines[1:]


def test_damaged_checkpoints_of_a_finished_run_are_removed(run, whole):
    for file in (run / "checkpoints").rglob("state.*"):
        flip(file)
    assert unknot.load(run, device="cpu").status == "done"
    assert app(["check", str(run)], standalone_mode=False) == 2
    assert app(["check", str(run), "--repair"], standalone_mode=False) == 0
    assert content(run) == content(whole)
    (run / "weights.safetensors").unlink()  # and nothing to rebuild it from but training
    unknot.resume(run, device="cpu")
    assert content(run) == content(whole)


def test_damaged_checkpoints_of_a_stopped_run_have_a_way_back(options, tmp_path):
    def stop(progress):
        if progress.step >= 20:
            raise MemoryError

    whole = unknot.train(**options)
    with pytest.raises(MemoryError):
        unknot.train(**options, out=tmp_path / "run", checkpoint_every=10, watch=stop)
    for file in (tmp_path / "run" / "checkpoints").rglob("state.*"):
        flip(file)
    with pytest.raises(DamageError, match=r"Repair it with `unknot check .*run --repair`"):
        unknot.resume(tmp_path / "run", device="cpu")
    assert app(["check", str(tmp_path / "run"), "--repair"], standalone_mode=False) == 0
    assert torch.equal(unknot.resume(tmp_path / "run", device="cpu").codes(), whole.codes())


def test_leftovers_of_killed_writers_are_removed_at_the_next_opening(run):
    left = [run / ".weights.safetensors.0a.part", run / "checkpoints" / ".step-000000030.0a.part"]
    left[0].write_text("half")
    left[1].mkdir()
    mine = run / ".notes.part"
    mine.write_text("mine")
    unknot.load(run, device="cpu")
    assert not any(path.exists() for path in left)
    assert mine.exists()


def test_a_folder_killed_at_its_birth_is_free(options, tmp_path):
    out = tmp_path / "run"
    out.mkdir()
    (out / ".run.toml.0a.part").write_text("half")
    (out / ".lock").touch()
    assert unknot.train(**options, out=out).status == "done"
    assert not (out / ".run.toml.0a.part").exists()


def test_a_training_that_fails_at_once_leaves_its_folder_free(options, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(training, "fit", fail)
    for _ in range(2):
        with pytest.raises(MemoryError):
            unknot.train(**options, out=tmp_path / "run")
    monkeypatch.undo()
    assert unknot.train(**options, out=tmp_path / "run").status == "done"


def test_a_folder_from_before_there_were_checksums_loads(run, whole):
    forget_checksums(run)
    loaded = unknot.load(run, device="cpu")
    assert torch.equal(loaded.codes(), unknot.load(whole, device="cpu").codes())
    assert app(["check", str(run)], standalone_mode=False) == 0


def test_what_is_damaged_is_said_before_anything_is_done(run, capfd):
    flip(run / "weights.safetensors")
    app(["resume", str(run), "--device", "cpu"], standalone_mode=False)
    said = "".join(capfd.readouterr())
    assert "Damaged, to be written again: weights.safetensors" in said
    assert "Nothing to do" not in said


def change_status(run, **facts):
    """A status of other facts, with the checksum that belongs to them."""
    old = status.read(run)
    status.write(run, {**old, **facts})


@pytest.mark.parametrize(
    "facts",
    [
        {"step": "4"},
        {"curves": 5},
        {"data": [1]},
        {"data": {"place": [1]}},
        {"status": "\x1b[31m"},
        {"settings": "x"},
        {"settings_of": ["0"]},
        {"lone": "no"},
        {"archived": 5},
        {"continues": {"ids": 5}},
        {"members": [{"id": "a", "seed": 0, "diverged_at": "x"}]},
    ],
    ids=str,
)
def test_a_status_of_another_form_is_damage_in_one_line(run, facts):
    change_status(run, **facts)
    with pytest.raises(DamageError, match=r"status\.json is damaged: its .* Repair it with"):
        unknot.load(run, device="cpu")


def test_a_fingerprint_of_no_numbers_fits_no_images(run):
    data = status.read(run)["data"]
    change_status(run, data={**data, "fingerprint": [float("nan")] * len(data["fingerprint"])})
    with pytest.raises(StoreError, match="no longer those that were trained on"):
        unknot.load(run, device="cpu")


@pytest.mark.parametrize(
    "fact",
    [{"values": {"mig": "high"}}, {"values": [1]}, {"seed": "x"}, {"remarks": 5}, {"metric": 5},
     {"protocol": {}}, {"protocol": {"name": 5}}, {"parts": {"a": "b"}}, {"ceiling": "1"}],
    ids=str,
)  # fmt: skip
def test_a_score_of_another_form_is_damage_in_one_line(run, fact):
    line = {
        "id": "a", "seed": 0, "metric": "mig", "protocol": {"name": "unknot"}, "ceiling": None,
        "values": {"mig": 0.5}, "remarks": [], "unknot": "0.1.0", **fact,
    }  # fmt: skip
    (run / "scores.jsonl").write_text(json.dumps({**line, "check": facts_sum(line)[:16]}))
    with pytest.raises(DamageError, match=r"scores\.jsonl is damaged"):
        records.read(run)
