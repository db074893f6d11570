"""Devices and precisions."""

from contextlib import nullcontext

import pytest
import torch

from unknot.core.errors import ConfigError
from unknot.engine.device import Runtime, runtime, to_read


def test_what_is_held_and_what_is_multiplied():
    assert (runtime("cpu").dtype, runtime("cpu").compute) == (torch.float32, torch.float32)
    assert runtime("cpu", "bf16").dtype == torch.float32
    assert runtime("cpu", "bf16").compute == torch.bfloat16
    assert runtime("cpu", "float64").dtype == torch.float64


def test_what_codes_are_computed_in():
    assert [runtime("cpu", p).exact.compute for p in ("float32", "bf16", "float64")] == [
        torch.float32, torch.float32, torch.float64,
    ]  # fmt: skip
    assert to_read("cpu", "tf32") == runtime("cpu")
    assert to_read("cpu", "float64") == runtime("cpu", "float64")


@pytest.mark.parametrize("name", ["mps", "mps:0"])
def test_gpus_of_apple_are_refused_with_the_reason(name):
    with pytest.raises(ConfigError, match="no float64"):
        runtime(name)


@pytest.mark.parametrize("name", ["gpu", "tpu", "", "cuda:x"])
def test_unknown_devices_are_refused(name):
    with pytest.raises(ConfigError, match="Devices are auto, cpu, cuda"):
        runtime(name)


def test_a_missing_gpu_is_said(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ConfigError, match="PyTorch sees 0 GPUs"):
        runtime("cuda")


def test_tf32_is_for_gpus():
    with pytest.raises(ConfigError, match="GPUs only"):
        runtime("cpu", "tf32")


def test_the_tf32_switches_are_put_back(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device", lambda _: nullcontext())
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
    with Runtime(torch.device("cuda")).computing():
        assert not torch.backends.cudnn.allow_tf32
    assert torch.backends.cudnn.allow_tf32


def test_a_cpu_leaves_the_switches_alone():
    """Reading the old ones fails where somebody has set the new ones."""
    switch = torch.backends.cuda.matmul
    before, switch.fp32_precision = switch.fp32_precision, "tf32"
    try:
        with pytest.raises(RuntimeError, match="mix"):
            _ = switch.allow_tf32
        with runtime("cpu").computing():
            assert switch.fp32_precision == "tf32"
    finally:
        switch.fp32_precision = before
    assert not switch.allow_tf32
