"""An exported model is a folder that others use, and never takes the place of their files."""

import json
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import unknot
from unknot import nets, objectives
from unknot.core.checksums import file_sum
from unknot.core.errors import ConfigError, StoreError
from unknot.runs import records
from unknot.sharing import folder, onnx_files


@pytest.fixture(autouse=True)
def without_onnx(request, monkeypatch):
    """Whatever is installed here; tests of ONNX ask for it."""
    if "onnx" not in request.fixturenames:
        monkeypatch.setattr(folder, "is_available", lambda: False)


@pytest.fixture
def onnx():
    pytest.importorskip("onnxscript", reason="the extra onnx is not installed")
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")


@pytest.fixture(scope="module")
def run(make_scored_run):
    return make_scored_run("mig", "sap", seeds=[5, 6], steps=200, lr=1e-2)


def files_of(path):
    return {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}


def test_what_is_in_it(run, tmp_path):
    path = run.export(tmp_path / "model", member=1)
    facts = json.loads((path / "config.json").read_text())
    names = {"README.md", "model.py", "model.safetensors", "traversals.png"}
    kept = {"run.toml", "status.json", "weights.safetensors", "curves.safetensors", "scores.jsonl"}
    inner = {f"run/{name}" for name in (*kept, "curves.csv")}
    assert files_of(path) == {*names, *inner, "config.json"}
    assert {*facts["files"]} == {*names, *inner}
    assert all(file_sum(path / n) == e["sha256"] for n, e in facts["files"].items())
    assert (facts["seed"], facts["latents"], facts["shape"]) == (6, 3, [1, 8, 8])


def test_unknot_reads_the_run_in_it_with_its_scores(run, tmp_path):
    path = run.export(tmp_path / "model", member=1)
    again, one = unknot.load(path / "run", device="cpu"), run[1]
    assert again.spec.ids() == one.spec.ids()
    images = torch.rand(4, 1, 8, 8)
    assert torch.equal(again.encode(images), one.encode(images))
    scores = {r.metric: r.values for r in records.read(path / "run")}
    assert scores == {r.metric: r.values for r in records.read(run.path) if r.seed == 6}
    assert {*scores} == {"mig", "sap"}


def test_no_folder_of_this_machine_is_in_it(run, tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (8, 8, 8), dtype=np.uint8)
    np.savez(tmp_path / "faces.npz", images=images)
    settings = {"steps": 2, "batch": 4, "device": "cpu", "progress": False}
    run = unknot.train(tmp_path / "faces.npz", "vae", "linear", out=tmp_path / "run", **settings)
    written = folder.export(run, tmp_path / "model", onnx=False)
    assert written.notes == ()
    for name in files_of(written.path):
        data = (written.path / name).read_bytes()
        assert str(tmp_path).encode() not in data, name


def test_a_path_that_has_to_stay_is_told(run, tiny, tmp_path):
    (note,) = folder.export(run, tmp_path / "model", onnx=False).notes
    assert str(tiny) in note
    assert str(tiny).encode() in (tmp_path / "model" / "run" / "run.toml").read_bytes()


def test_the_exported_module_of_a_member_is_that_member(run, run_elsewhere, tmp_path):
    path = run.export(tmp_path / "model", member=1)
    x, z = torch.rand(4, 1, 8, 8), torch.randn(2, 3)
    save_file({"x": x, "z": z}, path / "given.safetensors")
    run_elsewhere([path])
    results = load_file(path / "results.safetensors")
    torch.testing.assert_close(results["mean"], run[1].encode(x))
    torch.testing.assert_close(results["y"], run[1].decode(z))
    assert not torch.allclose(results["mean"], run[0].encode(x), atol=0.01)


def test_files_of_others_are_never_replaced(run, tmp_path):
    for name, content in {"notes.txt": "mine", "config.json": "{}", "README.md": "mine"}.items():
        path = tmp_path / name.partition(".")[0]
        path.mkdir()
        (path / name).write_text(content)
        for overwrite in (False, True):
            with pytest.raises(StoreError, match=f"holds {name}, which is no file of an export"):
                run.export(path, overwrite=overwrite)
        assert files_of(path) == {name}
        assert (path / name).read_text() == content


def test_an_exported_model_is_replaced_on_request_unless_something_was_added(run, tmp_path):
    path = run.export(tmp_path / "model")
    with pytest.raises(StoreError, match="already holds an exported model"):
        run.export(path)
    run.export(path, license="mit", member=1, overwrite=True)
    assert json.loads((path / "config.json").read_text())["seed"] == 6
    (path / "run" / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"holds run/mine\.txt"):
        run.export(path, overwrite=True)


def test_nothing_is_left_of_an_export_that_fails(run, tmp_path, refusing_disk):
    refusing_disk("traversals.png")
    with pytest.raises(StoreError, match="Could not write"):
        run.export(tmp_path / "model")
    assert [*tmp_path.iterdir()] == []


def test_other_numbers_are_noticed(run, tmp_path, monkeypatch):
    def wrong(lone):
        plain = plain_model(lone)
        plain.tensors["decoder.2.bias"][0] += 1e-2
        return plain

    plain_model = folder.plain_model
    monkeypatch.setattr(folder, "plain_model", wrong)
    with pytest.raises(RuntimeError, match="other numbers than the run"):
        run.export(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_run_that_has_not_ended_or_diverged_is_refused(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (8, 1, 8, 8), dtype=np.uint8)
    common = {"net": "linear", "steps": 4, "log_every": 1, "progress": False, "batch": 4}
    stopped = unknot.train(images, "vae", **common, callback=lambda run, _: run.step >= 2)
    with pytest.raises(ConfigError, match="not finished"):
        stopped.export(tmp_path / "model")
    lost = unknot.train(images, "vae", lr=1e30, **common)
    assert lost.diverged
    with pytest.raises(ConfigError, match="Seed 0 diverged"):
        lost.export(tmp_path / "model")


def test_without_the_extra_a_line_says_so(run, tmp_path):
    written = folder.export(run, tmp_path / "model")
    assert "pip install 'unknot[onnx]'" in written.notes[0]
    assert [*written.errors] == ["PyTorch"]
    with pytest.raises(ConfigError, match=r"pip install 'unknot\[onnx\]'"):
        run.export(tmp_path / "other", onnx=True)
    assert not any("onnx" in n for n in folder.export(run, tmp_path / "no", onnx=False).notes)


@pytest.mark.parametrize("objective", [objectives.FlowVAE(width=7), objectives.AE()])
def test_onnx_gives_the_same_numbers_for_any_number_of_images(onnx, make_run, tmp_path, objective):
    run = make_run((2, 13, 21), objective, nets.Conv(latents=3))
    written = folder.export(run, tmp_path / "model", onnx=True)
    print(written.errors)
    assert written.errors["ONNX"] < 1e-5
    for count in (1, 7):
        x, z = torch.rand(count, 2, 13, 21), torch.randn(count, 3)
        mean, logvar, y = onnx_files.run_onnx(written.path, x, z)
        q = run.posterior(x)
        torch.testing.assert_close(mean, q.mean, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(logvar, q.logvar, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(y, run.decode(z), atol=1e-5, rtol=1e-4)


def test_onnx_files_hold_no_folder_of_this_machine(onnx, make_run, tmp_path):
    path = make_run((1, 6, 6)).export(tmp_path / "model", onnx=True)
    for name in ("encoder.onnx", "decoder.onnx"):
        data = (path / name).read_bytes()
        assert not any(place.encode() in data for place in (sys.prefix, "site-packages", ".py"))
