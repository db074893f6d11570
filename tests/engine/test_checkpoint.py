"""Checkpoints appear whole or not at all."""

import json

import pytest
import torch

from unknot.core.errors import StoreError, WriteError
from unknot.engine import checkpoint
from unknot.engine.checkpoint import Checkpoint


def at(step):
    return Checkpoint(step, {"w": torch.full((2, 3), float(step))}, {"diverged": {}})


def test_what_was_saved_comes_back(tmp_path):
    checkpoint.save(tmp_path, at(7))
    found = checkpoint.latest(tmp_path)
    assert found.step == 7
    assert torch.equal(found.tensors["w"], at(7).tensors["w"])
    assert found.facts == {"diverged": {}}


def test_no_checkpoint_is_none(tmp_path):
    assert checkpoint.latest(tmp_path) is None
    assert checkpoint.latest(tmp_path / "nowhere") is None


def test_the_last_few_are_kept(tmp_path):
    for step in (1, 2, 10, 200):
        checkpoint.save(tmp_path, at(step))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-000000010", "step-000000200"]
    assert checkpoint.latest(tmp_path).step == 200


def test_a_truncated_or_altered_checkpoint_is_passed_over(tmp_path):
    checkpoint.save(tmp_path, at(1))
    checkpoint.save(tmp_path, at(2))
    file = tmp_path / "step-000000002" / "state.safetensors"
    whole = file.read_bytes()
    for damaged in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        file.write_bytes(damaged)
        with pytest.warns(UserWarning, match="000002.*altered. Resuming from step-000000001"):
            assert checkpoint.latest(tmp_path).step == 1
    file.write_bytes(whole)
    facts = tmp_path / "step-000000002" / "state.json"
    said = facts.read_text()
    assert '"step": 2' in said
    facts.write_text(said.replace('"step": 2', '"step": 3'))
    with pytest.warns(UserWarning, match="000002 is truncated or altered"):
        assert checkpoint.latest(tmp_path).step == 1
    for nonsense in ("{", "[]", "{}", "3"):
        facts.write_text(nonsense)
        with pytest.warns(UserWarning, match="not a checkpoint that can be read"):
            assert checkpoint.latest(tmp_path).step == 1
    facts.write_text(said)
    assert checkpoint.latest(tmp_path).step == 2


def test_when_none_can_be_read_the_message_names_the_newest(tmp_path):
    checkpoint.save(tmp_path, at(3))
    (tmp_path / "step-000000003" / "state.safetensors").unlink()
    with pytest.raises(StoreError, match="step-000000003"):
        checkpoint.latest(tmp_path)


def test_another_format_is_refused(tmp_path):
    checkpoint.save(tmp_path, at(3))
    file = tmp_path / "step-000000003" / "state.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "format": 99}))
    with pytest.raises(StoreError, match="format 99"):
        checkpoint.load(tmp_path / "step-000000003")


def test_no_pickle_is_ever_loaded(tmp_path):
    checkpoint.save(tmp_path, at(3))
    torch.save({"w": torch.zeros(1)}, tmp_path / "weights.safetensors")
    with pytest.raises(StoreError, match="not a safetensors file"):
        checkpoint.read_weights(tmp_path / "weights.safetensors")


@pytest.mark.parametrize("file", ["state.safetensors", "state.json"])
def test_a_refusing_disk_leaves_the_earlier_checkpoint(tmp_path, refusing_disk, file):
    checkpoint.save(tmp_path, at(1))
    refusing_disk(file)
    with pytest.raises(WriteError, match=r"of step 2 .*: no space left on device\. Earlier"):
        checkpoint.save(tmp_path, at(2))
    assert [p.name for p in tmp_path.iterdir()] == ["step-000000001"]
    assert checkpoint.latest(tmp_path).step == 1
