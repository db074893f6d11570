"""``unknot doctor``: what the machine has, in words and for programs."""

import json
from dataclasses import replace
from importlib import metadata

import pytest
import torch

from unknot.engine.resources import Gpu, Resources, describe_slow

FAST = Resources(
    "3.12", "Linux", "2.11", "12.8", (Gpu("H200", 2**37, (9, 0)),), "3.6", "/usr/bin/cc", 16, 2**37
)


def test_one_screen_with_what_is_there(unknot, tmp_path, monkeypatch):
    monkeypatch.setenv("UNKNOT_DATA", str(tmp_path / "sets"))
    (tmp_path / "sets" / "cars3d").mkdir(parents=True)
    (tmp_path / "sets" / "cars3d" / "file.npz").write_bytes(bytes(3000))
    code, out, _ = unknot("doctor")
    assert code == 0
    assert len(out.splitlines()) <= 24
    assert torch.__version__ in out
    (line,) = [line for line in out.splitlines() if line.startswith("datasets")]
    assert f"{tmp_path / 'sets'}, 3" in line
    assert line.endswith("free: cars3d")


def test_for_programs(unknot):
    facts = json.loads(unknot("doctor", "--json")[1])
    assert facts["installed"]
    assert facts["torch"] == torch.__version__
    assert facts["cores"] >= 1
    assert {"h5py", "ray", "pyarrow"} <= {*facts["extras"]}
    assert "pytest" not in facts["extras"]


def test_without_being_installed_it_says_so_and_goes_on(unknot, monkeypatch):
    """As with PYTHONPATH: there is no metadata of unknot."""

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    code, out, _ = unknot("doctor")
    assert code == 0
    assert "(not installed)" in out.splitlines()[0]
    assert "unknown, as unknot is not installed" in out
    assert torch.__version__ in out
    facts = json.loads(unknot("doctor", "--json")[1])
    assert (facts["installed"], facts["extras"]) == (False, {})


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (replace(FAST, gpus=(), cuda=None), ["without CUDA"]),
        (replace(FAST, gpus=()), ["sees none"]),
        (replace(FAST, gpus=(), cuda=None, cores=2), ["without CUDA", "2 CPU cores"]),
        (replace(FAST, triton=None), ["No Triton"]),
        (replace(FAST, compiler=None), ["No C compiler"]),
        (replace(FAST, gpus=(Gpu("T4", 2**34, (7, 5)),)), ["T4: no bf16"]),
        (replace(FAST, memory=2**32), ["4 GiB of memory"]),
        (FAST, []),
    ],
)
def test_what_is_slow_is_said_with_its_reason(machine, words):
    sentences = describe_slow(machine)
    assert len(sentences) == len(words)
    for sentence, word in zip(sentences, words, strict=True):
        assert word in sentence
