"""``unknot train``, ``resume`` and ``encode``: what they write, and what stops them."""

import json
import resource
import subprocess
import sys

import numpy as np
import pytest
import torch

from unknot.cli.screen import watcher
from unknot.runs.free_folder import free_folder
from unknot.runs.training import Progress


def test_train_writes_a_run_that_the_other_verbs_use(unknot, train, tmp_path):
    run = tmp_path / "run"
    code, out, _ = train("--seeds", "0..2", "--lr", "0.01", "--set", "objective.beta=2")
    assert code == 0
    assert f"unknot show {run}" in out
    code, _, _ = unknot("encode", run, "--out", tmp_path / "codes.npz", "--device", "cpu")
    assert code == 0
    with np.load(tmp_path / "codes.npz") as codes:
        assert codes["codes"].shape == codes["logvars"].shape == (3, 64, 3)
        assert codes["factors"].shape == (64, 3)
        np.testing.assert_array_equal(codes["index"], np.arange(64))
    code, _, _ = unknot("show", run, "--device", "cpu")
    assert code == 0
    for name in ("traversals.png", "traversals.gif", "curves.png", "index.html"):
        assert (run / name).stat().st_size > 0
    code, out, _ = unknot("resume", run, "--device", "cpu")
    assert (code, "Nothing to do" in out) == (0, True)


def test_a_file_gives_the_settings_and_flags_win_over_it(unknot, tiny, tmp_path):
    file = tmp_path / "spec.toml"
    file.write_text(
        f'steps = 50\nbatch = 4\nseeds = [3, 1]\n[data]\nname = "arrays"\npath = "{tiny}"\n'
        '[net]\nname = "linear"\nlatents = 2\n[objective]\nname = "beta_vae"\nbeta = 7\n'
    )
    out = tmp_path / "run"
    words = ("--steps", 12, "--set", "objective.beta=3", "--set", "net.latents=4")
    code, said, _ = unknot("train", file, *words, "--out", out, "--device", "cpu", "--json")
    assert code == 0
    facts = json.loads(said)
    assert (facts["status"], facts["run"], len(facts["ids"])) == ("done", str(out), 2)
    import tomllib

    spec = tomllib.loads((out / "run.toml").read_text())
    assert (spec["steps"], spec["batch"], spec["seeds"]) == (12, 4, [3, 1])
    assert (spec["objective"]["beta"], spec["net"]["latents"]) == (3.0, 4)


def test_encode_some_rows(unknot, train, tmp_path):
    train()
    file = tmp_path / "some.npz"
    words = ("--rows", 40, "--out", file, "--device", "cpu")
    assert unknot("encode", tmp_path / "run", *words)[0] == 0
    with np.load(file) as some:
        assert some["codes"].shape == (40, 3)
        assert 20 < len(np.unique(some["index"])) < 40
    code, _, err = unknot("encode", tmp_path / "run", *words)
    assert code == 2
    assert "already exists" in err
    assert unknot("encode", tmp_path / "run", *words, "--force")[0] == 0


def test_a_file_where_a_folder_should_be(unknot, train, tmp_path):
    (tmp_path / "plain").write_text("")
    code, _, err = train(out=tmp_path / "plain" / "run")
    assert (code, "is a file, not a folder" in err) == (2, True)
    code, _, err = unknot("data", "show", "xysquares", "--out", tmp_path / "plain" / "x.png")
    assert (code, "Could not write" in err) == (1, True)


def test_who_starts_in_the_same_moment_has_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with free_folder("vae-dsprites") as one, free_folder("vae-dsprites") as two:
        assert [one.name, two.name] == ["vae-dsprites-1", "vae-dsprites-2"]
        (two / "run.toml").touch()
    assert [*tmp_path.glob("runs/*")] == [tmp_path / two]


def test_what_is_refused_leaves_no_folder(unknot, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = unknot("train", "--data", "xysquares", "--net", "linear", "--device", "cuda:99")
    assert (code, "cuda:99" in err) == (2, True)
    assert [*tmp_path.iterdir()] == []


def test_too_little_memory_is_said(unknot, tmp_path, monkeypatch):
    from unknot.runs import verbs

    monkeypatch.chdir(tmp_path)

    def greedy(*_, **__):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 TB")

    monkeypatch.setattr(verbs, "train", greedy)
    code, _, err = unknot("train", "--data", "xysquares", "--net", "linear")
    assert (code, err) == (
        1,
        "unknot: not enough memory; try a smaller --batch or fewer --seeds.\n",
    )


def test_an_error_of_the_device_is_not_called_too_little_memory(unknot, tmp_path, monkeypatch):
    from unknot.runs import verbs

    monkeypatch.chdir(tmp_path)

    def broken(*_, **__):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(verbs, "train", broken)
    with pytest.raises(RuntimeError, match="illegal memory access"):
        unknot("train", "--data", "xysquares", "--net", "linear")


def test_nothing_is_announced_before_it_is_checked(unknot, train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = unknot(
        "train", "--data", "xysquares", "--net", "linear", "--device", "cuda:99"
    )
    assert (code, out) == (2, "")
    assert err.startswith("unknot: ")
    code, out, _ = train("--seeds", "0,1")
    assert code == 0
    data, training = out.splitlines()[:2]
    assert data == "64 images, 8 x 8 x 1"
    assert training.startswith("Training 2 x beta_vae (linear) on arrays, 20 steps of 8 images, ")


def test_progress_says_which_step_its_losses_are_of():
    """Between log steps they are not those of the step that is shown."""
    shown = []
    watch = watcher(lambda step, note: shown.append((step, note)))
    values = {"loss": torch.tensor([3.0, 1.0, 2.0]), "kl": torch.tensor([0.5, 0.5, 0.5])}
    watch(Progress(100, 300, values, {}))
    watch(Progress(110, 300, None, {1: 110}))
    assert shown == [
        (100, "step 100: loss 2  kl 0.5"),
        (110, "step 100: loss 2  kl 0.5  1 diverged"),
    ]


def test_an_occupied_folder_is_refused(train, tmp_path):
    assert train()[0] == 0
    code, _, err = train()
    assert code == 2
    assert f"unknot resume {tmp_path / 'run'}" in err


def test_all_diverged_is_a_failure(train):
    code, out, _ = train("--lr", "1e25", "--set", "objective.likelihood=gaussian", "--steps", 300)
    assert code == 1
    assert "diverged" in out


def test_a_full_disk_is_said_and_loses_nothing(tiny, tmp_path):
    """The system refuses to let a file grow, as a full disk would: in a process of its own."""
    out = tmp_path / "run"
    words = [
        *(sys.executable, "-m", "unknot", "train", "--data", "arrays", "--net", "linear"),
        *("--set", f"data.path={tiny}", "--steps", "40", "--batch", "8", "--device", "cpu"),
        *("--checkpoint-every", "10", "--out", str(out)),
    ]
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))  # noqa: E731
    done = subprocess.run(words, capture_output=True, text=True, preexec_fn=limit, check=False)
    assert done.returncode == 1
    assert "Could not write the checkpoint" in done.stderr
    assert "file too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((out / "checkpoints").iterdir()) == []
    resume = [sys.executable, "-m", "unknot", "resume", str(out), "--device", "cpu"]
    assert subprocess.run(resume, capture_output=True, check=False).returncode == 0
