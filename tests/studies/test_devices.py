"""All GPUs of a machine for a study: which there are, and that each has its share of the work."""

import json

import pytest
import torch
from studies.bars import records, study_text

from unknot.core.errors import ConfigError
from unknot.studies.execute import driver
from unknot.studies.execute.machine import Machine, machine
from unknot.studies.file.study_file import StudyFile


@pytest.fixture
def three_gpus(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)


@pytest.mark.usefixtures("three_gpus")
@pytest.mark.parametrize(
    ("device", "devices"),
    [
        ("cuda", ("cuda:0", "cuda:1", "cuda:2")),
        ("auto", ("cuda:0", "cuda:1", "cuda:2")),
        ("cuda:0,2", ("cuda:0", "cuda:2")),
    ],
)
def test_a_study_uses_the_gpus_that_are_named(device, devices):
    spread = machine(90, device=device)
    assert (spread.devices, spread.workers, spread.threads) == (devices, len(devices), None)
    assert spread.members(90) == 90 // len(devices)  # one population for each
    assert machine(90, device=device, workers=7).workers == 7


@pytest.mark.usefixtures("three_gpus")
def test_one_gpu_is_what_it_was():
    assert machine(90, device="cuda:1") == Machine("cuda:1", 1, None)
    assert machine(90, device="cpu").devices == ()
    with pytest.raises(ConfigError, match="sees 3 GPUs"):
        machine(90, device="cuda:0,3")
    with pytest.raises(ConfigError, match="twice: cuda:1"):
        machine(90, device="cuda:1,1")
    with pytest.raises(ConfigError, match="Devices are"):
        machine(90, device="cuda:0,x")


def test_workers_share_the_devices_out(images, undisturbed, tmp_path):
    """With two names of the CPU as devices: both train, and the numbers are those of one."""
    two = Machine("cpu", 2, 1, ("cpu", "cpu:0"))
    text = study_text(images)
    driver.run(tmp_path / "s", StudyFile.parse(text), machine=lambda *_, **__: two)
    states = [json.loads(f.read_text()) for f in (tmp_path / "s/populations").glob("*/status.json")]
    assert {state["device"] for state in states} == {"cpu", "cpu:0"}
    assert records(tmp_path / "s")[0] == records(undisturbed)[0]
